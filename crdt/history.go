package crdt

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// history is what a document's changes have said so far: enough to check the next one, and the value of each key.
// Its document's lock guards it.
type history struct {
	maps    []engine.MapName
	changes []node // in the order of their coming; dependencies come before what depends on them
	index   map[hash]int
	heads   map[hash]struct{}
	actors  map[actor]tip
	cells   map[slot]*cell
}

// node is one change.
type node struct {
	maxOp uint64
	deps  []int
}

// tip is the last change of one actor.
type tip struct {
	seq  uint64
	hash hash
}

// slot is a place for a value: a key of one of the maps of the first change, which are numbered from 1.
type slot struct {
	object uint64
	key    string
}

func compareSlots(a, b slot) int {
	return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.key, b.key))
}

// cell is what was put in one slot.
type cell struct {
	puts []cellPut // in the order of their coming
	// live are the puts that no other one has as a predecessor: one, unless a site was cloned.
	live []int
	// shared says that more than one actor has put something here.
	shared bool
}

type cellPut struct {
	op     opID
	change int
	preds  []opID
	value  []byte // nil once it is not live any more
}

// newHistory returns the history of a document of which there is the first change only.
func newHistory(schema engine.Schema, first *change, h hash) *history {
	hist := &history{
		maps:   schema.Maps(),
		index:  map[hash]int{},
		heads:  map[hash]struct{}{},
		actors: map[actor]tip{},
		cells:  map[slot]*cell{},
	}
	hist.add(&change{actor: first.actor, seq: first.seq, startOp: first.maxOp(), puts: make([]put, 1)}, h)
	clear(hist.cells) // the first change makes maps; it fills none
	return hist
}

// object returns the number of a map, zero when the document has no such map.
func (h *history) object(m engine.MapName) uint64 { return uint64(slices.Index(h.maps, m) + 1) }

// add takes a change in that check approves of.
func (h *history) add(c *change, name hash) {
	n := node{maxOp: c.maxOp()}
	for _, d := range c.deps {
		n.deps = append(n.deps, h.index[d])
		delete(h.heads, d)
	}
	at := len(h.changes)
	h.changes = append(h.changes, n)
	h.index[name] = at
	h.heads[name] = struct{}{}
	h.actors[c.actor] = tip{c.seq, name}
	for i, p := range c.puts {
		s := slot{p.object, p.key}
		k := h.cells[s]
		if k == nil {
			k = &cell{}
			h.cells[s] = k
		}
		k.add(cellPut{op: c.op(i), change: at, preds: p.preds, value: p.value})
	}
}

func (k *cell) add(p cellPut) {
	if len(k.puts) > 0 && k.puts[0].op.actor != p.op.actor {
		k.shared = true
	}
	k.live = slices.DeleteFunc(k.live, func(i int) bool {
		if !slices.Contains(p.preds, k.puts[i].op) {
			return false
		}
		k.puts[i].value = nil
		return true
	})
	k.live = append(k.live, len(k.puts))
	k.puts = append(k.puts, p)
}

// winner returns what Automerge shows for the cell: of several live puts the one with the greatest opID.
func (k *cell) winner() cellPut {
	best := k.live[0]
	for _, i := range k.live[1:] {
		if compareOps(k.puts[i].op, k.puts[best].op) > 0 {
			best = i
		}
	}
	return k.puts[best]
}

// winner returns the operation that put what stands in s, or none.
func (h *history) winner(s slot) opID {
	if k := h.cells[s]; k != nil {
		return k.winner().op
	}
	return opID{}
}

// current returns the predecessors that a put in s has to name, if it knows all of the document.
func (h *history) current(s slot) []opID {
	k := h.cells[s]
	if k == nil {
		return nil
	}
	var out []opID
	for _, i := range k.live {
		out = append(out, k.puts[i].op)
	}
	slices.SortFunc(out, compareOps)
	return out
}

// visible returns the predecessors that a put in s has to name, if it knows the changes that known says.
func (h *history) visible(s slot, known []bool) []opID {
	k := h.cells[s]
	if k == nil {
		return nil
	}
	var out []opID
	over := map[opID]bool{}
	for _, p := range slices.Backward(k.puts) {
		if !known[p.change] {
			continue
		}
		if !over[p.op] {
			out = append(out, p.op)
		}
		for _, pred := range p.preds {
			over[pred] = true
		}
	}
	slices.SortFunc(out, compareOps)
	return out
}

// ancestors tells of each change whether deps, or what they build on, contain it.
func (h *history) ancestors(deps []hash) []bool {
	known := make([]bool, len(h.changes))
	for _, d := range deps {
		known[h.index[d]] = true
	}
	for i, n := range slices.Backward(h.changes) {
		if known[i] {
			for _, d := range n.deps {
				known[d] = true
			}
		}
	}
	return known
}

// covers reports whether deps contain every head, so that whoever names them knows all of the document.
func (h *history) covers(deps []hash) bool {
	n := 0
	for _, d := range deps {
		if _, ok := h.heads[d]; ok {
			n++
		}
	}
	return n == len(h.heads)
}

// after returns the greatest operation counter below deps.
func (h *history) after(deps []hash) uint64 {
	most := uint64(0)
	for _, d := range deps {
		most = max(most, h.changes[h.index[d]].maxOp)
	}
	return most
}

// writtenAt returns the digest of the heads that the author of a change left with it, and the version of what it had then.
func (h *history) writtenAt(change int) ([32]byte, engine.Version) {
	var name hash
	for n, at := range h.index {
		if at == change {
			name = n
		}
	}
	known := h.ancestors([]hash{name})
	authors := map[int]actor{}
	for _, k := range h.cells {
		for _, p := range k.puts {
			authors[p.change] = p.op.actor
		}
	}
	have := engine.Version{}
	for at, is := range known {
		if a, ok := authors[at]; is && ok { // the first change puts nothing and has no author
			have[a.String()]++ // an actor's changes build on each other, so their number is that of the last
		}
	}
	return digestOf(name), have
}

// sortedHeads returns the changes that no other one builds on.
func (h *history) sortedHeads() []hash { return sortedHashes(h.heads) }

func sortedHashes(set map[hash]struct{}) []hash {
	return slices.SortedFunc(maps.Keys(set), compareHashes)
}

// digest returns the SHA-256 hash over the heads: equal for two sites if and only if they know the same changes.
func (h *history) digest() [32]byte {
	return digestOf(h.sortedHeads()...)
}

func digestOf(heads ...hash) [32]byte {
	d := sha256.New()
	for _, head := range heads {
		d.Write(head[:])
	}
	return [32]byte(d.Sum(nil))
}

// entry returns what stands in s, which is not empty.
func (h *history) entry(s slot) engine.Entry {
	return engine.Entry{Map: h.maps[s.object-1], Key: s.key, Value: h.cells[s].winner().value}
}

// entries returns everything, map by map, sorted by key.
func (h *history) entries() []engine.Entry {
	slots := slices.SortedFunc(maps.Keys(h.cells), compareSlots)
	out := make([]engine.Entry, len(slots))
	for i, s := range slots {
		out[i] = h.entry(s)
	}
	return out
}
