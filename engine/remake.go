package engine

import "slices"

// bringAbout decides how an application that has no object gets one: by the create that is next, sent as it is, or by one
// request that makes all at once. The first of rest counts.
func bringAbout(h *History, s Standing, rest []*Operation, counts func(*Operation) bool) Step {
	i := slices.IndexFunc(rest, func(o *Operation) bool { return o.Type == TypeCreate && counts(o) })
	switch {
	case i < 0 && s.Dropped:
		return Step{Kind: StepRefuse, Operations: rest[:1]}
	case i < 0:
		return remake(h, s, rest, foldable(s, rest, counts))
	}
	create := rest[i : i+1]
	// One that comes before what a person has decided against brings nothing back.
	if s.Dropped && slices.ContainsFunc(h.ordered, func(o *Operation) bool {
		return o.Type == TypeCreate && s.Settled(o) && s.Refused(o) && Compare(create[0], o) < 0
	}) {
		return Step{Kind: StepRefuse, Operations: rest[:1]}
	}
	if s.Blocked(create[0]) {
		return Step{Kind: StepHold, Operations: create}
	}
	if h.base.reduces(create[0]) { // the rest of what the checkpoint stands for is in what it keeps beside the create
		return remake(h, s, create, h.kept(s, rest[i:], counts))
	}
	// One that was passed over, and counts after all, is made anew: its first request is another one.
	if with, _ := h.effective(s.shown().or(create...)); slices.Equal(with, create) && !h.spread.divides(create[0]) && !s.Settled(create[0]) {
		return Step{Kind: StepRun, Operations: create}
	}
	return remake(h, s, create, create)
}

// kept returns those at the beginning of rest that the checkpoint keeps a part of and that one request can bring about together.
func (h *History) kept(s Standing, rest []*Operation, counts func(*Operation) bool) []*Operation {
	for n, o := range rest {
		if !h.base.reduces(o) || o.Change == nil || o.Type == TypeAbsolute || !counts(o) || s.Blocked(o) {
			return rest[:n]
		}
	}
	return rest
}

// remake makes the object anew from what is settled here and, beside it, those of rest that are taken.
func remake(h *History, s Standing, rest, taken []*Operation) Step {
	reversed := h.reversedHere(s)
	is := among(reversed)
	all := pick{in: func(o *Operation) bool { return s.shows(o) && !is(o) }}.or(taken...)
	counting, _ := h.effective(all)
	create := newestCreate(counting)
	if create == nil { // what is next builds on a create that is not here
		return Step{Kind: StepHold, Operations: rest[:1]}
	}
	if s.Blocked(create) {
		return Step{Kind: StepHold, Operations: []*Operation{create}}
	}
	for _, o := range counting {
		if o.Type == TypeAction && o.Change == nil && !s.Lossy {
			return Step{Kind: StepHold, Operations: []*Operation{create, o}, Reason: HoldUndeclared}
		}
	}
	step := Step{Kind: StepMake, Operations: taken, Voided: slices.Clip(reversed)}
	known, _ := h.effective(everything)
	last, counts := lastAbsolute(known), among(known)
	for _, o := range h.Living(all.in) { // the new object has no opaque bytes
		switch l := last[o.Path]; {
		case o.Type != TypeAbsolute || !s.shows(o):
		case l == o || l != nil && h.bothRun(o, l):
			step.Again = append(step.Again, o)
		case !counts(o):
			step.Voided = append(step.Voided, o)
		}
	}
	anew := among(slices.Concat(step.Again, step.Voided))
	fold := h.fold(pick{in: func(o *Operation) bool { return all.in(o) && !anew(o) }})
	again := *create
	if create.opaque() { // it is sent as it is, and what has changed since is set on top
		step.Operations = slices.DeleteFunc(slices.Clone(taken), func(o *Operation) bool { return o != create })
		for _, o := range counting {
			if o != create && o.Change != nil && o.Type != TypeAbsolute && s.shows(o) {
				step.Again = append(step.Again, o)
			}
		}
	} else if body, err := alone(create).Difference(fold).ApplyTo(h.kind, create.representation()); err == nil {
		again.Body, again.Blob = body, nil
		again.Change = Fold{}.Difference(fold)
	}
	step.Make = &again
	return step
}

// reversedHere lists the deletes that the application has done and that something has taken away.
func (h *History) reversedHere(s Standing) []*Operation {
	var void []*Operation
	for _, o := range h.ordered {
		if o.Type == TypeDelete && s.shows(o) && h.reversed(o, anyOperation) {
			void = append(void, o)
		}
	}
	return void
}

// representation is the body of a create of a representation. Of one that is a blob it is what the create sets: the blob is
// dropped once every site has the object.
func (o *Operation) representation() []byte {
	if o.Blob == nil || o.Change.Empty() {
		return o.Body
	}
	return alone(o).Representation()
}

func newestCreate(ops []*Operation) *Operation {
	for _, o := range slices.Backward(ops) {
		if o.Type == TypeCreate {
			return o
		}
	}
	return nil
}

// alone is the fold of a create by itself.
func alone(create *Operation) Fold {
	h := NewHistory()
	f := newFold(h)
	f.apply(h, create)
	return f
}
