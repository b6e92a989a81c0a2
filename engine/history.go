package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
)

// History is what a site knows of the operations of one resource, line by line. It holds back operations that build on
// others, or follow others of their line, which it does not know. What it makes of a set of operations does not depend
// on the order in which they come. It is not safe for concurrent use.
type History struct {
	ordered []*Operation // complete ones, in the order that counts
	lines   map[Line]*line
	byID    map[OperationID]*Operation // complete ones; of two with one identifier the first in order
	twice   map[OperationID]bool       // identifiers of more than one
	held    int
	base    *Checkpoint // what stands for operations that are not here any more; nil: all are
	kind    *Kind       // whose rules the operations follow; nil: those of HTTP alone
	facts   map[Fact]bool
	// hindsight tells of some lines that their first operations, and what has seen them, count as having seen more than they say.
	hindsight map[Line]Hindsight
	// placement is where the resource lived first.
	placement []SiteID
	spread    *spread
	folded    folded
}

// line is what is known of one line of operations: those that are complete, by number, after the first ones, for which the
// checkpoint stands, and those that wait.
type line struct {
	base    uint64
	ops     []*Operation
	waiting map[uint64]*Operation
}

// An operation's time lies before latestTime, the year 2200, or at most a year after that of what it has seen: one that a
// hostile site has put at the end of time leaves room for others to come after it.
const (
	latestTime = 7_258_118_400_000_000
	yearLater  = 366 * 24 * 3600 * 1_000_000
)

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{lines: map[Line]*line{}, byID: map[OperationID]*Operation{}}
}

// HistoryOf returns an empty history of a resource of this kind, whose rules it follows.
func HistoryOf(k *Kind) *History {
	h := NewHistory()
	h.kind = k
	return h
}

// Compare orders operations by time, site and identifier. Because an operation's time exceeds those of all it has
// seen, the order respects causality. Run and number only tell apart what a site has given one identifier twice.
func Compare(a, b *Operation) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.ID, b.ID),
		cmp.Compare(a.Run, b.Run), cmp.Compare(a.Seq, b.Seq))
}

// Add takes o in and returns the operations that have become complete by it, o among them when all it has seen is
// known and it is the next of its line. Adding an operation again changes nothing. An operation that cannot have seen what
// it says stays out for good, and so does what builds on it. Of two that claim one number, which only a hostile origin
// makes, the one whose encoding has the lower hash counts.
func (h *History) Add(o *Operation) []*Operation {
	if h.base.has(o) {
		return nil
	}
	o = h.counted(o)
	l := h.line(o.Line())
	known := l.waiting[o.Seq]
	if o.Seq <= l.last() {
		known = l.at(o.Seq)
	}
	switch {
	case known == nil:
	case known == o || !claimedBy(o, known):
		return nil
	default:
		return h.replace(known, o)
	}
	l.waiting[o.Seq] = o
	h.held++
	var complete []*Operation
	for again := true; again; {
		again = false
		for _, l := range h.lines {
			for w := l.next(); w != nil && h.accepts(w); w = l.next() {
				h.insert(l, w)
				complete = append(complete, w)
				again = true
			}
		}
	}
	slices.SortFunc(complete, Compare)
	return complete
}

// claimedBy reports whether o takes the number that other has.
func claimedBy(o, other *Operation) bool {
	a, errA := o.Encode()
	b, errB := other.Encode()
	if errA != nil || errB != nil || bytes.Equal(a, b) {
		return false
	}
	x, y := sha256.Sum256(a), sha256.Sum256(b)
	return bytes.Compare(x[:], y[:]) < 0
}

// replace makes the history anew with o in the place of old: what was accepted with the one need not be with the other.
func (h *History) replace(old, o *Operation) []*Operation {
	anew := h.without(old)
	anew.Add(o)
	*h = *anew
	return h.ordered
}

