package engine

import (
	"cmp"
	"slices"
)

// History is what a site knows of the operations of one resource. It holds back operations whose parents it does
// not know. It is not safe for concurrent use.
type History struct {
	ordered   []*Operation        // complete ones, in the order that counts
	arrived   []*Operation        // the same, in the order in which they became complete
	index     map[OperationID]int // into arrived
	ancestors []bits              // by index: the indexes of all operations that happened before
	waiting   map[OperationID]*Operation
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{index: map[OperationID]int{}, waiting: map[OperationID]*Operation{}}
}

// Compare orders operations by time, site and identifier. Because an operation's time exceeds those of all its
// parents, the order respects causality.
func Compare(a, b *Operation) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.ID, b.ID))
}

// Add takes o in and returns the operations that have become complete by it, o among them when its parents are
// known. Adding an operation again changes nothing. An operation whose time does not exceed its parents' is
// forged or broken and stays out for good.
func (h *History) Add(o *Operation) []*Operation {
	if _, known := h.index[o.ID]; known || h.waiting[o.ID] != nil {
		return nil
	}
	h.waiting[o.ID] = o
	var complete []*Operation
	for again := true; again; {
		again = false
		for id, w := range h.waiting {
			if !h.hasParents(w) {
				continue
			}
			delete(h.waiting, id)
			if h.insert(w) {
				complete = append(complete, w)
				again = true
			}
		}
	}
	slices.SortFunc(complete, Compare)
	return complete
}

func (h *History) hasParents(o *Operation) bool {
	return !slices.ContainsFunc(o.Parents, func(p OperationID) bool {
		_, ok := h.index[p]
		return !ok
	})
}

func (h *History) insert(o *Operation) bool {
	n := len(h.ancestors)
	var before bits
	for _, p := range o.Parents {
		i := h.index[p]
		if h.arrived[i].Time >= o.Time {
			return false
		}
		before = before.or(h.ancestors[i]).with(i)
	}
	h.index[o.ID] = n
	h.ancestors = append(h.ancestors, before)
	h.arrived = append(h.arrived, o)
	at, _ := slices.BinarySearchFunc(h.ordered, o, Compare)
	h.ordered = slices.Insert(h.ordered, at, o)
	return true
}

// Ordered returns the complete operations in the order that counts. The slice belongs to the history.
func (h *History) Ordered() []*Operation { return h.ordered }

// Get returns a complete operation, nil when there is none of that id.
func (h *History) Get(id OperationID) *Operation {
	i, ok := h.index[id]
	if !ok {
		return nil
	}
	return h.arrived[i]
}

// Before reports whether a happened before b: b's origin had settled a when it issued b.
func (h *History) Before(a, b *Operation) bool {
	i, ok := h.index[a.ID]
	j, ok2 := h.index[b.ID]
	return ok && ok2 && h.ancestors[j].has(i)
}

// Concurrent reports whether neither happened before the other.
func (h *History) Concurrent(a, b *Operation) bool {
	return a.ID != b.ID && !h.Before(a, b) && !h.Before(b, a)
}

// Newest returns those of ops that happened before no other of them, sorted by id.
func (h *History) Newest(ops []*Operation) []OperationID {
	var covered bits
	for _, o := range ops {
		covered = covered.or(h.ancestors[h.index[o.ID]])
	}
	var ids []OperationID
	for _, o := range ops {
		if !covered.has(h.index[o.ID]) {
			ids = append(ids, o.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// bits is a set of small numbers. Methods return new sets.
type bits []uint64

func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b bits) with(i int) bits {
	for len(b) <= i/64 {
		b = append(b, 0)
	}
	b[i/64] |= 1 << (i % 64)
	return b
}

func (b bits) or(c bits) bits {
	r := make(bits, max(len(b), len(c)))
	copy(r, b)
	for i, w := range c {
		r[i] |= w
	}
	return r
}
