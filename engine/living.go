package engine

import "slices"

// pick selects operations of a history, and which of the facts about them count.
type pick struct {
	in   func(*Operation) bool
	fact func(Fact) bool // nil: all
}

// anyOperation selects all that is known.
func anyOperation(*Operation) bool { return true }

// everything is all that is known.
var everything = pick{in: anyOperation}

func (p pick) or(ops ...*Operation) pick {
	set := among(ops)
	return pick{in: func(o *Operation) bool { return p.in(o) || set(o) }, fact: p.fact}
}

// among returns what selects the operations of a list.
func among(ops []*Operation) func(*Operation) bool {
	set := make(map[*Operation]bool, len(ops))
	for _, o := range ops {
		set[o] = true
	}
	return func(o *Operation) bool { return set[o] }
}

// within returns what selects the operations of a list that is in order.
func within(ordered []*Operation) func(*Operation) bool {
	return func(o *Operation) bool {
		_, found := slices.BinarySearchFunc(ordered, o, Compare)
		return found
	}
}

// Living returns, in order, the operations of h for which in is true and that no delete among them has ended. A
// delete ends the creates that it has seen: it never discards a create it did not see. Everything else lives as long
// as one of the creates that it builds on, whether or not in is true for that one, so that a delete wins over the
// changes that are concurrent with it.
func (h *History) Living(in func(*Operation) bool) []*Operation {
	var deletes, creates []*Operation
	living := make([]*Operation, 0, len(h.ordered))
	for _, o := range h.ordered {
		if o.Type == TypeDelete && in(o) && !h.reversed(o, in) {
			deletes = append(deletes, o)
		}
	}
	for _, o := range h.ordered {
		if o.Type == TypeCreate && !slices.ContainsFunc(deletes, func(d *Operation) bool { return h.discards(d, o) }) {
			creates = append(creates, o)
		}
	}
	for _, o := range h.ordered {
		if o.Type == TypeDelete || o.Type == TypePlace || !in(o) {
			continue
		}
		if slices.ContainsFunc(creates, func(c *Operation) bool { return c == o || h.Before(c, o) && o.Type != TypeCreate }) {
			living = append(living, o)
		}
	}
	return living
}

// discards reports whether the delete d ends a create: it has seen that, or another operation of the same request.
func (h *History) discards(d, create *Operation) bool {
	return h.Before(create, d) || h.again(create, func(p *Operation) bool { return h.Before(p, d) })
}

// born is the create by which a resource has its name: the first in order of those that live, where in selects what counts.
// Nil: the resource does not exist.
func (h *History) born(in func(*Operation) bool) *Operation {
	for _, o := range h.ordered {
		if o.Type != TypeCreate || !in(o) {
			continue
		}
		ended := func(d *Operation) bool {
			return d.Type == TypeDelete && in(d) && h.discards(d, o) && !h.reversed(d, in)
		}
		if !slices.ContainsFunc(h.ordered, ended) {
			return o
		}
	}
	return nil
}

// exists reports whether the resource is there after the operations for which in is true.
func (h *History) exists(in func(*Operation) bool) bool { return h.born(in) != nil }

// reversed reports whether a change for which in is true takes a delete away: one that is concurrent with it, builds on a
// create that it has seen, and goes before it by a rule for the two or, without one, by the kind's rule for deletes.
func (h *History) reversed(d *Operation, in func(*Operation) bool) bool {
	if h.kind == nil || !h.kind.UpdateWins && len(h.kind.Resolutions) == 0 {
		return false
	}
	return slices.ContainsFunc(h.ordered, func(u *Operation) bool {
		return u.Type != TypeCreate && u.Type != TypeDelete && u.Type != TypePlace && in(u) && h.Concurrent(u, d) && h.beats(u, d) && h.sharesCreate(u, d)
	})
}

// beats reports whether a change takes away a concurrent delete.
func (h *History) beats(u, d *Operation) bool {
	earlier, later := u, d
	if Compare(d, u) < 0 {
		earlier, later = d, u
	}
	if h.kind.takes(earlier, later, TakeOne) {
		return later == u
	}
	return h.kind.UpdateWins
}

func (h *History) sharesCreate(a, b *Operation) bool {
	return slices.ContainsFunc(h.ordered, func(c *Operation) bool {
		return c.Type == TypeCreate && h.Before(c, a) && h.Before(c, b)
	})
}

// loss says that an operation has lost all it does to a later one.
type loss struct {
	by   *Operation
	rule string
}

// effective returns the living operations that no later one has taken the effect of, in order, and what the others have lost it
// to. An operation loses only to a later, concurrent one that has not lost itself, so it is decided from the end.
// What has lost its effect still counts for the existence of what builds on it.
func (h *History) effective(p pick) ([]*Operation, map[*Operation]loss) {
	living := h.Living(p.in)
	if !h.kind.takesOne() && len(h.facts) == 0 && (h.base == nil || len(h.base.Lost) == 0) {
		return living, nil
	}
	lost := map[*Operation]loss{}
	winners := map[Line][]*Operation{} // those later than the one that is decided, latest first
	for _, o := range slices.Backward(living) {
		if h.base.reduces(o) { // it has been decided
			if slices.Contains(h.base.Lost, o.ID) {
				lost[o] = loss{by: o}
			} else {
				winners[o.Line()] = append(winners[o.Line()], o)
			}
			continue
		}
		var to loss
		for _, line := range winners {
			for _, w := range slices.Backward(line) {
				if h.Before(o, w) { // and so are those that follow in its line
					break
				}
				if rule := h.loses(o, w, p); rule != "" && (to.by == nil || Compare(to.by, w) < 0) {
					to = loss{w, rule}
				}
			}
		}
		if to.by != nil {
			lost[o] = to
		} else {
			winners[o.Line()] = append(winners[o.Line()], o)
		}
	}
	return slices.DeleteFunc(living, func(o *Operation) bool { _, has := lost[o]; return has }), lost
}

// loses returns the rule by which o loses its effect to the later w, empty for none.
func (h *History) loses(o, w *Operation, p pick) string {
	f := Fact{o.ID, w.ID}
	refused := h.facts[f] && (p.fact == nil || p.fact(f))
	r := h.kind.resolution(o, w)
	one := r != nil && r.Take == TakeOne
	sameBytes := r == nil && o.Type == TypeAbsolute && w.Type == TypeAbsolute && o.Path == w.Path
	switch {
	case !refused && !one && !sameBytes, h.Before(o, w):
		return ""
	case refused:
		return "an application refused the two together"
	case one:
		return r.String()
	}
	return "the later bytes count"
}

func (k *Kind) takesOne() bool {
	return k != nil && slices.ContainsFunc(k.Resolutions, func(r Resolution) bool { return r.Take == TakeOne })
}

// LateUndeclared reports whether what the application shows may differ between sites by the order in which they ran actions:
// one whose effect the catalog does not declare lives, and is concurrent with something that it does not commute with.
func (h *History) LateUndeclared() bool {
	counting, _ := h.effective(everything)
	return slices.ContainsFunc(counting, func(a *Operation) bool {
		return a.Type == TypeAction && a.Change == nil && slices.ContainsFunc(counting, func(o *Operation) bool {
			earlier, later := a, o
			if Compare(o, a) < 0 {
				earlier, later = o, a
			}
			return h.Concurrent(a, o) && !h.kind.takes(earlier, later, TakeBothAnyOrder)
		})
	})
}
