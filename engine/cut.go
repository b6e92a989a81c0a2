package engine

import (
	"maps"
	"slices"
)

// cut returns how many operations of each line a checkpoint may stand for: those that stable contains, with all that they have
// seen, up to the first in order that it does not.
func (h *History) cut(stable map[Line]uint64) map[Line]uint64 {
	cut := make(map[Line]uint64, len(stable))
	maps.Copy(cut, stable)
	if h.base != nil {
		for name, n := range h.base.Seen {
			cut[name] = max(n, cut[name])
		}
	}
	within := func(o *Operation) bool { return h.base.has(o) || o.Seq <= cut[o.Line()] }
	outside := false
	for _, o := range h.ordered { // one comes after all that it has seen
		if h.base.has(o) {
			continue
		}
		for name, n := range o.Seen {
			outside = outside || n > cut[name]
		}
		if outside = outside || !within(o); outside {
			if n := cut[o.Line()]; n >= o.Seq {
				cut[o.Line()] = o.Seq - 1
			}
		}
	}
	return cut
}

// late lists the operations within a cut, in order, that must be kept as they are, because one beyond it is concurrent with them
// or what becomes of them hangs on such a one; it notes in base how many of each line all those beyond have seen.
func (h *History) late(base *Checkpoint, within func(*Operation) bool) []*Operation {
	base.Firm = maps.Clone(base.Seen)
	for _, o := range h.ordered {
		if within(o) {
			continue
		}
		for name, n := range base.Firm {
			switch {
			case o.saw(name, n):
			case name == o.Line():
				base.Firm[name] = o.Seq - 1
			default:
				base.Firm[name] = o.Seen[name]
			}
		}
	}
	var late, firm []*Operation
	last := map[string]*Operation{}
	if h.kind.takesOne() { // what has put opaque bytes is not always among what is folded: it may be to be put there once more
		last = FoldOf(h, within).Absolute
	}
	for _, o := range h.ordered {
		switch n, named := base.Firm[o.Line()]; {
		case !within(o):
		case h.base.reduces(o): // everything later had seen it already: what was taken from it then stays so
		case named && o.Seq > n, last[o.Path] == o:
			late = append(late, o)
		default:
			firm = append(firm, o)
		}
	}
	for i := 0; i < len(late); i++ {
		// What adds to a number is counted together: either all of it was seen by who has set the number, or none.
		firm = slices.DeleteFunc(firm, func(o *Operation) bool {
			hangs := h.binds(o, late[i]) || o.Change.counts(late[i].Change) && !h.Before(o, late[i])
			if hangs {
				late = append(late, o)
			}
			return hangs
		})
	}
	deletes := slices.ContainsFunc(late, func(o *Operation) bool { return o.Type == TypeDelete })
	creates := h.all(func(o *Operation) bool { return within(o) && o.Type == TypeCreate })
	// What a delete ends may have taken the place of something that it does not end; and while one may be reversed, what was
	// passed over because of it may count after all.
	if deletes && len(creates) > 1 || h.reversible() && slices.ContainsFunc(h.ordered, func(o *Operation) bool { return o.Type == TypeDelete && !within(o) }) {
		late = append(late, firm...)
	}
	slices.SortFunc(late, Compare)
	return late
}

// binds reports whether what becomes of one of two operations may hang on the other one: by a rule, a fact, or as a delete and
// the change that reverses it.
func (h *History) binds(a, b *Operation) bool {
	if Compare(b, a) < 0 {
		a, b = b, a
	}
	if !h.Concurrent(a, b) {
		return false
	}
	reverses := h.reversible() && (a.Type == TypeDelete) != (b.Type == TypeDelete)
	sameBytes := a.Type == TypeAbsolute && b.Type == TypeAbsolute && a.Path == b.Path && a.Change != nil
	return reverses || sameBytes || h.facts[Fact{a.ID, b.ID}] || h.kind.takes(a, b, TakeOne)
}

// reversible reports whether a change may take a delete away.
func (h *History) reversible() bool {
	return h.kind != nil && (h.kind.UpdateWins || len(h.kind.Resolutions) > 0)
}

// counts reports whether c adds to a number that d sets.
func (c *Change) counts(d *Change) bool {
	if c == nil || d == nil {
		return false
	}
	for p := range c.Add {
		if _, set := d.Set[p]; set || d.Whole || slices.Contains(d.Unset, p) {
			return true
		}
	}
	return false
}
