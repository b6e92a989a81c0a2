package plan

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// What has been sent and is not settled may be there or not. As long as its operations are not settled, no one can tell by what
// is settled which values the application shows at the paths that they set. So these are written once more. Nothing else is: at
// every other path the application may rightly show something else than the fold, such as what an action of unknown effect has
// made of it.

// withoutAnswer returns those of ops whose values may have reached the application though they are not settled.
func (s Standing) withoutAnswer(ops []*engine.Operation) []*engine.Operation {
	if s.Unsure == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ops), func(o *engine.Operation) bool { return s.Settled(o) || !s.Unsure(o) })
}

// SetAgain returns the step that brings about what u sets, which may have been sent, as far as it still counts: what has run since may
// have set something else.
func SetAgain(h *merge.History, s Standing, u *engine.Operation) Step {
	before, ops := s.Fold(h), []*engine.Operation{u}
	after, again := s.target(h, s.Shown().Or(u), before)
	return Step{Kind: StepCorrect, Operations: ops, Correction: tree.And(s.difference(before, after), restoring(after, ops)), Again: again}
}

// restoring returns what sets every path that one of ops may have changed to what f shows there. That is what it sets, removes
// or adds to, what a value or a removal of it has ended below that, and a value above it that it has ended.
func restoring(f merge.Fold, ops []*engine.Operation) *engine.Edit {
	e := &engine.Edit{}
	if len(ops) == 0 {
		return e
	}
	now, order := f.Paths(), f.Order()
	for _, o := range ops {
		if o.Edit == nil {
			continue
		}
		for p := range o.Edit.Order {
			if tokens := order[p]; tokens != nil {
				tree.SetOrder(e, p, tokens)
			}
		}
		for p, v := range o.Edit.Set {
			restore(e, now, p, v)
		}
		for _, p := range o.Edit.Unset {
			restore(e, now, p, nil)
		}
		for p := range o.Edit.Add {
			restore(e, now, p, nil)
		}
	}
	slices.Sort(e.Unset)
	e.Unset = slices.Compact(e.Unset)
	return e
}

// doubted are the paths that only what takes back maybe, which may have been sent, removes, with the values that these have set there; nil: none.
// Where one of them has not set just that path, what it has left cannot be told by its value.
func doubted(certain, restored *engine.Edit, maybe []*engine.Operation) map[engine.Pointer][]json.RawMessage {
	var paths map[engine.Pointer][]json.RawMessage
	for _, p := range restored.Unset {
		if slices.Contains(certain.Unset, p) {
			continue
		}
		var values []json.RawMessage
		for _, o := range maybe {
			if o.Edit == nil {
				continue
			}
			if v := o.Edit.Set[p]; v != nil {
				values = append(values, v)
			} else if _, adds := o.Edit.Add[p]; adds {
				values = nil
				break
			}
		}
		if values == nil {
			continue
		}
		if paths == nil {
			paths = map[engine.Pointer][]json.RawMessage{}
		}
		paths[p] = values
	}
	return paths
}

// restore adds to e what takes back that v was set at p, nil: that p was removed. Now is what is to be shown.
func restore(e *engine.Edit, now map[engine.Pointer]json.RawMessage, p engine.Pointer, v json.RawMessage) {
	for q := p; q != ""; {
		q = q.Parent()
		if is := now[q]; is != nil && !tree.IsContainer(is) {
			tree.Set(e, q, is)
			return
		}
	}
	is := now[p]
	switch {
	case is != nil:
		tree.Set(e, p, is)
	case held(now, p):
		e.Unset = append(e.Unset, p)
	}
	if !tree.IsContainer(is) || bytes.Equal(v, is) {
		return // nothing is below p, or it was not ended
	}
	for q, below := range now {
		if q != p && p.Contains(q) {
			tree.Set(e, q, below)
		}
	}
}

// held reports whether what holds p is shown, so that p can be taken out of it.
func held(shown map[engine.Pointer]json.RawMessage, p engine.Pointer) bool {
	parent := p.Parent()
	return parent == "" || tree.IsContainer(shown[parent])
}

