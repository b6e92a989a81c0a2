package engine

import (
	"maps"
	"slices"
)

// bringAbout decides how an application that has no object gets one: by the create that is next, sent as it is, or by one
// request that makes all at once. The first of rest lives.
func bringAbout(h *History, s Standing, rest []*Operation, lives func(*Operation) bool) Step {
	i := slices.IndexFunc(rest, func(o *Operation) bool { return o.Type == TypeCreate && lives(o) })
	switch {
	case i < 0 && s.Dropped:
		return Step{Kind: StepRefuse, Operations: rest[:1]}
	case i < 0:
		return remake(h, s, rest, foldable(s, rest, lives))
	}
	create := rest[i : i+1]
	if s.Blocked(create[0]) {
		return Step{Kind: StepHold, Operations: create}
	}
	if slices.Equal(h.Living(either(s.shows, among(create))), create) {
		return Step{Kind: StepRun, Operations: create}
	}
	return remake(h, s, create, create)
}

// remake makes the object anew from what is settled here and, beside it, those of rest that are taken.
func remake(h *History, s Standing, rest, taken []*Operation) Step {
	counts := either(s.shows, among(taken))
	living := h.Living(counts)
	var create *Operation
	for _, o := range living {
		if o.Type == TypeCreate {
			create = o
		}
	}
	if create == nil { // what is next builds on a create that is not here
		return Step{Kind: StepHold, Operations: rest[:1]}
	}
	if s.Blocked(create) {
		return Step{Kind: StepHold, Operations: []*Operation{create}}
	}
	for _, o := range living {
		if o.Type == TypeAction && o.Change == nil && !s.Lossy {
			return Step{Kind: StepHold, Operations: []*Operation{create, o}, Reason: HoldUndeclared}
		}
	}
	fold := FoldOf(h, counts)
	alone := FoldOf(h, func(o *Operation) bool { return o == create })
	step := Step{Kind: StepMake, Operations: taken}
	for _, path := range slices.Sorted(maps.Keys(fold.Absolute)) {
		step.Again = append(step.Again, fold.Absolute[path])
	}
	again := *create
	if create.Change.Empty() { // an opaque create is sent as it is, and what has changed since is set on top
		step.Operations = slices.DeleteFunc(slices.Clone(taken), func(o *Operation) bool { return o != create })
		for _, o := range living {
			if o != create && o.Type != TypeAction && o.Type != TypeAbsolute && s.shows(o) {
				step.Again = append(step.Again, o)
			}
		}
	} else if body, err := alone.Difference(fold).ApplyTo(create.Body); err == nil {
		again.Body = body
		again.Change = FoldOf(NewHistory(), anyOperation).Difference(fold)
	}
	step.Make = &again
	return step
}
