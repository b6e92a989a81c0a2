package merge

import (
	"cmp"
	"slices"

	"github.com/skerry/skerry/next/engine"
)

// Checkpoint stands in a history for its first operations in order, all of which every site has settled. Nothing that comes
// after is unheard and concurrent with one of them. So it keeps those that a known, later one is concurrent with as they are,
// and of the others, which everything later has seen, what still counts of each. It is not changed once made.
type Checkpoint struct {
	// Seen counts the operations that it stands for, Firm those of them that every later operation has seen.
	Seen, Firm engine.Vector
	// Time is the newest of their times, First the oldest: of the resource's creation.
	Time, First int64
	// Count is how many they are, those that are kept not counted.
	Count uint64
	// Newest are those of the firm ones that came last and that no other of them has seen.
	Newest []engine.OperationID
	// Kept are those that everything later has seen and that still count, in order, each with that part of its Edit that
	// nothing has taken the place of: the living creates, with bodies of which the object can be made anew; the last opaque
	// bytes of each path; an action of unknown effect; those that a site has refused or is to apply once more, deletes with
	// the creates that they have ended and the last other delete of each; those that have changed the placement.
	Kept []*engine.Operation
	// Lost are those of Kept that have lost their effect, sorted.
	Lost []engine.OperationID
	// Late are the others, as they are, in order.
	Late []*engine.Operation
	// Order is in which order keyed arrays have their elements.
	Order map[engine.Pointer][]string
	// Superseded are the newest of the values that they have taken from each other.
	Superseded []engine.Superseded
	// Whereabouts tells where the resources are that they refer to.
	Whereabouts []engine.Whereabouts
	// Placed is the placement.
	Placed *Placed
	// MergeType is the media type that clients have sent merge patches with.
	MergeType string
	// Facts are those about operations that it keeps as they are.
	Facts []engine.Fact
}

// A checkpoint keeps so many superseded values, with at most so many bytes, removed paths and refused operations.
const (
	maxSuperseded      = 100
	maxSupersededBytes = 256 << 10
	maxRemoved         = 100
	maxRefused         = 32
)

// Has reports whether c stands for operation o, or keeps it. A nil *Checkpoint has none.
func (c *Checkpoint) Has(o *engine.Operation) bool { return c != nil && c.Seen.Has(o.Origin, o.Number) }

// Reduces reports whether c keeps o with a part of its Edit only.
func (c *Checkpoint) Reduces(o *engine.Operation) bool {
	if c == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(c.Kept, o, engine.Compare)
	return found
}

// KeepsValues reports whether c keeps of an action what still counts of what it sets and adds, and not what to send.
func (c *Checkpoint) KeepsValues(o *engine.Operation) bool {
	return o.Type == engine.TypeAction && o.Edit != nil && c.Reduces(o)
}

// late returns one of those that c keeps as they are.
func (c *Checkpoint) late(origin engine.SiteID, n uint64) *engine.Operation {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Late, func(o *engine.Operation) bool { return o.Origin == origin && o.Number == n })
	if i < 0 {
		return nil
	}
	return c.Late[i]
}

// Base returns the checkpoint that stands for the first operations, nil for none.
func (h *History) Base() *Checkpoint { return h.base }

// Compact puts a checkpoint in the place of the first operations in order that stable contains, up to the first for which hold
// is true (nil: none). Refused tells which of them a site has not applied, so that they go on being shown. It reports whether
// there were any.
func (h *History) Compact(stable engine.Vector, refused, hold func(*engine.Operation) bool) bool {
	c := &Checkpoint{Seen: h.cut(stable, hold)}
	fresh := h.All(func(o *engine.Operation) bool { return c.Has(o) && !h.base.Has(o) })
	if len(fresh) == 0 {
		return false
	}
	if old := h.base; old != nil {
		c.Count, c.First, c.Time, c.MergeType = old.Count+uint64(len(old.Kept)+len(old.Late)), old.First, old.Time, old.MergeType
	}
	late := h.late(c)
	c.keep(h, late, refused)
	c.describe(h, fresh, Among(late))
	c.Count += uint64(len(fresh) - len(c.Kept) - len(c.Late))
	c.Superseded = newest(h.Whole(Pick{In: c.Has}).Superseded, maxSuperseded)
	h.Stand(c)
	return true
}

// describe notes when the operations of a checkpoint were, and which came last.
func (c *Checkpoint) describe(h *History, fresh []*engine.Operation, late func(*engine.Operation) bool) {
	if h.base == nil {
		c.First = fresh[0].Time
	}
	for _, o := range fresh {
		c.Time = max(c.Time, o.Time)
		if c.MergeType == "" {
			c.MergeType = mergeType(o)
		}
	}
	c.Newest = tips(fresh, late)
	if c.Newest == nil && h.base != nil {
		c.Newest = h.base.Newest
	}
	for f := range h.facts {
		if h.Counts(f) && (late(h.Get(f.Earlier)) || late(h.Get(f.Later))) {
			c.Facts = append(c.Facts, f)
		}
	}
	slices.SortFunc(c.Facts, compareFacts)
}

// tips are those of a list in order that are not late and that no other of them has seen, sorted.
func tips(ordered []*engine.Operation, late func(*engine.Operation) bool) []engine.OperationID {
	var ids []engine.OperationID
	over := engine.Vector{} // what later ones have seen
	for _, o := range slices.Backward(ordered) {
		if late(o) {
			continue
		}
		if !over.Has(o.Origin, o.Number) {
			ids = append(ids, o.ID)
		}
		over.Join(o.Before())
	}
	slices.Sort(ids)
	return ids
}

// Stand makes h consist of a checkpoint, which stands for at least all that the one before it does, and the operations that
// follow it, beside those that wait.
func (h *History) Stand(c *Checkpoint) {
	rest := h.All(func(o *engine.Operation) bool { return !c.Has(o) })
	h.base = c
	h.folded = folded{}
	for origin, n := range c.Seen {
		h.line(origin).stand(n)
	}
	h.held = 0
	for _, l := range h.lines {
		h.held += len(l.waiting)
	}
	h.ordered, h.creates, h.deletes, h.placed, h.adding = slices.Concat(c.Kept, c.Late, rest), nil, nil, nil, 0
	slices.SortFunc(h.ordered, engine.Compare)
	clear(h.byID)
	for _, o := range h.ordered {
		h.know(o)
	}
	for _, f := range c.Facts {
		h.AddFact(f)
	}
	h.release()
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

// newest returns those of a list of lost values that were lost last, at most n of them and maxSupersededBytes: identifiers of
// operations rise with time.
func newest(lost []engine.Superseded, n int) []engine.Superseded {
	lost = slices.Clone(lost)
	slices.SortFunc(lost, func(a, b engine.Superseded) int { return cmp.Or(cmp.Compare(a.Over, b.Over), compareSuperseded(a, b)) })
	lost = lost[max(0, len(lost)-n):]
	size := 0
	for i, s := range slices.Backward(lost) {
		if size += len(s.Value); size > maxSupersededBytes {
			lost = lost[i+1:]
			break
		}
	}
	slices.SortFunc(lost, compareSuperseded)
	return lost
}
