package engine

import (
	"encoding/json"
	"slices"
)

// What has been sent and is not settled may be there or not. As long as its operations are not settled, no one can
// tell by what is settled which values the application shows at the paths that they set.

// doubt remembers, before a request goes out, that the values of ops may reach the application. Also one that is done may be
// so without a trace, when that cannot be recorded.
func (s *Site) doubt(ops ...*Operation) {
	for _, o := range ops {
		s.unsure.Store(o.ID, true)
	}
}

// certain forgets that, since ops are settled.
func (s *Site) certain(ops ...*Operation) {
	for _, o := range ops {
		s.unsure.Delete(o.ID)
	}
}

// restoring returns what sets every path that one of ops touches to what f shows there, and takes away what was there in one of earlier.
func (f Fold) restoring(ops []*Operation, earlier ...Fold) *Change {
	var touched []Pointer
	for _, o := range ops {
		if o.Change != nil {
			touched = slices.Concat(touched, sortedPointers(o.Change.Set), o.Change.Unset, sortedPointers(o.Change.Add))
		}
	}
	for _, was := range earlier {
		for p := range was.paths() {
			if slices.ContainsFunc(touched, func(q Pointer) bool { return q.Contains(p) }) {
				touched = append(touched, p)
			}
		}
	}
	c := &Change{Order: f.order}
	now := f.paths()
	for _, p := range touched {
		if parent := p.parent(); now[p] == nil && (parent == "" || isContainer(now[parent])) && !slices.Contains(c.Unset, p) {
			c.Unset = append(c.Unset, p)
		}
	}
	slices.Sort(c.Unset)
	for q, v := range now {
		if slices.ContainsFunc(touched, func(p Pointer) bool { return p.Contains(q) || q.Contains(p) && !isContainer(v) }) {
			c.set(q, v)
		}
	}
	return c
}

// and returns c together with what other sets and removes beside it.
func (c *Change) and(other *Change) *Change {
	for p, v := range other.Set {
		if _, ok := c.Set[p]; !ok {
			c.set(p, v)
		}
	}
	for _, p := range other.Unset {
		if !slices.Contains(c.Unset, p) {
			c.Unset = append(c.Unset, p)
		}
	}
	slices.Sort(c.Unset)
	return c
}

func (c *Change) set(p Pointer, v json.RawMessage) {
	if c.Set == nil {
		c.Set = map[Pointer]json.RawMessage{}
	}
	c.Set[p] = v
}

// withoutAnswer returns those of ops whose values may have reached the application though they are not settled, and what may
// have come or gone with them.
func (s Standing) withoutAnswer(h *History, ops []*Operation) []*Operation {
	if s.Unsure == nil {
		return nil
	}
	unsure := slices.DeleteFunc(slices.Clone(ops), func(o *Operation) bool { return s.Settled(o) || !s.Unsure(o) })
	return h.touching(unsure, s.Settled)
}

// hadItsTurn reports whether an action may have been sent: what it has seen has run.
func (h *History) hadItsTurn(s Standing, o *Operation) bool {
	return !slices.ContainsFunc(h.ordered, func(p *Operation) bool {
		return h.Before(p, o) && !s.Settled(p) && (s.Ran == nil || !s.Ran(p))
	})
}

// touching returns the operations whose values may come or go with ops: under rules by which one operation takes the effect of
// another away, these are all that may lose theirs to one of ops, or get it back, one leading to the other, and of those that only add to
// numbers the settled ones whose effect comes or goes: a lost run may have added more that has yet to come back. What nothing of this can
// take away stays as the application shows it: an action of which nobody knows what it sets may have changed it since.
func (h *History) touching(ops []*Operation, settled func(*Operation) bool) []*Operation {
	if k := h.kind; len(ops) == 0 || len(h.facts) == 0 && (k == nil || len(k.Resolutions) == 0 && !k.ReplaceWhole && !k.UpdateWins) {
		return ops
	}
	is := among(ops)
	without, _ := h.effective(pick{in: func(o *Operation) bool { return settled(o) && !is(o) }})
	with, _ := h.effective(pick{in: func(o *Operation) bool { return settled(o) || is(o) }})
	had, has, moves := within(without), within(with), h.moving(ops)
	return h.all(func(o *Operation) bool {
		return is(o) || o.Change != nil && (len(o.Change.Set)+len(o.Change.Unset) > 0 && moves(o) || had(o) != has(o))
	})
}

