package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// known are the operations that a site knows, by line. It holds back operations that build on others, or follow others of their
// line, which it does not know.
type known struct {
	ordered []*engine.Operation // complete ones, in the order that counts
	creates []*engine.Operation // those of them that create, and that delete
	deletes []*engine.Operation
	placing int // how many of them change the placement, state its parts, and add to a number
	divides int
	adding  int
	byID    map[engine.OperationID]*engine.Operation
	lines   map[engine.Line]*line
	held    int
	twice   bool        // some of them have copies
	base    *Checkpoint // what stands for operations that are not here any more; nil: all are
}

// line is what is known of the operations of one line: those that are complete, by number, after the first ones, for which
// the checkpoint stands, and those that wait.
type line struct {
	base    uint64
	ops     []*engine.Operation
	waiting map[uint64]*engine.Operation
	ends    bool // what comes next cannot have seen what it says
}

// An operation's time lies before latestTime, the year 2200, or at most a year after that of what it has seen: one that a
// hostile site has put at the end of time leaves room for others to come after it.
const (
	latestTime = 7_258_118_400_000_000
	yearLater  = 366 * 24 * 3600 * 1_000_000
)

// Add takes o in and returns, in order, the operations that have become complete by it: o among them when all that it has
// seen is known and it is the next of its line. What is known already changes nothing. An operation that cannot have seen
// what it says stays out for good, and so does what builds on it.
func (k *known) Add(o *engine.Operation) []*engine.Operation {
	l := k.line(o.Line)
	if o.Number <= l.last() || l.waiting[o.Number] != nil {
		return nil
	}
	if o.Number > l.last()+1 || !k.accepts(l, o) {
		if l.waiting == nil {
			l.waiting = map[uint64]*engine.Operation{}
		}
		l.waiting[o.Number] = o
		k.held++
		return nil
	}
	k.insert(l, o)
	if k.held == 0 {
		return []*engine.Operation{o}
	}
	complete := append(k.release(), o)
	slices.SortFunc(complete, engine.Compare)
	return complete
}

// release takes in what waits and has become complete.
func (k *known) release() []*engine.Operation {
	var complete []*engine.Operation
	for again := true; again; {
		again = false
		for _, l := range k.lines {
			for w := l.waiting[l.last()+1]; w != nil && k.accepts(l, w); w = l.waiting[l.last()+1] {
				delete(l.waiting, w.Number)
				k.held--
				k.insert(l, w)
				complete = append(complete, w)
				again = true
			}
		}
	}
	return complete
}

