package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// findLate finds the operations within the checkpoint, in order, that must be kept as they are, because one beyond it is
// concurrent with them or what becomes of them hangs on such a one; it notes how many of each line all those beyond have seen.
func (m *compaction) findLate() {
	h, c := m.h, m.c
	c.Firm = c.Seen.Clone()
	for _, o := range h.ordered {
		if c.Has(o) {
			continue
		}
		for line, n := range c.Firm {
			switch {
			case o.Saw(line, n):
			case line == o.Line:
				c.Firm[line] = o.Number - 1
			default:
				c.Firm[line] = o.Seen[line]
			}
		}
	}
	late, firm := m.loose()
	for i := 0; i < len(late); i++ {
		arranging := arranges(h.kind, late[i])
		// What adds to a number is counted together: either all of it was seen by who has set the number, or none. What comes into a list after
		// something that may yet come out of it, or in between, finds its place anew. What was deleted stays so.
		firm = slices.DeleteFunc(firm, func(o *engine.Operation) bool {
			hangs := h.binds(o, late[i]) || countsOn(o.Edit, late[i].Edit) && !before(o, late[i]) ||
				arranging && engine.Compare(late[i], o) < 0 && arranges(h.kind, o) ||
				o.Type == engine.TypeDelete && before(late[i], o)
			if hangs {
				late = append(late, o)
			}
			return hangs
		})
	}
	if m.unsettled(late) {
		late = append(late, firm...)
	}
	slices.SortFunc(late, engine.Compare)
	c.Late, m.late = late, Among(late)
}

// unsettled reports whether a delete that is late, or comes after the checkpoint, may decide what becomes of others that
// everything later has seen. What it ends may have taken the place of something that it does not end, which there is where there
// are several creates; and while it may be reversed, what was passed over because of it may count after all.
func (m *compaction) unsettled(late []*engine.Operation) bool {
	h, c := m.h, m.c
	creates := slices.DeleteFunc(slices.Clone(h.creates), func(o *engine.Operation) bool { return !c.Has(o) })
	for _, d := range h.deletes {
		if !c.Has(d) && (h.reversible() || len(creates) > 1) || len(creates) > 1 && slices.Contains(late, d) {
			return true
		}
	}
	return false
}

// loose parts the operations within the checkpoint, but those that one keeps a part of already, into those that one beyond it
// has not seen, and the others.
func (m *compaction) loose() (late, firm []*engine.Operation) {
	h, c := m.h, m.c
	last := map[string]*engine.Operation{}
	if h.takesOne { // what has put opaque bytes is not always among what is folded: it may be to be put there once more
		last = h.Whole(c.Has).Absolute
	}
	for _, o := range h.ordered {
		switch {
		case !c.Has(o), o.Copy:
		case h.base.Reduces(o): // everything later had seen it already: what was taken from it then stays so
		case !o.In(c.Firm), last[o.Path] == o:
			late = append(late, o)
		default:
			firm = append(firm, o)
		}
	}
	return late, firm
}

// binds reports whether what becomes of one of two operations may hang on the other one: by a rule, or as a delete and
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
	return reverses || sameBytes || takes(h.kind, a, b, engine.TakeOne)
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
