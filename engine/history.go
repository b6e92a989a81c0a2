package engine

import (
	"cmp"
	"slices"
)

// History is what a site knows of the operations of one resource. It holds back operations whose parents, or the one
// before of whose origin, it does not know. It is not safe for concurrent use.
type History struct {
	ordered   []*Operation        // complete ones, in the order that counts
	arrived   []*Operation        // the same, in the order in which they became complete
	index     map[OperationID]int // into arrived
	ancestors []bits              // by index: the indexes of all operations that happened before
	waiting   map[OperationID]*Operation
	last      map[SiteID]uint64 // by origin, the Seq of its newest complete operation
}

// An operation's time lies before latestTime, the year 2200, or at most a year after its parents': one that a hostile site
// has put at the end of time leaves room for others to come after it.
const (
	latestTime = 7_258_118_400_000_000
	yearLater  = 366 * 24 * 3600 * 1_000_000
)

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{index: map[OperationID]int{}, waiting: map[OperationID]*Operation{}, last: map[SiteID]uint64{}}
}

// Compare orders operations by time, site and identifier. Because an operation's time exceeds those of all its
// parents, the order respects causality.
func Compare(a, b *Operation) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.ID, b.ID))
}

// Add takes o in and returns the operations that have become complete by it, o among them when its parents are
// known and it is the next of its origin. Adding an operation again changes nothing. An operation whose time does not
// exceed its parents', or is absurd, is forged or broken and stays out for good, and so does what builds on it.
func (h *History) Add(o *Operation) []*Operation {
	if _, known := h.index[o.ID]; known || h.waiting[o.ID] != nil {
		return nil
	}
	h.waiting[o.ID] = o
	var complete []*Operation
	for again := true; again; {
		again = false
		for id, w := range h.waiting {
			if w.Seq != h.last[w.Origin]+1 || !h.hasParents(w) {
				continue
			}
			if h.insert(w) {
				delete(h.waiting, id)
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
	latest := int64(latestTime)
	for _, p := range o.Parents {
		i := h.index[p]
		if h.arrived[i].Time >= o.Time {
			return false
		}
		latest = max(latest, h.arrived[i].Time+yearLater)
		before = before.or(h.ancestors[i]).with(i)
	}
	if o.Time < 0 || o.Time > latest {
		return false
	}
	h.index[o.ID], h.last[o.Origin] = n, o.Seq
	h.ancestors = append(h.ancestors, before)
	h.arrived = append(h.arrived, o)
	at, _ := slices.BinarySearchFunc(h.ordered, o, Compare)
	h.ordered = slices.Insert(h.ordered, at, o)
	return true
}

// Ordered returns the complete operations in the order that counts. The slice belongs to the history.
func (h *History) Ordered() []*Operation { return h.ordered }

// Held returns how many operations are held back.
func (h *History) Held() int { return len(h.waiting) }

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