func (k *known) line(name engine.Line) *line {
	l := k.lines[name]
	if l == nil {
		l = &line{}
		k.lines[name] = l
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
func (k *known) accepts(l *line, o *engine.Operation) bool {
	latest := int64(latestTime)
	if k.base != nil {
		if !k.follows(o) {
			return false
		}
		latest = max(latest, k.base.Time+yearLater)
	}
	for name, n := range o.Seen {
		from := k.lines[name]
		if n > from.last() || name == o.Line {
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
func (k *known) follows(o *engine.Operation) bool {
	if o.Time < k.base.Time {
		return false
	}
	for name, n := range k.base.Firm {
		if name != o.Line && !o.Saw(name, n) {
			return false
		}
	}
	return true
}

// Unfollowing reports whether an operation is held back because it has not seen what the checkpoint stands for, and nothing else: a site
// that was set back has issued it. Where the operations that the checkpoint stands for are in their place again, it is taken in.
func (k *known) Unfollowing() bool {
	if k.base == nil || k.held == 0 {
		return false
	}
	for _, l := range k.lines {
		if w := l.waiting[l.last()+1]; w != nil && !l.ends && k.knowsAll(w) && !k.follows(w) {
			return true
		}
	}
	return false
}

// GiveUp is called where all operations are in their place that are stored: what is held back then, and has seen only what is here, cannot have
// seen what it says, and stays out for good.
func (k *known) GiveUp() {
	for _, l := range k.lines {
		if w := l.waiting[l.last()+1]; w != nil {
			l.ends = k.knowsAll(w)
		}
	}
}

// knowsAll reports whether all that o has seen is complete.
func (k *known) knowsAll(o *engine.Operation) bool {
	for name, n := range o.Seen {
		if n > k.lines[name].last() {
			return false
		}
	}
	return true
}

// sawAllOf reports whether o has seen all that seen has.
func sawAllOf(o, seen *engine.Operation) bool {
	for name, n := range seen.Seen {
		if !o.Saw(name, n) {
			return false
		}
	}
	return true
}

func (k *known) insert(l *line, o *engine.Operation) {
	l.ops = append(l.ops, o)
	k.ordered = inserted(k.ordered, o)
	k.know(o)
}

func inserted(ordered []*engine.Operation, o *engine.Operation) []*engine.Operation {
	if n := len(ordered); n == 0 || engine.Compare(ordered[n-1], o) < 0 {
		return append(ordered, o)
	}
	at, _ := slices.BinarySearchFunc(ordered, o, engine.Compare)
	return slices.Insert(ordered, at, o)
}

// know files an operation under what it is asked for by.
func (k *known) know(o *engine.Operation) {
	if k.copied(o) {
		k.twice = true
		return
	}
	if other := k.byID[o.ID]; other == nil || engine.Compare(o, other) < 0 {
		k.byID[o.ID] = o
	}
	switch o.Type {
	case engine.TypeCreate:
		k.creates = inserted(k.creates, o)
	case engine.TypeDelete:
		k.deletes = inserted(k.deletes, o)
	case engine.TypePlace:
		if k.placing++; o.Place.Parts != nil {
			k.divides++
		}
	}
	if o.Edit != nil && len(o.Edit.Add) > 0 {
		k.adding++
	}
}

// Ordered returns the complete operations in the order that counts. The slice is the history's, and good until that changes.
func (k *known) Ordered() []*engine.Operation { return k.ordered }

// Len returns how many operations there are that no checkpoint stands for, those held back not counted.
func (k *known) Len() int {
	if k.base == nil {
		return len(k.ordered)
	}
	return len(k.ordered) - len(k.base.Kept) - len(k.base.Late)
}

// Held returns how many operations are held back.
func (k *known) Held() int { return k.held }

// Forgo leaves out for good what is held back of the epochs before one, and returns how much that is: who has all of these epochs has nothing that it
// builds on.
func (k *known) Forgo(epoch uint64) (gone int) {
	for _, l := range k.lines {
		for n, o := range l.waiting {
			if o.Epoch < epoch {
				delete(l.waiting, n)
				gone++
			}
		}
	}
	k.held -= gone
	return gone
}

// HeldBefore reports whether an operation of an epoch before one is held back.
func (k *known) HeldBefore(epoch uint64) bool {
	for _, l := range k.lines {
		for _, o := range l.waiting {
			if o.Epoch < epoch {
				return true
			}
		}
	}
	return false
}

// HeldBack reports whether an operation of this origin is held back.
func (k *known) HeldBack(origin engine.SiteID) bool {
	for name, l := range k.lines {
		if len(l.waiting) > 0 && name.Site() == origin {
			return true
		}
	}
	return false
}

// Get returns a complete operation, nil when there is none of that identifier. Of several that are not the same, which a
// faulty origin may have made, the first in order stands for it.
func (k *known) Get(id engine.OperationID) *engine.Operation { return k.byID[id] }

// At returns the n-th operation of a line, nil when it is not here, not complete, or the checkpoint stands for it.
func (k *known) At(name engine.Line, n uint64) *engine.Operation { return k.lines[name].at(n) }

// Last returns the number of the newest complete operation of a line, 0 when there is none.
func (k *known) Last(name engine.Line) uint64 { return k.lines[name].last() }

// Issued returns the number of the newest operation of a line that is here, also where it is held back.
func (k *known) Issued(name engine.Line) uint64 {
	l := k.lines[name]
	n := l.last()
	if l != nil {
		for waiting := range l.waiting {
			n = max(n, waiting)
		}
	}
	return n
}

// AnyWriter reports whether a site fits of which an operation is complete, or stood for by the checkpoint.
func (k *known) AnyWriter(fits func(engine.SiteID) bool) bool {
	for name, l := range k.lines {
		if l.last() > 0 && fits(name.Site()) {
			return true
		}
	}
	return false
}

// Complete counts the operations that are complete.
func (k *known) Complete() engine.Vector {
	v := make(engine.Vector, len(k.lines))
	for name, l := range k.lines {
		if n := l.last(); n > 0 {
			v[name] = n
		}
	}
	return v
}

// Base returns the checkpoint that stands for the first operations, nil for none.
func (k *known) Base() *Checkpoint { return k.base }

// stand makes it consist of a checkpoint and the operations that follow that, beside those that wait.
func (k *known) stand(c *Checkpoint) {
	rest := slices.DeleteFunc(slices.Clone(k.ordered), c.Has)
	k.base = c
	for name, n := range c.Seen {
		k.line(name).stand(n)
	}
	k.held = 0
	for _, l := range k.lines {
		k.held += len(l.waiting)
	}
	k.ordered, k.creates, k.deletes, k.placing, k.divides, k.adding, k.twice = slices.Concat(c.Kept, c.Late, rest), nil, nil, 0, 0, 0, false
	slices.SortFunc(k.ordered, engine.Compare)
	clear(k.byID)
	for _, o := range k.ordered {
		k.know(o)
	}
	k.release()
}

// stand takes the first n operations of a line away.
func (l *line) stand(n uint64) {
	if n <= l.base {
		return
	}
	l.ops = slices.Clone(l.ops[min(n-l.base, uint64(len(l.ops))):])
	l.base = n
	for waiting := range l.waiting {
		if waiting <= n {
			delete(l.waiting, waiting)
		}
	}
}
