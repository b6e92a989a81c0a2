package memory

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Changes holds all changes that the sites of one simulation have made; what travels is a change's number.
type Changes struct{ all []*change }

// change is one change of one document. It never changes.
type change struct {
	n       uint64 // from 1, in the order in which they were made
	actor   string
	seq     uint64
	deps    []*change // the heads that it was made on
	op      uint64    // the number of its first operation: Automerge's order of concurrent values
	entries []engine.Entry
}

func (c *Changes) add(new *change) {
	c.all = append(c.all, new)
	new.n = uint64(len(c.all))
}

func (c *Changes) decode(b []byte) (*change, error) {
	if len(b) != 8 {
		return nil, fmt.Errorf("%w: a change of %d bytes", engine.ErrRefused, len(b))
	}
	n := binary.BigEndian.Uint64(b)
	if n == 0 || n > uint64(len(c.all)) {
		return nil, fmt.Errorf("%w: change %d was never made", engine.ErrRefused, n)
	}
	return c.all[n-1], nil
}

func (c *change) encode() []byte { return binary.BigEndian.AppendUint64(nil, c.n) }

func (c *change) row(id engine.DocumentID, author engine.SiteID) engine.ChangeRow {
	r := engine.ChangeRow{Document: id, Actor: c.actor, Seq: c.seq,
		SignedChange: engine.SignedChange{Author: author, Bytes: c.encode()}}
	binary.BigEndian.PutUint64(r.Hash[:], c.n)
	return r
}

// last is the number of the change's last operation.
func (c *change) last() uint64 { return c.op + uint64(len(c.entries)) - 1 }

// covers reports whether other is c or one that c builds on.
func (c *change) covers(other *change) bool {
	return c == other || c.n > other.n && c.history()[other] // a change comes after what it builds on
}

// history is the change and all that it builds on.
func (c *change) history() map[*change]bool {
	seen := map[*change]bool{c: true}
	next := []*change{c}
	for len(next) > 0 {
		c, next = next[len(next)-1], next[:len(next)-1]
		for _, d := range c.deps {
			if !seen[d] {
				seen[d] = true
				next = append(next, d)
			}
		}
	}
	return seen
}

func sortChanges(list []*change) {
	slices.SortFunc(list, func(a, b *change) int { return int(a.n) - int(b.n) })
}
