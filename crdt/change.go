package crdt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Bounds of one change. An honest site stays below all of them.
const (
	maxChange = 1 << 20
	maxOps    = 4096
	maxDeps   = 4096
)

// hash is the SHA-256 hash of a change. It names the change.
type hash [32]byte

func compareHashes(a, b hash) int { return bytes.Compare(a[:], b[:]) }

// actor is an Automerge actor: whoever numbers changes and operations without gaps. See actorOf.
type actor [16]byte

func (a actor) String() string { return hex.EncodeToString(a[:]) }

func compareActors(a, b actor) int { return bytes.Compare(a[:], b[:]) }

// opID names an operation of a document. Automerge lets the greatest of several concurrent puts of one key win.
type opID struct {
	counter uint64
	actor   actor
}

func compareOps(a, b opID) int {
	return cmp.Or(cmp.Compare(a.counter, b.counter), compareActors(a.actor, b.actor))
}

// put is one operation of a change: value stands under key from now on, in place of what preds put there.
type put struct {
	// object is the number of the map among those of the first change, from 1, or zero for the root.
	object uint64
	key    string
	// makes says that a new map is put there and not value. Only the first change makes maps.
	makes bool
	value []byte
	// preds are sorted by compareOps.
	preds []opID
}

// change is a change as its chunk tells it. Automerge knows more than what fits in here (times, messages,
// deletions, lists, counters, …); a chunk with any of that does not decode.
type change struct {
	deps    []hash // sorted
	actor   actor
	seq     uint64
	startOp uint64 // the counter of the first put; those of the others follow
	puts    []put
}

func (c *change) maxOp() uint64 { return c.startOp + uint64(len(c.puts)) - 1 }

func (c *change) op(i int) opID { return opID{c.startOp + uint64(i), c.actor} }

// Parts of the chunk and of its columns.
var magic = []byte{0x85, 0x6f, 0x4a, 0x83}

const (
	chunkChange = 1
	actionMake  = 0
	actionPut   = 1
	valueBytes  = 7
)

// encode returns the chunk of the change and its hash, byte for byte as Automerge writes it before compression.
func (c *change) encode() ([]byte, hash) {
	others := c.others()
	b := appendUint(nil, uint64(len(c.deps)))
	for _, d := range c.deps {
		b = append(b, d[:]...)
	}
	b = appendString(b, string(c.actor[:]))
	b = appendUint(b, c.seq)
	b = appendUint(b, c.startOp)
	b = append(b, 0, 0) // the time, zero, and the message, empty
	b = appendUint(b, uint64(len(others)))
	for _, a := range others {
		b = appendString(b, string(a[:]))
	}
	columns := c.columns(others)
	b = appendUint(b, uint64(len(columns)))
	for _, col := range columns {
		b = appendUint(b, col.spec)
		b = appendUint(b, uint64(len(col.data)))
	}
	for _, col := range columns {
		b = append(b, col.data...)
	}
	return sealChunk(b)
}

// sealChunk puts the header of a change chunk before its body.
func sealChunk(body []byte) ([]byte, hash) {
	chunk := append(slices.Clone(magic), 0, 0, 0, 0, chunkChange)
	chunk = append(appendUint(chunk, uint64(len(body))), body...)
	h := sha256.Sum256(chunk[8:])
	copy(chunk[4:8], h[:4])
	return chunk, h
}

// others returns the actors beside its own that the change mentions, sorted, as the format lists them.
func (c *change) others() []actor {
	var out []actor
	add := func(a actor) {
		if i, found := slices.BinarySearchFunc(out, a, compareActors); !found && a != c.actor {
			out = slices.Insert(out, i, a)
		}
	}
	for _, p := range c.puts {
		if p.object != 0 {
			add(firstActor)
		}
		for _, pred := range p.preds {
			add(pred.actor)
		}
	}
	return out
}

func (c *change) columns(others []actor) []column {
	index := map[actor]uint64{c.actor: 0}
	for i, a := range others {
		index[a] = uint64(i) + 1
	}
	n := len(c.puts)
	actions, metas := make([]uint64, n), make([]uint64, n)
	groups, keys := make([]uint64, n), make([]string, n)
	var objectActors, objects, predActors, predCounters []uint64
	var values []byte
	for i, p := range c.puts {
		if p.object != 0 {
			objectActors = append(objectActors, index[firstActor])
			objects = append(objects, p.object)
		}
		keys[i] = p.key
		if actions[i] = actionMake; !p.makes {
			actions[i], metas[i] = actionPut, uint64(len(p.value))<<4|valueBytes
			values = append(values, p.value...)
		}
		groups[i] = uint64(len(p.preds))
		for _, pred := range p.preds {
			predActors = append(predActors, index[pred.actor])
			predCounters = append(predCounters, pred.counter)
		}
	}
	return slices.DeleteFunc([]column{
		{columnObjectActor, appendRuns(nil, objectActors, appendUint)},
		{columnObjectCounter, appendRuns(nil, objects, appendUint)},
		{columnKey, appendRuns(nil, keys, appendString)},
		{columnInsert, appendUint(nil, uint64(n))}, // a column of booleans: so many times false
		{columnAction, appendRuns(nil, actions, appendUint)},
		{columnValueMeta, appendRuns(nil, metas, appendUint)},
		{columnValue, values},
		{columnPredGroup, appendRuns(nil, groups, appendUint)},
		{columnPredActor, appendRuns(nil, predActors, appendUint)},
		{columnPredCounter, appendDeltas(nil, predCounters)},
	}, func(col column) bool { return len(col.data) == 0 })
}
