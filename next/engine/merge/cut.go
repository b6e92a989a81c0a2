package merge

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/next/engine"
	"github.com/skerry/skerry/next/engine/tree"
)

// cut returns how many operations of each origin a checkpoint may stand for: those that stable contains, with all that they
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
		outside = outside || !cut.Has(o.Origin, o.Number) || !cut.Contains(o.Seen) || hold != nil && hold(o)
		if outside && cut[o.Origin] >= o.Number {
			cut[o.Origin] = o.Number - 1
		}
	}
	maps.DeleteFunc(cut, func(_ engine.SiteID, n uint64) bool { return n == 0 })
	return cut
}

// late lists the operations within a checkpoint, in order, that must be kept as they are, because one beyond it is concurrent
// with them or what becomes of them hangs on such a one; it notes in c how many of each origin all those beyond have seen.
func (h *History) late(c *Checkpoint) []*engine.Operation {
	c.Firm = c.Seen.Clone()
	for _, o := range h.ordered {
		if c.Has(o) {
			continue
		}
		for origin, n := range c.Firm {
			switch {
			case o.Saw(origin, n):
			case origin == o.Origin:
				c.Firm[origin] = o.Number - 1
			default:
				c.Firm[origin] = o.Seen[origin]
			}
		}
	}
	late, firm := h.loose(c)
	for i := 0; i < len(late); i++ {
		// What adds to a number is counted together: either all of it was seen by who has set the number, or none.
		firm = slices.DeleteFunc(firm, func(o *engine.Operation) bool {
			hangs := h.binds(o, late[i]) || countsOn(o.Edit, late[i].Edit) && !before(o, late[i])
			if hangs {
				late = append(late, o)
			}
			return hangs
		})
	}
	if h.unsettles(c, late) {
		late = append(late, firm...)
	}
	slices.SortFunc(late, engine.Compare)
	return late
}

// unsettles reports whether a delete that is late, or comes after the checkpoint, may decide what becomes of others that everything
// later has seen. What it ends may have taken the place of something that it does not end, which there is where there are
// several creates; and while it may be reversed, what was passed over because of it may count after all.
func (h *History) unsettles(c *Checkpoint, late []*engine.Operation) bool {
	creates := slices.DeleteFunc(slices.Clone(h.creates), func(o *engine.Operation) bool { return !c.Has(o) })
	for _, d := range h.deletes {
		if !c.Has(d) && (h.reversible() || len(creates) > 1) || len(creates) > 1 && slices.Contains(late, d) {
			return true
		}
	}
	return false
}

// loose parts the operations within a checkpoint, but those that one keeps a part of already, into those that one beyond it
// has not seen, and the others.
func (h *History) loose(c *Checkpoint) (late, firm []*engine.Operation) {
	last := map[string]*engine.Operation{}
	if h.takesOne { // what has put opaque bytes is not always among what is folded: it may be to be put there once more
		last = h.Whole(Pick{In: c.Has}).Absolute
	}
	for _, o := range h.ordered {
		switch {
		case !c.Has(o):
		case h.base.Reduces(o): // everything later had seen it already: what was taken from it then stays so
		case o.Number > c.Firm[o.Origin], last[o.Path] == o:
			late = append(late, o)
		default:
			firm = append(firm, o)
		}
	}
	return late, firm
}

// binds reports whether what becomes of one of two operations may hang on the other one: by a rule, a fact, or as a delete and
// the change that reverses it.
func (h *History) binds(a, b *engine.Operation) bool {
	if engine.Compare(b, a) < 0 {
		a, b = b, a
	}
	if !concurrent(a, b) {
		return false
	}
	reverses := h.reversible() && (a.Type == engine.TypeDelete) != (b.Type == engine.TypeDelete)
	sameBytes := a.Type == engine.TypeAbsolute && b.Type == engine.TypeAbsolute && a.Path == b.Path && a.Edit != nil
	return reverses || sameBytes || h.facts[engine.Fact{Earlier: a.ID, Later: b.ID}] || takes(h.kind, a, b, engine.TakeOne)
}

// countsOn reports whether e adds to a number that other sets.
func countsOn(e, other *engine.Edit) bool {
	if e == nil || other == nil {
		return false
	}
	for p := range e.Add {
		if setsAt(other, p) {
			return true
		}
	}
	return false
}

// shed takes out of a fold for a checkpoint that paths were removed, but for those that were last: everything later has seen
// that, and all sites have done it. What one of late sets or adds to stays as it is: it is to stay removed.
func (f *Fold) shed(adding map[engine.Pointer][]*engine.Operation, late []*engine.Operation) {
	var removed []engine.Pointer
	for p, cell := range f.Cells {
		touches := func(o *engine.Operation) bool { return o.Edit != nil && (o.Edit.Whole || tree.Touches(o.Edit, p)) }
		if cell.Value == nil && adding[p] == nil && !slices.ContainsFunc(late, touches) {
			removed = append(removed, p)
		}
	}
	slices.Sort(removed)
	slices.SortStableFunc(removed, func(p, q engine.Pointer) int { return engine.Compare(f.Cells[p].By, f.Cells[q].By) })
	for _, p := range removed[:max(0, len(removed)-maxRemoved)] {
		f.remove(p)
	}
}
