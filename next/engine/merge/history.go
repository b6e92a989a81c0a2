package merge

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/next/engine"
)

// History is what a site knows of the operations of one resource, by origin. It holds back operations that build on others,
// or follow others of their origin, which it does not know. What it makes of a set of operations does not depend on the order
// in which they come. It is not safe for concurrent use.
type History struct {
	kind      *engine.Kind // whose rules the operations follow
	self      engine.SiteID
	placement []engine.SiteID // where the resource lived first
	parts     engine.Parts    // with which a cross resource began; nil for others
	takesOne  bool            // a rule of the kind lets one operation take the effect of another

	ordered []*engine.Operation // complete ones, in the order that counts
	creates []*engine.Operation // those of them that create, and that delete
	deletes []*engine.Operation
	adding  int // how many of them add to a number
	byID    map[engine.OperationID]*engine.Operation
	lines   map[engine.SiteID]*line
	held    int
	base    *Checkpoint // what stands for operations that are not here any more; nil: all are
	facts   map[engine.Fact]bool
	placed  *Placement // of all that is known; nil: to be folded
	folded  folded
}

// line is what is known of the operations of one origin: those that are complete, by number, after the first ones, for which
// the checkpoint stands, and those that wait.
type line struct {
	base    uint64
	ops     []*engine.Operation
	waiting map[uint64]*engine.Operation
}

// An operation's time lies before latestTime, the year 2200, or at most a year after that of what it has seen: one that a
// hostile site has put at the end of time leaves room for others to come after it.
const (
	latestTime = 7_258_118_400_000_000
	yearLater  = 366 * 24 * 3600 * 1_000_000
)

// New returns an empty history of a resource of this kind, as the site self sees it.
func New(k *engine.Kind, about engine.About, self engine.SiteID) *History {
	h := &History{
		kind: k, self: self, placement: about.Placement, takesOne: TakesOne(k),
		byID: map[engine.OperationID]*engine.Operation{}, lines: map[engine.SiteID]*line{},
	}
	if about.Collaboration == engine.Cross {
		h.parts = about.Parts
	}
	return h
}

// Kind returns the kind whose rules count.
func (h *History) Kind() *engine.Kind { return h.kind }

// Add takes o in and returns, in order, the operations that have become complete by it: o among them when all that it has
// seen is known and it is the next of its origin. What is known already changes nothing. An operation that cannot have seen
// what it says stays out for good, and so does what builds on it.
func (h *History) Add(o *engine.Operation) []*engine.Operation {
	l := h.line(o.Origin)
	if o.Number <= l.last() || l.waiting[o.Number] != nil {
		return nil
	}
	if o.Number > l.last()+1 || !h.accepts(l, o) {
		if l.waiting == nil {
			l.waiting = map[uint64]*engine.Operation{}
		}
		l.waiting[o.Number] = o
		h.held++
		return nil
	}
	h.insert(l, o)
	if h.held == 0 {
		return []*engine.Operation{o}
	}
	complete := append(h.release(), o)
	slices.SortFunc(complete, engine.Compare)
	return complete
}

// release takes in what waits and has become complete.
func (h *History) release() []*engine.Operation {
	var complete []*engine.Operation
	for again := true; again; {
		again = false
		for _, l := range h.lines {
			for w := l.waiting[l.last()+1]; w != nil && h.accepts(l, w); w = l.waiting[l.last()+1] {
				delete(l.waiting, w.Number)
				h.held--
				h.insert(l, w)
				complete = append(complete, w)
				again = true
			}
		}
	}
	return complete
}

func (h *History) line(origin engine.SiteID) *line {
	l := h.lines[origin]
	if l == nil {
		l = &line{}
		h.lines[origin] = l
	}
	return l
}

// last returns the number of the newest complete operation of the line.
func (l *line) last() uint64 {
	if l == nil {
		return 0
	}
	return l.base + uint64(len(l.ops))
}

// at returns a complete operation, nil when the checkpoint stands for it or there is none.
func (l *line) at(n uint64) *engine.Operation {
	if l == nil || n <= l.base || n > l.last() {
		return nil
	}
	return l.ops[n-l.base-1]
}

