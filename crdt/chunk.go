package crdt

import (
	"bytes"
	"crypto/sha256"
	"strconv"

	"github.com/skerry/skerry/engine"
)

// hash is the SHA-256 hash of a change. It names the change.
type hash = [sha256.Size]byte

// actor is an Automerge actor: whoever numbers changes and operations without gaps.
type actor [16]byte

// firstActor makes every document's first change, and nothing else.
var firstActor actor

// A chunk begins with magic bytes, four bytes of its hash, and its type. Its hash is over all from the type on.
var magic = [4]byte{0x85, 0x6f, 0x4a, 0x83}

const (
	chunkChange = 1
	hashedFrom  = 8
)

// seal puts into the first bytes of a chunk what comes before its type, and returns the hash.
func seal(chunk []byte) hash {
	h := sha256.Sum256(chunk[hashedFrom:])
	copy(chunk, magic[:])
	copy(chunk[len(magic):hashedFrom], h[:])
	return h
}

// place is where a change stands: in which line it is, which of it, and after what.
type place struct {
	line     engine.Line
	actor    actor            // of line
	maps     []engine.MapName // of the document, in the order in which its first change makes them
	number   uint64
	previous hash
	begins   uint64
}

// object returns the number of a map, which is the counter of the operation that makes it; zero: the document has none of
// that name.
func (p *place) object(m engine.MapName) uint64 {
	for i, name := range p.maps {
		if name == m {
			return uint64(i) + 1
		}
	}
	return 0
}

// appendKeys writes the column of the keys of n entries, no two of which are alike.
func (p *place) appendKeys(b []byte, n int) []byte {
	var space [128]byte
	key := append(append(space[:0], p.line...), '/')
	key = append(strconv.AppendUint(key, p.number, 10), '/')
	b = appendInt(b, -int64(n))
	for i := range n {
		whole := strconv.AppendUint(key, uint64(i), 10)
		b = append(appendUint(b, uint64(len(whole))), whole...)
	}
	return b
}

// frame appends to head what comes before the values in the chunk of a change, from its type on, and to tail what comes after
// them. There is at least one entry, and each is in one of the maps.
func (p *place) frame(head, tail []byte, entries []engine.Entry) ([]byte, []byte) {
	n, values := len(entries), 0
	for i := range entries {
		values += len(entries[i].Value)
	}
	specs := [...]uint64{columnObjectActor, columnObjectCounter, columnKey, columnInsert, columnAction, columnValueMeta}
	var ends [len(specs)]int
	var space [512]byte
	data := appendSame(space[:0], n, 1)
	ends[0] = len(data)
	data = appendRuns(data, n, func(i int) uint64 { return p.object(entries[i].Map) })
	ends[1] = len(data)
	data = p.appendKeys(data, n)
	ends[2] = len(data)
	data = appendUint(data, uint64(n)) // a column of booleans: so many times false
	ends[3] = len(data)
	data = appendSame(data, n, actionPut)
	ends[4] = len(data)
	data = appendRuns(data, n, func(i int) uint64 { return uint64(len(entries[i].Value))<<4 | valueBytes })
	ends[5] = len(data)
	preds := len(tail)
	tail = appendSame(tail, n, 0)
	preds = len(tail) - preds

	var front [256]byte
	b := append(appendUint(front[:0], 1), p.previous[:]...) // one dependency
	b = append(appendUint(b, uint64(len(actor{}))), p.actor[:]...)
	b = appendUint(appendUint(b, p.number), p.begins)
	b = append(b, 0, 0, 1) // the time, the message, and how many other actors there are
	b = append(appendUint(b, uint64(len(actor{}))), firstActor[:]...)
	count := len(specs) + 1
	if values > 0 {
		count++
	}
	b = appendUint(b, uint64(count))
	begin := 0
	for i, spec := range specs {
		b = appendUint(appendUint(b, spec), uint64(ends[i]-begin))
		begin = ends[i]
	}
	if values > 0 {
		b = appendUint(appendUint(b, columnValue), uint64(values))
	}
	b = appendUint(appendUint(b, columnPredGroup), uint64(preds))

	head = appendUint(append(head, chunkChange), uint64(len(b)+len(data)+values+preds))
	return append(append(head, b...), data...), tail
}

// write returns the chunk of a change, byte for byte as Automerge writes it before compression, its hash, and the part of the
// chunk that holds the values, one after the other.
func (p *place) write(entries []engine.Entry) (chunk []byte, h hash, values []byte) {
	var front [1024]byte
	var back [16]byte
	head, tail := p.frame(front[:hashedFrom], back[:0], entries)
	size := len(head) + len(tail)
	for i := range entries {
		size += len(entries[i].Value)
	}
	chunk = append(make([]byte, 0, size), head...)
	for i := range entries {
		chunk = append(chunk, entries[i].Value...)
	}
	values = chunk[len(head):]
	chunk = append(chunk, tail...)
	return chunk, seal(chunk), values
}

// wrote reports whether write would return a chunk whose checksum is right.
func (p *place) wrote(chunk []byte, entries []engine.Entry) bool {
	var front [1024]byte
	var back [16]byte
	head, tail := p.frame(front[:0], back[:0], entries)
	rest, ok := bytes.CutPrefix(chunk[hashedFrom:], head)
	if !ok {
		return false
	}
	for i := range entries {
		if rest, ok = bytes.CutPrefix(rest, entries[i].Value); !ok {
			return false
		}
	}
	return bytes.Equal(rest, tail)
}
