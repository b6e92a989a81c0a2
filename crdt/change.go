package crdt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
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

// hashOf checks the frame of a chunk from outside and returns its hash.
func hashOf(chunk []byte) (hash, error) {
	switch {
	case len(chunk) > maxChange:
		return hash{}, fmt.Errorf("a change of %d bytes", len(chunk))
	case len(chunk) < 10 || !bytes.Equal(chunk[:4], magic):
		return hash{}, errors.New("no chunk")
	case chunk[8] != chunkChange:
		return hash{}, fmt.Errorf("a chunk of type %d", chunk[8])
	}
	h := sha256.Sum256(chunk[8:])
	if !bytes.Equal(chunk[4:8], h[:4]) {
		return hash{}, errors.New("wrong checksum")
	}
	return h, nil
}

// decodeChange decodes a chunk from outside of which hashOf approves. It takes nothing but what encode writes.
// The values alias the chunk.
func decodeChange(chunk []byte) (*change, error) {
	r := &reader{b: chunk[9:]}
	if n := r.uint(); n != uint64(len(r.b)) {
		return nil, errors.New("the length is not that of the chunk")
	}
	c := &change{}
	n := r.uint()
	if n > maxDeps {
		return nil, fmt.Errorf("%d dependencies", n)
	}
	for range n {
		c.deps = append(c.deps, hash(pad(r.take(32), 32)))
	}
	var err error
	if c.actor, err = readActor(r); err != nil {
		return nil, err
	}
	c.seq, c.startOp = r.uint(), r.uint()
	if t, m := r.int(), r.uint(); t != 0 || m != 0 {
		return nil, errors.New("a time or a message")
	}
	if n = r.uint(); n > maxOps {
		return nil, fmt.Errorf("%d other actors", n)
	}
	actors := []actor{c.actor}
	for range n {
		a, err := readActor(r)
		if err != nil {
			return nil, err
		}
		actors = append(actors, a)
	}
	columns, err := readColumns(r)
	if err != nil {
		return nil, err
	}
	if err := c.readPuts(columns, actors); err != nil {
		return nil, err
	}
	if again, _ := c.encode(); !bytes.Equal(again, chunk) {
		return nil, errors.New("not in the form that our encoder writes")
	}
	return c, nil
}

// pad makes up for what a failed reader did not yield.
func pad(b []byte, n int) []byte {
	if len(b) != n {
		return make([]byte, n)
	}
	return b
}

func readActor(r *reader) (actor, error) {
	b := r.take(r.uint())
	if r.err != nil {
		return actor{}, r.err
	}
	if len(b) != len(actor{}) {
		return actor{}, fmt.Errorf("an actor of %d bytes", len(b))
	}
	return actor(b), nil
}

// readColumns splits the rest of a chunk into its columns, all of which must be ours.
func readColumns(r *reader) (map[uint64][]byte, error) {
	n := r.uint()
	if n > 10 {
		return nil, fmt.Errorf("%d columns", n)
	}
	var specs, lengths []uint64
	for range n {
		specs, lengths = append(specs, r.uint()), append(lengths, r.uint())
	}
	columns := map[uint64][]byte{}
	for i, spec := range specs {
		switch spec {
		case columnObjectActor, columnObjectCounter, columnKey, columnInsert, columnAction, columnValueMeta,
			columnValue, columnPredGroup, columnPredActor, columnPredCounter:
			columns[spec] = r.take(lengths[i])
		default:
			return nil, fmt.Errorf("unknown column %#x", spec)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(r.b) > 0 {
		return nil, fmt.Errorf("%d bytes too many", len(r.b))
	}
	return columns, nil
}

// readPuts fills c.puts. What it does not look at (the insert column) or takes in more than one form shows when the
// change is encoded again.
func (c *change) readPuts(columns map[uint64][]byte, actors []actor) error {
	actions, err := readUints(columns[columnAction], maxOps)
	n := len(actions)
	if err != nil || n == 0 {
		return fmt.Errorf("column of actions: %d of them: %w", n, cmp.Or(err, errTruncated))
	}
	var errs [6]error
	var objectActors, objects, metas, groups, predActors, predCounters []uint64
	objectActors, errs[0] = readUints(columns[columnObjectActor], n)
	objects, errs[1] = readUints(columns[columnObjectCounter], n)
	keys, err := readStrings(columns[columnKey], n)
	metas, errs[2] = readUints(columns[columnValueMeta], n)
	groups, errs[3] = readUints(columns[columnPredGroup], n)
	predActors, errs[4] = readUints(columns[columnPredActor], maxOps)
	predCounters, errs[5] = readDeltas(columns[columnPredCounter], maxOps)
	if err := cmp.Or(err, errors.Join(errs[:]...)); err != nil {
		return fmt.Errorf("columns: %w", err)
	}
	if len(objectActors) != n || len(objects) != n || len(keys) != n || len(metas) != n || len(groups) != n ||
		len(predActors) != len(predCounters) {
		return errors.New("columns of different lengths")
	}
	values := &reader{b: columns[columnValue]}
	for i := range n {
		p := put{object: objects[i], key: keys[i]}
		switch length := metas[i] >> 4; {
		case actions[i] != actionPut || metas[i]&0xf != valueBytes:
			return errors.New("an operation that is no put of bytes")
		case objectActors[i] >= uint64(len(actors)) || actors[objectActors[i]] != firstActor || p.object == 0:
			return errors.New("an object that the first change did not make")
		case length > engine.MaxEntry:
			return fmt.Errorf("a value of %d bytes", length)
		case groups[i] > uint64(len(predActors)):
			return errors.New("fewer predecessors than announced")
		default:
			p.value = values.take(length)
		}
		for j := range groups[i] {
			if predActors[j] >= uint64(len(actors)) {
				return errors.New("a predecessor by nobody")
			}
			p.preds = append(p.preds, opID{predCounters[j], actors[predActors[j]]})
		}
		predActors, predCounters = predActors[groups[i]:], predCounters[groups[i]:]
		c.puts = append(c.puts, p)
	}
	return values.err
}
