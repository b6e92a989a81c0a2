package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// Living returns, in order, the operations of h for which in is true and that no delete among them has ended. A delete ends
// the creates that it has seen: it never discards a create it did not see. Any else lives as long as one of the
// creates that it builds on, whether or not in is true for that one, so that a delete wins over the changes that are
// concurrent with it.
func (h *History) Living(in func(*engine.Operation) bool) []*engine.Operation {
	creates := h.creates
	if len(h.deletes) > 0 {
		var deletes []*engine.Operation
		for _, d := range h.deletes {
			if in(d) && !h.Reversed(d, in) {
				deletes = append(deletes, d)
			}
		}
		creates = nil
		for _, c := range h.creates {
			if !slices.ContainsFunc(deletes, func(d *engine.Operation) bool { return before(c, d) }) {
				creates = append(creates, c)
			}
		}
	}
	living := make([]*engine.Operation, 0, len(h.ordered))
	for _, o := range h.ordered {
		if o.Type == engine.TypeDelete || o.Type == engine.TypePlace || o.Copy || !in(o) {
			continue
		}
		for _, c := range creates {
			if c == o || o.Type != engine.TypeCreate && before(c, o) {
				living = append(living, o)
				break
			}
		}
	}
	return living
}

// Born is the create by which a resource has its name: the first in order of those that live, where in selects what counts.
// Nil: the resource does not exist.
func (h *History) Born(in func(*engine.Operation) bool) *engine.Operation {
	for _, o := range h.creates {
		ended := func(d *engine.Operation) bool { return in(d) && before(o, d) && !h.Reversed(d, in) }
		if in(o) && !slices.ContainsFunc(h.deletes, ended) {
			return o
		}
	}
	return nil
}

// Exists reports whether the resource is there after the operations for which in is true.
func (h *History) Exists(in func(*engine.Operation) bool) bool { return h.Born(in) != nil }

// Reversed reports whether a change for which in is true takes a delete away: one that is concurrent with it, builds on a
// create that it has seen, and goes before it by a rule for the two or, without one, by the kind's rule for deletes.
func (h *History) Reversed(d *engine.Operation, in func(*engine.Operation) bool) bool {
	if !h.reversible() {
		return false
	}
	for _, u := range h.ordered {
		switch u.Type {
		case engine.TypeCreate, engine.TypeDelete, engine.TypePlace:
			continue
		}
		if !u.Copy && in(u) && concurrent(u, d) && h.beats(u, d) && h.shareCreate(u, d) {
			return true
		}
	}
	return false
}

// reversible reports whether a change may take a delete away.
func (h *History) reversible() bool { return h.kind.UpdateWins || len(h.kind.Resolutions) > 0 }

// beats reports whether a change takes away a concurrent delete.
func (h *History) beats(u, d *engine.Operation) bool {
	earlier, later := u, d
	if engine.Compare(d, u) < 0 {
		earlier, later = d, u
	}
	if takes(h.kind, earlier, later, engine.TakeOne) {
		return later == u
	}
	return h.kind.UpdateWins
}

func (h *History) shareCreate(a, b *engine.Operation) bool {
	return slices.ContainsFunc(h.creates, func(c *engine.Operation) bool { return before(c, a) && before(c, b) })
}

// Loss says that an operation has lost all it does to a later one.
type Loss struct {
	By   *engine.Operation
	Rule string // in words
}

// Effective returns the living operations that no later one has taken the effect of, in order, and what the others have lost
// it to. An operation loses only to a later, concurrent one that has not lost itself, so it is decided from the end. What has
// lost its effect still counts for the existence of what builds on it.
func (h *History) Effective(p Pick) ([]*engine.Operation, map[*engine.Operation]Loss) {
	living := h.Living(p)
	if !h.Contests() && (h.base == nil || len(h.base.Lost) == 0) {
		return living, nil
	}
	lost := map[*engine.Operation]Loss{}
	winners := map[engine.Line][]*engine.Operation{} // those later than the one that is decided, latest first
	for _, o := range slices.Backward(living) {
		if h.base.Reduces(o) { // it has been decided
			if slices.Contains(h.base.Lost, o.ID) {
				lost[o] = Loss{By: o}
			} else {
				winners[o.Line] = append(winners[o.Line], o)
			}
			continue
		}
		if to := h.loss(o, winners); to.By != nil {
			lost[o] = to
		} else {
			winners[o.Line] = append(winners[o.Line], o)
		}
	}
	return slices.DeleteFunc(living, func(o *engine.Operation) bool { _, has := lost[o]; return has }), lost
}

// loss finds the latest of the winners that o loses its effect to.
func (h *History) loss(o *engine.Operation, winners map[engine.Line][]*engine.Operation) (to Loss) {
	for _, line := range winners {
		for _, w := range slices.Backward(line) {
			if before(o, w) { // and so are those that follow in its line
				break
			}
			if rule := h.Loses(o, w); rule != "" && (to.By == nil || engine.Compare(to.By, w) < 0) {
				to = Loss{w, rule}
			}
		}
	}
	return to
}

// Contests reports whether an operation may lose its effect to another one, by a rule of the kind.
func (h *History) Contests() bool { return h.takesOne }

// Loses returns the rule by which o loses its effect to the later w, in words; empty for none.
func (h *History) Loses(o, w *engine.Operation) string {
	r := resolution(h.kind, o, w)
	one := r != nil && r.Take == engine.TakeOne
	sameBytes := r == nil && o.Type == engine.TypeAbsolute && w.Type == engine.TypeAbsolute && o.Path == w.Path
	switch {
	case !one && !sameBytes, before(o, w):
		return ""
	case one:
		return r.String()
	}
	return "the later bytes count"
}
