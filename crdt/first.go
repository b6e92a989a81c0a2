package crdt

import (
	"encoding/hex"

	"github.com/skerry/skerry/engine"
)

// The root of a document keeps the canonical bytes of its About, and the number of its epoch from the second one on.
const (
	keyAbout = "about"
	keyEpoch = "epoch"
)

// firstChange appends to an empty list the chunk that begins an epoch's document, and returns it, its hash, and the counter of its last
// operation: it makes the maps, in their order, and puts the About beside them. It follows from these alone, so that sites which never met
// make the same one; it never travels. As a rule it is wanted for its hash, and room of the caller's serves it.
func firstChange(room []byte, c engine.Collaboration, about []byte, epoch uint64) ([]byte, hash, uint64) {
	maps := mapsOf[c]
	n := len(maps) + 1
	var space [16]byte
	number := space[:0]
	if epoch > 0 {
		n, number = n+1, appendUint(number, epoch)
	}
	specs := [...]uint64{columnKey, columnInsert, columnAction, columnValueMeta, columnValue, columnPredGroup}
	var ends [len(specs)]int
	var columns [512]byte
	data := appendInt(columns[:0], -int64(n))
	for _, m := range maps {
		data = appendString(data, string(m))
	}
	if data = appendString(data, keyAbout); epoch > 0 {
		data = appendString(data, keyEpoch)
	}
	ends[0] = len(data)
	data = appendUint(data, uint64(n))
	ends[1] = len(data)
	data = appendRuns(data, n, func(i int) uint64 {
		if i < len(maps) {
			return actionMake
		}
		return actionPut
	})
	ends[2] = len(data)
	data = appendRuns(data, n, func(i int) uint64 {
		switch {
		case i < len(maps):
			return 0
		case i == len(maps):
			return uint64(len(about))<<4 | valueBytes
		}
		return uint64(len(number))<<4 | valueUint
	})
	ends[3] = len(data)
	data = append(append(data, about...), number...)
	ends[4] = len(data)
	data = appendSame(data, n, 0)
	ends[5] = len(data)

	var front [128]byte
	b := append(front[:0], 0) // no dependency
	b = append(appendUint(b, uint64(len(firstActor))), firstActor[:]...)
	b = append(b, 1, 1, 0, 0, 0) // its number, its first operation, the time, the message, and no other actors
	b = appendUint(b, uint64(len(specs)))
	begin := 0
	for i, spec := range specs {
		b = appendUint(appendUint(b, spec), uint64(ends[i]-begin))
		begin = ends[i]
	}
	chunk := append(room, make([]byte, hashedFrom)...)
	chunk = appendUint(append(chunk, chunkChange), uint64(len(b)+len(data)))
	chunk = append(append(chunk, b...), data...)
	return chunk, seal(chunk), uint64(n)
}

// firstHash is the hash of the first change of a document.
func firstHash(c engine.Collaboration, about []byte) hash {
	var room [1024]byte
	_, h, _ := firstChange(room[:0], c, about, 0)
	return h
}

// firstLast is the counter of the last operation of the first change of a document with these maps.
func firstLast(maps []engine.MapName, epoch uint64) uint64 {
	n := uint64(len(maps)) + 1
	if epoch > 0 {
		n++
	}
	return n
}

func documentID(h hash) engine.DocumentID { return engine.DocumentID(hex.EncodeToString(h[:])) }

// hashNamed is the hash that a document is called after.
func hashNamed(id engine.DocumentID) (h hash, ok bool) {
	if len(id) != hex.EncodedLen(len(h)) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(id))
	return h, err == nil
}
