package engine

import "slices"

// StepKind is what a site does next for one resource.
type StepKind string

const (
	// StepNothing: everything known is settled here.
	StepNothing StepKind = "nothing"
	// StepRun sends an operation as its caller sent it, identifiers apart.
	StepRun StepKind = "run"
	// StepCorrect sends the difference between what the application shows and what it is to show, in one request.
	StepCorrect StepKind = "correct"
	// StepSkip settles operations without a request: something concurrent or later has made them void.
	StepSkip StepKind = "skip"
	// StepVacuous settles operations whose effect is there already.
	StepVacuous StepKind = "vacuous"
	// StepHold waits for a person: an operation before is uncertain, or the replica could not be made.
	StepHold StepKind = "hold"
)

// Step is one thing to do. Operations are what it settles when it is done, in order; Run sends the first.
type Step struct {
	Kind       StepKind
	Operations []*Operation
	// Correction is the difference to send, for StepCorrect.
	Correction *Change
}

// Standing is what one site's application has been brought to.
type Standing struct {
	// Settled reports whether an operation needs nothing more here.
	Settled func(*Operation) bool
	// Void reports whether a settled operation never reached the application because it had been superseded.
	Void func(*Operation) bool
	// Blocked reports whether an operation waits for a person.
	Blocked func(*Operation) bool
	// Doubtful reports whether an operation may have reached the application without an answer. Nil: none.
	Doubtful func(*Operation) bool
}

// shows reports whether the application shows what o did.
func (s Standing) shows(o *Operation) bool { return s.Settled(o) && !s.Void(o) }

// Next decides, from the operations that a site knows and what its application shows, what to do next.
//
// Its law: for every interleaving of delivery, what a site has sent leaves the folded value at every path that the
// fold sets. An operation is sent as it is when the application shows just what its caller saw. Everything else becomes a
// correction.
func Next(h *History, s Standing) Step {
	all := func(*Operation) bool { return true }
	i := slices.IndexFunc(h.ordered, func(o *Operation) bool { return !s.Settled(o) })
	if i < 0 {
		return Step{Kind: StepNothing}
	}
	u := h.ordered[i]
	living := h.Living(all)
	// A create that may have been done is settled before the delete that ended it, which would not find what it made.
	doubtful := u.Type == TypeCreate && s.Doubtful != nil && s.Doubtful(u)
	if u.Type != TypeDelete && !slices.Contains(living, u) && !doubtful {
		return Step{Kind: StepSkip, Operations: []*Operation{u}}
	}
	if s.Blocked(u) {
		return Step{Kind: StepHold, Operations: []*Operation{u}}
	}
	before := FoldOf(h, s.shows)
	switch u.Type {
	case TypeAction:
		if !before.Exists {
			return Step{Kind: StepHold, Operations: []*Operation{u}}
		}
		return Step{Kind: StepRun, Operations: []*Operation{u}}
	case TypeAbsolute:
		if last := FoldOf(h, all).Absolute[u.Path]; last != u.ID && s.Settled(h.Get(last)) {
			return Step{Kind: StepSkip, Operations: []*Operation{u}}
		}
		if !before.Exists {
			return Step{Kind: StepHold, Operations: []*Operation{u}}
		}
		return Step{Kind: StepRun, Operations: []*Operation{u}}
	}
	after := FoldOf(h, func(o *Operation) bool { return s.shows(o) || o == u })
	switch {
	case doubtful && !before.Exists:
		return Step{Kind: StepRun, Operations: []*Operation{u}}
	case !before.Exists && !after.Exists:
		if u.Type == TypeDelete {
			return Step{Kind: StepVacuous, Operations: []*Operation{u}}
		}
		return Step{Kind: StepHold, Operations: []*Operation{u}} // its create is not here
	case !before.Exists || !after.Exists:
		return Step{Kind: StepRun, Operations: []*Operation{u}}
	}
	if u.Type != TypeDelete && h.sawTheSame(u, s) {
		return Step{Kind: StepRun, Operations: []*Operation{u}}
	}
	return correct(h, s, h.ordered[i:], living, before)
}

// sawTheSame reports whether the application shows just what the caller of u saw: the same operations count.
func (h *History) sawTheSame(u *Operation, s Standing) bool {
	return slices.Equal(h.Living(s.shows), h.Living(func(o *Operation) bool { return h.Before(o, u) }))
}

// correct settles the first of rest and, in the same request, whatever follows it and can be folded with it.
func correct(h *History, s Standing, rest, living []*Operation, before Fold) Step {
	var taken []*Operation
	for n, o := range rest {
		if s.Settled(o) {
			continue
		}
		foldable := o.Type != TypeAction && o.Type != TypeAbsolute && (o.Type != TypeDelete || n == 0)
		if !foldable || s.Blocked(o) || (o.Type != TypeDelete && !slices.Contains(living, o)) {
			break
		}
		taken = append(taken, o)
	}
	after := FoldOf(h, func(o *Operation) bool { return s.shows(o) || slices.Contains(taken, o) })
	difference := before.Difference(after)
	if difference.Empty() {
		return Step{Kind: StepVacuous, Operations: taken}
	}
	return Step{Kind: StepCorrect, Operations: taken, Correction: difference}
}
