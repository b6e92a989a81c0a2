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

// firstChange returns the chunk that begins an epoch's document, its hash, and the counter of its last operation: it makes
// the maps, in their order, and puts the About beside them. It follows from these alone, so that sites which never met make the
// same one; it never travels.
func firstChange(c engine.Collaboration, about []byte, epoch uint64) ([]byte, hash, uint64) {
	var keys []byte
	var actions, metas []uint64
	add := func(key string, action, meta uint64) {
		keys = appendString(keys, key)
		actions, metas = append(actions, action), append(metas, meta)
	}
	for _, m := range c.Maps() {
		add(string(m), actionMake, 0)
	}
	add(keyAbout, actionPut, uint64(len(about))<<4|valueBytes)
	values := append([]byte(nil), about...)
	if epoch > 0 {
		number := appendUint(nil, epoch)
		add(keyEpoch, actionPut, uint64(len(number))<<4|valueUint)
		values = append(values, number...)
	}
	n := len(actions)
	columns := []column{
		{columnKey, append(appendInt(nil, -int64(n)), keys...)},
		{columnInsert, appendUint(nil, uint64(n))},
		{columnAction, appendRuns(nil, n, func(i int) uint64 { return actions[i] })},
		{columnValueMeta, appendRuns(nil, n, func(i int) uint64 { return metas[i] })},
		{columnValue, values},
		{columnPredGroup, appendSame(nil, n, 0)},
	}
	b := []byte{0} // no dependency
	b = appendString(b, string(firstActor[:]))
	b = append(b, 1, 1, 0, 0, 0) // its number, its first operation, the time, the message, and no other actors
	b = appendUint(b, uint64(len(columns)))
	for _, c := range columns {
		b = appendUint(appendUint(b, c.spec), uint64(len(c.data)))
	}
	for _, c := range columns {
		b = append(b, c.data...)
	}
	chunk := append(make([]byte, hashedFrom, len(b)+hashedFrom+8), chunkChange)
	chunk = append(appendUint(chunk, uint64(len(b))), b...)
	return chunk, seal(chunk), uint64(n)
}

// column is one encoded column of a change.
type column struct {
	spec uint64
	data []byte
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
