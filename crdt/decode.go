package crdt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/skerry/skerry/engine"
)

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