// moving tells which operations may lose their effect to one of ops, or get it back, directly or by way of another one. With a delete
// that comes or goes and leaves one of several creates everything may; one that leaves none takes the object away, or does nothing to it.
func (h *History) moving(ops []*Operation) func(*Operation) bool {
	moves := map[*Operation]bool{}
	for next := slices.Clone(ops); len(next) > 0; next = next[1:] {
		by := next[0]
		leaves := func(o *Operation) bool { return o.Type == TypeCreate && !h.discards(by, o) }
		if by.Type == TypeDelete && slices.ContainsFunc(h.ordered, leaves) {
			return anyOperation
		}
		for _, o := range h.ordered {
			loses := Compare(o, by) < 0 && (h.loses(o, by, pick{}) != "" || by.Change != nil && by.Change.Whole)
			reverses := o.Type == TypeDelete && h.Concurrent(by, o) && h.beats(by, o)
			if !moves[o] && (loses || reverses) {
				moves[o] = true
				next = append(next, o)
			}
		}
	}
	return func(o *Operation) bool { return moves[o] }
}

// unanswered returns an action that counts and may have run, of which a step may take back what it has set; nil: there is none. A
// service that honours its key does it only once, so it is settled before, and what it has seen of these before it. Of any other a person is
// asked before: nobody could tell afterwards by what the application shows whether it has run.
func (h *History) unanswered(s Standing, step Step) *Operation {
	if h.kind == nil || s.Unsure == nil || s.Doubtful == nil || step.Kind != StepCorrect && step.Kind != StepRun {
		return nil
	}
	may := s.Unsure
	if !h.kind.HonoursKey {
		may = func(o *Operation) bool { return s.Doubtful(o) && !resendable(h.kind, o) }
	}
	open := h.all(func(o *Operation) bool {
		return o.Type == TypeAction && !s.Settled(o) && may(o) && !s.Blocked(o) && (s.Ran == nil || !s.Ran(o)) && !slices.Contains(step.Operations, o)
	})
	open = slices.DeleteFunc(slices.Clone(open), func(o *Operation) bool {
		return !slices.ContainsFunc(open, func(p *Operation) bool { return (p == o || h.Before(o, p)) && !p.Change.Empty() && step.overrides(p) })
	})
	if len(open) == 0 {
		return nil
	}
	counting, _ := h.effective(everything)
	counts := within(counting)
	if i := slices.IndexFunc(open, func(o *Operation) bool { return counts(o) && h.hadItsTurn(s, o) }); i >= 0 {
		return open[i]
	}
	return nil
}

// asked returns an action of which a person is asked whether it has run, and of which a step may take back what it has set; nil: there is
// none.
func (h *History) asked(s Standing, step Step) *Operation {
	for _, o := range h.ordered {
		if o.Type == TypeAction && !o.Change.Empty() && s.Uncertain(o) && step.overrides(o) {
			return o
		}
	}
	return nil
}

// overrides reports whether what a step sends may set something else where an action has set or added something.
func (s Step) overrides(a *Operation) bool {
	c := s.Correction
	if s.Kind == StepRun {
		switch u := s.Operations[0]; {
		case u.Type == TypeCreate || u.Type == TypeDelete || u.Change == nil:
			return false
		case u.Type == TypeReplace: // it puts what its author has seen everywhere
			return true
		default:
			c = u.Change
		}
	}
	sets := &Change{Set: c.Set, Unset: c.Unset}
	return slices.ContainsFunc(sortedPointers(a.Change.Set), c.touches) || slices.ContainsFunc(a.Change.Unset, c.touches) ||
		slices.ContainsFunc(sortedPointers(a.Change.Add), sets.touches)
}