// accepts reports whether all that o has seen is complete, and o can have seen it: what its origin had settled contains
// all that this builds on, and its time comes after.
func (h *History) accepts(l *line, o *engine.Operation) bool {
	latest := int64(latestTime)
	if h.base != nil {
		if !h.follows(o) {
			return false
		}
		latest = max(latest, h.base.Time+yearLater)
	}
	for origin, n := range o.Seen {
		from := h.lines[origin]
		if n > from.last() || origin == o.Origin {
			return false
		}
		if seen := from.at(n); seen != nil {
			if seen.Time >= o.Time || !sawAllOf(o, seen) {
				return false
			}
			latest = max(latest, seen.Time+yearLater)
		}
	}
	if before := l.at(o.Number - 1); before != nil {
		if before.Time >= o.Time || !sawAllOf(o, before) {
			return false
		}
		latest = max(latest, before.Time+yearLater)
	}
	return o.Time >= 0 && o.Time <= latest
}

// follows reports whether o comes after the checkpoint and has seen all that everything beyond it has.
func (h *History) follows(o *engine.Operation) bool {
	if o.Time < h.base.Time {
		return false
	}
	for origin, n := range h.base.Firm {
		if origin != o.Origin && !o.Saw(origin, n) {
			return false
		}
	}
	return true
}

// sawAllOf reports whether o has seen all that seen has.
func sawAllOf(o, seen *engine.Operation) bool {
	for origin, n := range seen.Seen {
		if !o.Saw(origin, n) {
			return false
		}
	}
	return true
}

func (h *History) insert(l *line, o *engine.Operation) {
	l.ops = append(l.ops, o)
	h.ordered = inserted(h.ordered, o)
	h.know(o)
}

func inserted(ordered []*engine.Operation, o *engine.Operation) []*engine.Operation {
	if n := len(ordered); n == 0 || engine.Compare(ordered[n-1], o) < 0 {
		return append(ordered, o)
	}
	at, _ := slices.BinarySearchFunc(ordered, o, engine.Compare)
	return slices.Insert(ordered, at, o)
}

// know files an operation under what it is asked for by.
func (h *History) know(o *engine.Operation) {
	if other := h.byID[o.ID]; other == nil || engine.Compare(o, other) < 0 {
		h.byID[o.ID] = o
	}
	switch o.Type {
	case engine.TypeCreate:
		h.creates = inserted(h.creates, o)
	case engine.TypeDelete:
		h.deletes = inserted(h.deletes, o)
	case engine.TypePlace:
		h.placed = nil
	}
	if o.Edit != nil && len(o.Edit.Add) > 0 {
		h.adding++
	}
}

// Ordered returns the complete operations in the order that counts. The slice belongs to the history.
func (h *History) Ordered() []*engine.Operation { return h.ordered }

// Len returns how many operations there are that no checkpoint stands for, those held back not counted.
func (h *History) Len() int {
	if h.base == nil {
		return len(h.ordered)
	}
	return len(h.ordered) - len(h.base.Kept) - len(h.base.Late)
}

// Held returns how many operations are held back.
func (h *History) Held() int { return h.held }

// HeldBack reports whether an operation of this origin is held back.
func (h *History) HeldBack(origin engine.SiteID) bool {
	l := h.lines[origin]
	return l != nil && len(l.waiting) > 0
}

// Get returns a complete operation, nil when there is none of that identifier. Identifiers are for people and requests: two
// faulty origins may have used one, and the first in order stands for it.
func (h *History) Get(id engine.OperationID) *engine.Operation { return h.byID[id] }

// At returns the n-th operation of an origin, nil when it is not here, not complete, or the checkpoint stands for it.
func (h *History) At(origin engine.SiteID, n uint64) *engine.Operation { return h.lines[origin].at(n) }

// Last returns the number of the newest complete operation of an origin, 0 when there is none.
func (h *History) Last(origin engine.SiteID) uint64 { return h.lines[origin].last() }

// Issued returns the number of the newest operation of an origin that is here, also where it is held back.
func (h *History) Issued(origin engine.SiteID) uint64 {
	l := h.lines[origin]
	n := l.last()
	if l != nil {
		for waiting := range l.waiting {
			n = max(n, waiting)
		}
	}
	return n
}

// Complete counts the operations that are complete.
func (h *History) Complete() engine.Vector {
	v := make(engine.Vector, len(h.lines))
	for origin, l := range h.lines {
		if n := l.last(); n > 0 {
			v[origin] = n
		}
	}
	return v
}

// AddFact takes a fact in. It counts once both operations are known and where they are concurrent.
func (h *History) AddFact(f engine.Fact) {
	if h.facts == nil {
		h.facts = map[engine.Fact]bool{}
	}
	h.facts[f] = true
}

// Facts lists all facts, in one order.
func (h *History) Facts() []engine.Fact {
	if len(h.facts) == 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(h.facts), compareFacts)
}
