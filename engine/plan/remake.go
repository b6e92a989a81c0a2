package plan

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// bringAbout decides how an application that has no object gets one: by the create that is next, sent as it is, or by one
// request that makes all at once. The first of rest counts.
func bringAbout(h *merge.History, s Standing, rest []*engine.Operation, counts func(*engine.Operation) bool) Step {
	i := slices.IndexFunc(rest, func(o *engine.Operation) bool { return o.Type == engine.TypeCreate && counts(o) })
	switch {
	case i < 0 && s.Dropped:
		return Step{Kind: StepRefuse, Operations: rest[:1]}
	case i < 0:
		return remake(h, s, rest, foldable(s, rest, counts))
	}
	create := rest[i]
	// One that comes before what a person has decided against brings nothing back.
	if s.Dropped && slices.ContainsFunc(h.Ordered(), func(o *engine.Operation) bool {
		return o.Type == engine.TypeCreate && s.Settled(o) && is(s.Refused, o) && engine.Compare(create, o) < 0
	}) {
		return Step{Kind: StepRefuse, Operations: rest[:1]}
	}
	if s.Blocked(create) {
		return hold("", create)
	}
	if h.Base().Reduces(create) { // the rest of what the checkpoint stands for is in what it keeps beside the create
		return remake(h, s, rest[i:i+1], kept(h, s, rest[i:], counts))
	}
	// One that was passed over, and counts after all, is made anew: its first request is another one.
	with, _ := h.Effective(s.Shown().Or(create))
	if len(with) == 1 && with[0] == create && !h.Division(s.Shown().Or(create)).Divides(create) && !s.Settled(create) {
		return Step{Kind: StepRun, Operations: rest[i : i+1]}
	}
	return remake(h, s, rest[i:i+1], rest[i:i+1])
}

// kept returns those at the beginning of rest that the checkpoint keeps a part of and that one request can bring about
// together.
func kept(h *merge.History, s Standing, rest []*engine.Operation, counts func(*engine.Operation) bool) []*engine.Operation {
	for n, o := range rest {
		if !h.Base().Reduces(o) || o.Edit == nil || o.Type == engine.TypeAbsolute || !counts(o) || s.Blocked(o) || !s.together(rest[0], o) {
			return rest[:n]
		}
	}
	return rest
}

// remake makes the object anew from what is settled here and, beside it, those of rest that are taken.
func remake(h *merge.History, s Standing, rest, taken []*engine.Operation) Step {
	reversed := reversedHere(h, s)
	all := merge.Pick(s.Shows).But(reversed...).Or(taken...)
	counting, _ := h.Effective(all)
	create := creating(h, all, counting)
	switch {
	case create == nil:
		return hold("", rest[:min(1, len(rest))]...)
	case s.Blocked(create):
		return hold("", create)
	case len(taken) > 0 && !s.together(create, taken[0]): // it is made first, with other rights
		return remake(h, s, rest, nil)
	}
	for _, o := range counting {
		if o.Type == engine.TypeAction && o.Edit == nil && !s.Lossy {
			return hold(HoldUndeclared, create, o)
		}
	}
	if !s.Shows(create) && !slices.Contains(taken, create) { // it was passed over
		taken = slices.Insert(slices.Clone(taken), 0, create)
	}
	step := Step{Kind: StepMake, Operations: taken, Voided: slices.Clip(reversed)}
	step.bytesAnew(h, s, all)
	fold := h.Fold(all.But(slices.Concat(step.Again, step.Voided)...))
	again := *create
	if merge.Opaque(h.Kind(), create) { // it is sent as it is, and what has changed since is set on top
		step.Operations = slices.DeleteFunc(slices.Clone(taken), func(o *engine.Operation) bool { return o != create })
		for _, o := range counting {
			if o != create && o.Edit != nil && o.Type != engine.TypeAbsolute && s.Shows(o) {
				step.Again = append(step.Again, o)
			}
		}
	} else if body, err := merge.Made(h.Kind(), create, fold); err == nil {
		again.Body, again.Blob, again.Edit = body, nil, h.Nothing().Difference(fold)
	}
	step.Make = &again
	return step
}

// bytesAnew lists the operations that had put opaque bytes, which a new object has none of.
func (s *Step) bytesAnew(h *merge.History, st Standing, all merge.Pick) {
	known, _ := h.Effective(merge.Any)
	last, counts := lastAbsolute(known), merge.Within(known)
	for _, o := range h.Living(all) {
		if o.Type != engine.TypeAbsolute || !st.Shows(o) {
			continue
		}
		switch l := last[o.Path]; {
		case l == o || l != nil && h.BothRun(o, l):
			s.Again = append(s.Again, o)
		case !counts(o):
			s.Voided = append(s.Voided, o)
		}
	}
}

// creating finds the create of which an object is made: the newest that counts, else one that has lost its effect, for that makes
// the object all the same.
func creating(h *merge.History, all merge.Pick, counting []*engine.Operation) *engine.Operation {
	if create := newestCreate(counting); create != nil {
		return create
	}
	if create := newestCreate(h.Living(all)); create != nil {
		return create
	}
	return newestCreate(h.Living(merge.Any))
}

func newestCreate(ops []*engine.Operation) *engine.Operation {
	for _, o := range slices.Backward(ops) {
		if o.Type == engine.TypeCreate {
			return o
		}
	}
	return nil
}

// Remains lists what the application shows of operations that a delete ends while something else keeps the object alive, and
// that no correction takes back: opaque bytes that nothing replaces, and actions of which nothing tells what they have done.
func Remains(h *merge.History, s Standing, d *engine.Operation) []*engine.Operation {
	left := h.Living(s.Shown().Or(d))
	lives, last := merge.Within(left), lastAbsolute(left)
	return slices.DeleteFunc(h.Living(s.Shows), func(o *engine.Operation) bool {
		switch {
		case lives(o) || !o.Edit.Empty():
			return true
		case o.Type == engine.TypeAbsolute:
			return last[o.Path] != nil
		}
		return o.Type != engine.TypeAction && o.Type != engine.TypeCreate
	})
}

// startAnew takes an object away by a delete that has not ended all of it, to make it anew without what the delete has ended.
// It holds where that would lose what nothing can bring back.
func startAnew(h *merge.History, s Standing, d *engine.Operation) Step {
	left, _ := h.Effective(s.Shown().Or(d))
	i := slices.IndexFunc(left, func(o *engine.Operation) bool { return o.Type == engine.TypeAction && o.Edit == nil })
	if i >= 0 && !s.Lossy {
		return hold(HoldMixed, d, left[i])
	}
	return Step{Kind: StepRun, Operations: []*engine.Operation{d}}
}