// without makes the history anew, but for one operation.
func (h *History) without(old *Operation) *History {
	anew := HistoryOf(h.kind)
	anew.facts, anew.placement, anew.spread, anew.hindsight = h.facts, h.placement, h.spread, h.hindsight
	if h.base != nil {
		anew.stand(h.base, nil)
	}
	for _, l := range h.lines {
		for _, w := range l.waiting {
			if w != old {
				anew.Add(w)
			}
		}
	}
	for _, w := range h.ordered {
		if w != old && !h.base.has(w) {
			anew.Add(w)
		}
	}
	return anew
}

// complete counts, line by line, the operations that are complete.
func (h *History) complete() map[Line]uint64 {
	counts := make(map[Line]uint64, len(h.lines))
	for name, l := range h.lines {
		if n := l.last(); n > 0 {
			counts[name] = n
		}
	}
	return counts
}

func (h *History) line(name Line) *line {
	l := h.lines[name]
	if l == nil {
		l = &line{waiting: map[uint64]*Operation{}}
		h.lines[name] = l
	}
	return l
}

// next returns the operation that comes after the complete ones of the line, nil when it is not known.
func (l *line) next() *Operation { return l.waiting[l.last()+1] }

// last returns the number of the newest complete operation of the line.
func (l *line) last() uint64 { return l.base + uint64(len(l.ops)) }

// at returns a complete operation, nil when the checkpoint stands for it.
func (l *line) at(n uint64) *Operation {
	if n <= l.base {
		return nil
	}
	return l.ops[n-l.base-1]
}

// accepts reports whether all that o has seen is complete, and o can have seen it: what its origin had settled contains
// all that this builds on, and its time comes after.
func (h *History) accepts(o *Operation) bool {
	latest := int64(latestTime)
	if h.base != nil {
		if !h.follows(o) {
			return false
		}
		latest = max(latest, h.base.Time+yearLater)
	}
	for name, n := range o.Seen {
		if n > h.Last(name) || name.over(o.Epoch) || name == o.Line() {
			return false
		}
		if n == 0 { // maybe of a line of which nothing is here
			continue
		}
		l := h.lines[name]
		seen := l.at(max(n, l.base))
		if seen == nil {
			continue
		}
		if seen.Time >= o.Time || !o.sawAllOf(seen) {
			return false
		}
		latest = max(latest, seen.Time+yearLater)
	}
	if l := h.lines[o.Line()]; o.Seq > l.base+1 {
		before := l.at(o.Seq - 1)
		if before.Time >= o.Time || !o.sawAllOf(before) {
			return false
		}
		latest = max(latest, before.Time+yearLater)
	}
	return o.Time >= 0 && o.Time <= latest
}

// follows reports whether o comes after the checkpoint and has seen all that everything beyond it has.
func (h *History) follows(o *Operation) bool {
	if o.Time < h.base.Time {
		return false
	}
	for name, n := range h.base.Firm {
		if name != o.Line() && !o.saw(name, n) {
			return false
		}
	}
	return true
}

// Outside reports whether an operation waits because it does not follow the checkpoint.
func (h *History) Outside() bool {
	if h.base == nil {
		return false
	}
	for _, l := range h.lines {
		if w := l.next(); w != nil && !h.follows(w) {
			return true
		}
	}
	return false
}

// sawAllOf reports whether o has seen all that seen has.
func (o *Operation) sawAllOf(seen *Operation) bool {
	for name, n := range seen.Seen {
		if !o.saw(name, n) {
			return false
		}
	}
	return true
}

func (h *History) insert(l *line, o *Operation) {
	delete(l.waiting, o.Seq)
	h.held--
	l.ops = append(l.ops, o)
	at, _ := slices.BinarySearchFunc(h.ordered, o, Compare)
	h.ordered = slices.Insert(h.ordered, at, o)
	h.name(o)
}

func (h *History) name(o *Operation) {
	other := h.byID[o.ID]
	if other != nil && Compare(o, other) != 0 {
		if h.twice == nil {
			h.twice = map[OperationID]bool{}
		}
		h.twice[o.ID] = true
	}
	if other == nil || Compare(o, other) < 0 {
		h.byID[o.ID] = o
	}
}