// hadItsTurn reports whether an action may have been sent: what it has seen has run.
func hadItsTurn(h *merge.History, s Standing, o *engine.Operation) bool {
	return !slices.ContainsFunc(h.Ordered(), func(p *engine.Operation) bool {
		return h.Before(p, o) && !s.Settled(p) && !is(s.Ran, p)
	})
}

// unanswered returns an action that counts and may have run, of which a step may take back what it has set; nil: there is
// none. A service that honours its key does it only once, so it is settled before, and what it has seen of these before it. Of
// any other a person is asked before: nobody could tell afterwards by what the application shows whether it has run.
func unanswered(h *merge.History, s Standing, step Step) *engine.Operation {
	if s.Unsure == nil || s.Doubtful == nil || step.Kind != StepCorrect && step.Kind != StepRun {
		return nil
	}
	may := s.Unsure
	if !h.Kind().HonoursKey {
		may = func(o *engine.Operation) bool { return s.Doubtful(o) && !Resendable(h.Kind(), o) }
	}
	open := h.All(func(o *engine.Operation) bool {
		return o.Type == engine.TypeAction && !s.Settled(o) && may(o) && !s.Blocked(o) && !is(s.Ran, o) &&
			!slices.Contains(step.Operations, o)
	})
	if len(open) == 0 {
		return nil
	}
	counting, _ := h.Effective(merge.Any)
	counts := merge.Within(counting)
	for _, o := range open {
		taken := func(p *engine.Operation) bool {
			return (p == o || h.Before(o, p)) && !p.Edit.Empty() && overrides(step, p)
		}
		if counts(o) && slices.ContainsFunc(open, taken) && hadItsTurn(h, s, o) {
			return o
		}
	}
	return nil
}

// Foreseen returns a request of a client as far as it is known before it runs what it sets: for InTheWay. Before is the fold that
// the application shows. A number is no place to begin that an action without an answer may have added to.
func Foreseen(k *engine.Kind, o *engine.Operation, before merge.Fold) *engine.Operation {
	n := merge.Effect(k, o)
	if n == nil {
		return o
	}
	asked := *o
	asked.Edit = Declared(k, &engine.NamedOperation{Sets: n.Sets}, nil, nil)
	if is := before.Cells[n.Counter]; n.Counter != "" && (is.Value == nil || is.Counted) {
		asked.Edit.Set[n.Counter] = nil
	}
	return &asked
}

// InTheWay returns an action without a certain answer that is to be settled before a request of a client runs: what the request
// does could take back what the action has set, or a person is asked whether it has run. Nil: there is none. The request is the
// step's, which runs it.
func InTheWay(h *merge.History, s Standing, step Step) *engine.Operation {
	if a := unanswered(h, s, step); a != nil {
		return a
	}
	for _, o := range h.Ordered() {
		if o.Type == engine.TypeAction && !o.Edit.Empty() && is(s.Uncertain, o) && overrides(step, o) {
			return o
		}
	}
	return nil
}

// overrides reports whether what a step sends may set something else where an action has set or added something.
func overrides(s Step, a *engine.Operation) bool {
	e := s.Correction
	if s.Kind == StepRun {
		switch u := s.Operations[0]; {
		case u.Type == engine.TypeCreate || u.Type == engine.TypeDelete || u.Edit == nil:
			return false
		case u.Type == engine.TypeReplace: // it puts what its author has seen everywhere
			return true
		default:
			e = u.Edit
		}
	}
	touched := func(p engine.Pointer) bool { return tree.Touches(e, p) }
	sets := &engine.Edit{Set: e.Set, Unset: e.Unset}
	return slices.ContainsFunc(tree.Sorted(a.Edit.Set), touched) || slices.ContainsFunc(a.Edit.Unset, touched) ||
		slices.ContainsFunc(tree.Sorted(a.Edit.Add), func(p engine.Pointer) bool { return tree.Touches(sets, p) })
}
