package merge

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// compaction makes a checkpoint.
type compaction struct {
	h       *History
	c       *Checkpoint
	refused func(*engine.Operation) bool
	// late tells which operations within the checkpoint stay as they are.
	late func(*engine.Operation) bool
}

// Compact puts a checkpoint in the place of the first operations in order that stable contains, up to the first for which hold
// is true (nil: none). Refused tells which of them a site has not applied, so that they go on being shown. It reports whether
// there were any.
func (h *History) Compact(stable engine.Vector, refused, hold func(*engine.Operation) bool) bool {
	c := &Checkpoint{Seen: h.cut(stable, hold)}
	for h.apart(c.Seen) {
		c.Seen = h.cut(c.Seen, hold)
	}
	m := compaction{h: h, c: c, refused: refused}
	fresh := h.All(func(o *engine.Operation) bool { return c.Has(o) && !h.base.Has(o) })
	if len(fresh) == 0 {
		return false
	}
	if old := h.base; old != nil {
		c.Count, c.First, c.Time, c.MergeType = old.Count+uint64(len(old.Kept)+len(old.Late)), old.First, old.Time, old.MergeType
	}
	m.findLate()
	m.keep()
	m.describe(fresh)
	c.Count += uint64(len(fresh) - len(c.Kept) - len(c.Late))
	c.Superseded = newest(h.Whole(c.Has).Superseded, maxSuperseded)
	h.Stand(c)
	return true
}

// describe notes when the operations of a checkpoint were, and which came last.
func (m *compaction) describe(fresh []*engine.Operation) {
	h, c := m.h, m.c
	if h.base == nil {
		c.First = fresh[0].Time
	}
	for _, o := range fresh {
		c.Time = max(c.Time, o.Time)
		if c.MergeType == "" {
			c.MergeType = mergeType(o)
		}
	}
	c.Newest = tips(fresh, m.late)
	if c.Newest == nil && h.base != nil {
		c.Newest = h.base.Newest
	}
}

// tips are those of a list in order that are not late and that no other of them has seen, sorted.
func tips(ordered []*engine.Operation, late func(*engine.Operation) bool) []engine.OperationID {
	var ids []engine.OperationID
	over := engine.Vector{} // what later ones have seen
	for _, o := range slices.Backward(ordered) {
		if late(o) {
			continue
		}
		if !over.Has(o.Line, o.Number) {
			ids = append(ids, o.ID)
		}
		over.Join(o.Before())
	}
	slices.Sort(ids)
	return ids
}

// cut returns how many operations of each line a checkpoint may stand for: those that stable contains, with all that they
// have seen, up to the first in order that it does not, or that is held.
func (h *History) cut(stable engine.Vector, hold func(*engine.Operation) bool) engine.Vector {
	cut := engine.Meet(stable, h.Complete())
	if h.base != nil {
		cut.Join(h.base.Seen)
	}
	outside := false
	for _, o := range h.ordered { // one comes after all that it has seen
		if h.base.Has(o) {
			continue
		}
		outside = outside || !cut.Has(o.Line, o.Number) || !cut.Contains(o.Seen) || hold != nil && hold(o)
		if outside && cut[o.Line] >= o.Number {
			cut[o.Line] = o.Number - 1
		}
	}
	maps.DeleteFunc(cut, func(_ engine.Line, n uint64) bool { return n == 0 })
	return cut
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
