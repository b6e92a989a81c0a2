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
	// StepMake makes the object anew from the fold: the application has none, though everything that counts for it says
	// that it exists.
	StepMake StepKind = "make"
	// StepSkip settles operations without a request: something concurrent or later has made them void.
	StepSkip StepKind = "skip"
	// StepVacuous settles operations whose effect is there already.
	StepVacuous StepKind = "vacuous"
	// StepRefuse settles operations as refused: a person has decided that this site has no replica.
	StepRefuse StepKind = "refuse"
	// StepHold waits for a person: an operation before is uncertain, or the replica could not be made.
	StepHold StepKind = "hold"
)

// Step is one thing to do. Operations are what it settles when it is done, in order; Run sends the first.
type Step struct {
	Kind       StepKind
	Operations []*Operation
	// Correction is the difference to send, for StepCorrect.
	Correction *Change
	// Void says that the operations of StepCorrect count for nothing: it takes back what they may have left.
	Void bool
	// Make is the create to send, for StepMake: the newest living one, with the fold as its body and its change. It is the
	// caller's.
	Make *Operation
	// Again lists the settled operations that StepMake leaves to be applied once more on top of the new object.
	Again []*Operation
	// Reason says why StepHold holds where no operation's own outcome does; empty otherwise.
	Reason HoldReason
}

// HoldReason is why nothing can be done without a person.
type HoldReason string

// HoldUndeclared: the object is to be made anew, and an action has run on it of which the catalog does not say what it
// sets. The first of the step's operations is the create that was to be sent, the second the action.
const HoldUndeclared HoldReason = "undeclared-action"

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
	// Unsure reports whether an operation that is not settled may have reached the application, by itself or in a
	// correction, so that the values at its paths are not known. Nil: none.
	Unsure func(*Operation) bool
	// Gone says that the application has no object of the resource, whatever is settled: it vanished, or was never made
	// here. Where what counts says that it exists, it is made anew.
	Gone bool
	// Carried reports whether an operation's effect has come with the content of the object. Nil: none.
	Carried func(*Operation) bool
	// Lossy says that the object may be made anew without what undeclared actions have done: that comes in another way, or
	// somebody has accepted that it does not.
	Lossy bool
	// Dropped says that it is gone because a person has decided against it: it is not made anew.
	Dropped bool
}

// shows reports whether the application shows what o did, as long as it has the object at all.
func (s Standing) shows(o *Operation) bool { return s.Settled(o) && !s.Void(o) }

// fold is what the application shows.
func (s Standing) fold(h *History) Fold {
	if s.Gone {
		return FoldOf(h, func(*Operation) bool { return false })
	}
	return FoldOf(h, s.shows)
}

// doubtful reports whether o is a create that may have been done and has to be looked for.
func (s Standing) doubtful(o *Operation) bool {
	return o.Type == TypeCreate && !s.Settled(o) && s.Doubtful != nil && s.Doubtful(o)
}

// Next decides, from the operations that a site knows and what its application shows, what to do next.
//
// Its law: for every interleaving of delivery, what a site has sent leaves the folded value at every path that the
// fold sets. An operation is sent as it is when the application shows just what its caller saw. Everything else becomes a
// correction, and where there is no object to correct, it is made anew.
func Next(h *History, s Standing) Step {
	living := h.Living(anyOperation)
	lives := among(living)
	// What was passed over as void may count after all, once something else is known.
	last := FoldOf(h, anyOperation).Absolute
	open := func(o *Operation) bool {
		return !s.Settled(o) || s.Void(o) && lives(o) && (o.Type != TypeAbsolute || last[o.Path] == o)
	}
	i := slices.IndexFunc(h.ordered, open)
	before := s.fold(h)
	if i < 0 {
		if !before.Exists && !s.Dropped && FoldOf(h, s.shows).Exists {
			return remake(h, s, nil, nil)
		}
		return Step{Kind: StepNothing}
	}
	// A create that may have been done is settled before another takes its place, and before the delete that ended it, which
	// would not find what it made.
	doubtful := false
	if d := slices.IndexFunc(h.ordered, s.doubtful); d >= 0 && !before.Exists {
		doubtful, i = true, d
	}
	u := h.ordered[i]
	if u.Type == TypePlace || s.Carried != nil && s.Carried(u) {
		return Step{Kind: StepVacuous, Operations: []*Operation{u}}
	}
	if u.Type != TypeDelete && !lives(u) && !doubtful {
		if left := before.restoring(s.withoutAnswer([]*Operation{u})); before.Exists && !left.Empty() {
			return Step{Kind: StepCorrect, Operations: []*Operation{u}, Correction: left, Void: true}
		}
		return Step{Kind: StepSkip, Operations: []*Operation{u}}
	}
	if s.Blocked(u) {
		return Step{Kind: StepHold, Operations: []*Operation{u}}
	}
	rest := slices.DeleteFunc(slices.Clone(h.ordered[i:]), func(o *Operation) bool { return !open(o) })
	with := FoldOf(h, either(s.shows, among(rest[:1])))
	switch {
	case u.Type == TypeDelete && !before.Exists:
		return Step{Kind: StepVacuous, Operations: rest[:1]}
	case u.Type == TypeDelete && !with.Exists:
		return Step{Kind: StepRun, Operations: rest[:1]}
	case doubtful && !lives(u):
		return Step{Kind: StepRun, Operations: rest[:1]}
	case !before.Exists:
		return bringAbout(h, s, rest, lives)
	case u.Type == TypeAction:
		return Step{Kind: StepRun, Operations: rest[:1]}
	case u.Type == TypeAbsolute:
		if last := last[u.Path]; last != u && s.shows(last) {
			return Step{Kind: StepSkip, Operations: rest[:1]}
		}
		return Step{Kind: StepRun, Operations: rest[:1]}
	case u.Type != TypeDelete && !u.Repair && h.sawTheSame(u, s):
		return Step{Kind: StepRun, Operations: rest[:1]}
	}
	return correct(h, s, rest, lives, before)
}

// sawTheSame reports whether the application shows just what the caller of u saw, the same operations count, and u only adds
// to them.
func (h *History) sawTheSame(u *Operation, s Standing) bool {
	shown := h.Living(s.shows)
	return slices.Equal(shown, h.Living(func(o *Operation) bool { return h.Before(o, u) })) &&
		slices.Equal(append(slices.Clip(shown), u), h.Living(func(o *Operation) bool { return o == u || s.shows(o) }))
}

// foldable returns those at the beginning of rest that one request can bring about together.
func foldable(s Standing, rest []*Operation, lives func(*Operation) bool) []*Operation {
	for n, o := range rest {
		folds := o.Type != TypeAction && o.Type != TypeAbsolute && (o.Type != TypeDelete || n == 0)
		if !folds || s.Blocked(o) || o.Type != TypeDelete && !lives(o) {
			return rest[:n]
		}
	}
	return rest
}

// correct settles the first of rest and, in the same request, whatever follows it and can be folded with it.
func correct(h *History, s Standing, rest []*Operation, lives func(*Operation) bool, before Fold) Step {
	taken := foldable(s, rest, lives)
	after := FoldOf(h, either(s.shows, among(taken)))
	difference := before.Difference(after).and(after.restoring(s.withoutAnswer(rest)))
	for _, o := range taken {
		if o.Repair {
			difference.assert(o.Change, after)
		}
	}
	if difference.Empty() {
		return Step{Kind: StepVacuous, Operations: taken}
	}
	return Step{Kind: StepCorrect, Operations: taken, Correction: difference}
}