// A request that a site hands over again once its disk was set back, or does again itself, may be two operations: of two sites, or of two runs
// of an agent. Values may be set twice; what is added is added once, an action runs once, and a delete that has seen one create ends both.

// again reports whether another operation of the same request as o is among those that in selects.
func (h *History) again(o *Operation, in func(*Operation) bool) bool {
	return h.twice[o.ID] && slices.ContainsFunc(h.ordered, func(p *Operation) bool { return p != o && p.sameRequest(o) && in(p) })
}

// sameRequest reports whether two operations are what became of one request. Of one that a checkpoint keeps the body may be gone.
func (o *Operation) sameRequest(p *Operation) bool {
	return o.ID == p.ID && o.Type == p.Type && o.Method == p.Method && o.Path == p.Path
}

// Ordered returns the complete operations in the order that counts. The slice belongs to the history.
func (h *History) Ordered() []*Operation { return h.ordered }

// Len returns how many operations there are that no checkpoint stands for, those held back not counted.
func (h *History) Len() int {
	if h.base == nil {
		return len(h.ordered)
	}
	return len(h.ordered) - len(h.base.Kept) - len(h.base.Late)
}

// Held returns how many operations are held back.
func (h *History) Held() int { return h.held }

// Get returns a complete operation, nil when there is none of that id. Identifiers are for people and requests: two
// origins may have used one, and the first in order stands for it.
func (h *History) Get(id OperationID) *Operation { return h.byID[id] }

// holdsBack reports whether an operation of one of these lines is held back.
func (h *History) holdsBack(which func(Line) bool) bool {
	for name, l := range h.lines {
		if len(l.waiting) > 0 && which(name) {
			return true
		}
	}
	return false
}

// Last returns the number of the newest complete operation of a line, 0 when there is none.
func (h *History) Last(name Line) uint64 {
	l := h.lines[name]
	if l == nil {
		return 0
	}
	return l.last()
}

// issued returns the number of the newest operation of a line that is here, also where it is held back.
func (h *History) issued(name Line) uint64 {
	n := h.Last(name)
	if l := h.lines[name]; l != nil {
		for waiting := range l.waiting {
			n = max(n, waiting)
		}
	}
	return n
}

// Before reports whether a happened before b: b's origin had settled a when it issued b.
func (h *History) Before(a, b *Operation) bool {
	if a.Time >= b.Time { // spares most look-ups
		return false
	}
	switch {
	case a.Epoch+2 <= b.Epoch: // it is over there
		return true
	case a.Origin == b.Origin && a.Run == b.Run && a.Epoch == b.Epoch:
		return a.Seq < b.Seq
	}
	return a.Seq <= b.Seen[a.Line()]
}

// Concurrent reports whether neither happened before the other.
func (h *History) Concurrent(a, b *Operation) bool {
	return a != b && !h.Before(a, b) && !h.Before(b, a)
}

// Parents returns the newest operations that o's origin had settled when it issued o, sorted, as far as the checkpoint keeps
// them; nil for one that the checkpoint keeps.
func (h *History) Parents(o *Operation) []OperationID {
	if h.base.has(o) {
		return nil
	}
	var seen []*Operation
	add := func(name Line, n uint64) {
		l := h.lines[name]
		if l == nil || n == 0 || n > l.last() {
			return
		}
		if p := l.at(n); p != nil {
			seen = append(seen, p)
		} else if i := slices.IndexFunc(h.base.Late, func(p *Operation) bool { return p.Line() == name && p.Seq == n }); i >= 0 {
			seen = append(seen, h.base.Late[i])
		}
	}
	add(o.Line(), o.Seq-1)
	for name, n := range o.Seen {
		add(name, n)
	}
	if len(seen) == 0 && h.base != nil {
		return h.base.Newest
	}
	var ids []OperationID
	for _, p := range seen {
		if !slices.ContainsFunc(seen, func(q *Operation) bool { return h.Before(p, q) }) {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
