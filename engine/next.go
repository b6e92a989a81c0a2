package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

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
	// StepHold waits for a person: an operation before is uncertain, the replica could not be made, or its name is another's.
	StepHold StepKind = "hold"
)

// Step is one thing to do. Operations are what it settles when it is done, in order; Run sends the first.
type Step struct {
	Kind       StepKind
	Operations []*Operation
	// Correction is the difference to send, for StepCorrect.
	Correction *Change
	// Only are all the paths that there are to be, where StepCorrect repairs; nil: what nobody has set stays.
	Only map[Pointer]json.RawMessage
	// Void says that the operations of StepCorrect count for nothing: it takes back what they may have left.
	Void bool
	// Late says that StepRun sends an action that also sets what counts otherwise, because something else has set it. When it
	// has run, that is to be recorded, so that Standing.Ran tells it, and Next corrects what it has set.
	Late bool
	// Facts are those that are executed here when the step is done.
	Facts []Fact
	// Make is the create to send, for StepMake: the newest living one, with the fold as its body and its change. It is the
	// caller's.
	Make *Operation
	// Again lists the settled operations that the step leaves to be applied once more: on top of a new object, or because what
	// has taken their place does not count any more.
	Again []*Operation
	// Voided lists settled operations that have turned out to be void: deletes that something concurrent with them has reversed,
	// and what had put opaque bytes into an object that was made anew.
	Voided []*Operation
	// Reason says why StepHold holds where no operation's own outcome does; empty otherwise.
	Reason HoldReason
}

// makes reports whether the step makes an object.
func (s Step) makes() bool {
	return s.Kind == StepMake || s.Kind == StepRun && s.Operations[0].Type == TypeCreate
}

// sends returns the operation that the step sends as its caller sent it; nil when it does not.
func (s Step) sends() *Operation {
	switch s.Kind {
	case StepRun:
		return s.Operations[0]
	case StepMake:
		return s.Make
	}
	return nil
}

// HoldReason is why nothing can be done without a person.
type HoldReason string

// HoldUndeclared: the object is to be made anew, and an action has run on it of which the catalog does not say what it
// sets. The first of the step's operations is the create that was to be sent, the second the action.
const HoldUndeclared HoldReason = "undeclared-action"

// HoldMixed: a delete has ended one of several creates, whose opaque effects are still there, and taking the object away would lose
// those of an action that counts. The first of the step's operations is the delete, the second the action.
const HoldMixed HoldReason = "mixed-effects"

// Standing is what one site's application has been brought to.
type Standing struct {
	// Settled reports whether an operation needs nothing more here.
	Settled func(*Operation) bool
	// Void reports whether a settled operation never reached the application because it had been superseded.
	Void func(*Operation) bool
	// Blocked reports whether an operation waits for a person.
	Blocked func(*Operation) bool
	// Uncertain reports whether an operation may have run, and a person is asked whether it has. Nil: none.
	Uncertain func(*Operation) bool
	// Doubtful reports whether an operation may have reached the application without an answer. Nil: none.
	Doubtful func(*Operation) bool
	// Unsure reports whether an operation that is not settled may have reached the application, by itself or in a
	// correction, so that the values at its paths are not known. Nil: none.
	Unsure func(*Operation) bool
	// Ran reports whether an action that is not settled has run, and what it has set is to be corrected. Nil: none.
	Ran func(*Operation) bool
	// Refused reports whether the application has refused a settled operation: it does not show what that sets. Nil: none.
	Refused func(*Operation) bool
	// Undone reports whether the application has refused a settled delete, so that the object is still there, and nobody has decided
	// that it stays. Nil: none.
	Undone func(*Operation) bool
	// Executed reports whether the application shows what follows from a fact. Nil: it does for all.
	Executed func(Fact) bool
	// Gone says that the application has no object of the resource, whatever is settled: it vanished, or was never made
	// here. Where what counts says that it exists, it is made anew.
	Gone bool
	// Carried reports whether an operation's effect has come with the content of the object. Nil: none.
	Carried func(*Operation) bool
	// Lossy says that the object may be made anew without what undeclared actions have done: that comes in another way, or
	// somebody has accepted that it does not.
	Lossy bool
	// Yields says that the name, and with it the object, is another resource's here: nothing is done before that changes.
	Yields bool
	// Dropped says that it is gone because a person has decided against it: it is not made anew.
	Dropped bool
}

// shows reports whether the application shows what o did, as long as it has the object at all.
func (s Standing) shows(o *Operation) bool { return s.Settled(o) && !s.Void(o) }

// shown is what the application has been brought to, with all facts that are known.
func (s Standing) shown() pick { return pick{in: s.shows} }

// fold is what the application shows, whole what the applications of all parts of a cross resource show together.
func (s Standing) fold(h *History) Fold {
	if s.Gone {
		return newFold(h)
	}
	return h.fold(pick{in: s.shows, fact: s.Executed})
}

func (s Standing) whole(h *History) Fold {
	if s.Gone {
		return newFold(h)
	}
	return foldOf(h, pick{in: s.shows, fact: s.Executed})
}

// doubtful reports whether o is a create that may have been done and has to be looked for, also where it counts as settled and what it has
// made is not known any more.
func (s Standing) doubtful(o *Operation) bool {
	return o.Type == TypeCreate && (!s.Settled(o) || s.Gone) && s.Doubtful != nil && s.Doubtful(o)
}

// Next decides, from the operations that a site knows and what its application shows, what to do next.
//
// Its law: for every interleaving of delivery, what a site has sent leaves the folded value at every path that the
// fold sets. An operation is sent as it is when the application shows just what its caller saw. Everything else becomes a
// correction, and where there is no object to correct, it is made anew.
func Next(h *History, s Standing) Step {
	step := h.next(s)
	if a := h.unanswered(s, step); a != nil {
		return Step{Kind: StepRun, Operations: []*Operation{a}, Late: true}
	}
	return step
}

func (h *History) next(s Standing) Step {
	if s.Yields {
		return Step{Kind: StepHold}
	}
	if facts := h.unexecuted(s); len(facts) > 0 {
		return executeFacts(h, s, facts, s.fold(h))
	}
	counting, _ := h.effective(everything)
	counts := within(counting)
	last, takes := lastAbsolute(counting), h.takes(s)
	missed := h.missed(s, counting, takes)
	open := func(o *Operation) bool {
		return !s.Settled(o) || missed(o) && (o.Type == TypeAbsolute || !h.base.reduces(o))
	}
	i := slices.IndexFunc(h.ordered, open)
	if void := h.reversedHere(s); len(void) > 0 {
		return undelete(h, s, void, s.fold(h))
	}
	there := !s.Gone && h.exists(s.shows)
	if i < 0 {
		if !there && !s.Dropped && h.exists(s.shows) {
			return remake(h, s, nil, nil)
		}
		return Step{Kind: StepNothing}
	}
	// A create that may have been done is settled before another takes its place, and before the delete that ended it, which
	// would not find what it made. What it has made is known where another operation of the same request is settled.
	doubtful := false
	sought := func(o *Operation) bool {
		return s.doubtful(o) && (!s.Settled(o) || !counts(o) && among(h.Living(s.shows))(o)) && !h.again(o, s.Settled)
	}
	if d := slices.IndexFunc(h.ordered, sought); d >= 0 && !there {
		doubtful, i = true, d
	}
	u := h.ordered[i]
	if u.Type == TypePlace && there { // shares may be others from then on
		if c := s.fold(h).Difference(h.fold(s.shown().or(u))); !c.Empty() {
			return Step{Kind: StepCorrect, Operations: []*Operation{u}, Correction: c}
		}
	}
	if u.Type == TypePlace || s.Carried != nil && s.Carried(u) {
		return Step{Kind: StepVacuous, Operations: []*Operation{u}}
	}
	rest := slices.DeleteFunc(slices.Clone(h.ordered[i:]), func(o *Operation) bool { return o != u && !open(o) })
	void := !counts(u)
	if u.Type == TypeDelete {
		void = h.reversed(u, anyOperation)
	}
	// It may count again, and nobody would know any more that it may have run.
	if u.Type == TypeAction && s.Uncertain != nil && s.Uncertain(u) && h.exists(anyOperation) {
		return Step{Kind: StepHold, Operations: rest[:1]}
	}
	if void && !doubtful {
		if h.again(u, s.shows) { // what is said of it is said of the other operation of its request, which the application shows
			return Step{Kind: StepVacuous, Operations: rest[:1]}
		}
		if there {
			touched := s.withoutAnswer(h, rest[:1])
			if len(touched) == 0 && s.Ran != nil && s.Ran(u) {
				touched = rest[:1]
			}
			if left := s.fold(h).restoring(touched); !left.Empty() {
				return Step{Kind: StepCorrect, Operations: rest[:1], Correction: left, Void: true}
			}
		}
		return Step{Kind: StepSkip, Operations: rest[:1]}
	}
	// What comes before one that may have run waits, too: it would take away what that has done, or take it as done.
	if i := slices.IndexFunc(rest, func(o *Operation) bool { return s.Uncertain != nil && s.Uncertain(o) && counts(o) }); i >= 0 {
		return Step{Kind: StepHold, Operations: rest[i : i+1]}
	}
	switch {
	case s.Blocked(u):
		return Step{Kind: StepHold, Operations: rest[:1]}
	case u.Type == TypeDelete && !there && !h.left(s):
		return Step{Kind: StepVacuous, Operations: rest[:1]}
	case u.Type == TypeDelete && !h.exists(s.shown().or(u).in):
		return Step{Kind: StepRun, Operations: rest[:1]}
	case void: // the create may have been done: what was sent for it then tells, and that is sent once more
		return bringAbout(h, s, rest[:1], anyOperation)
	case !there:
		if i := outlived(s, rest, counts); i > 0 {
			return Step{Kind: StepSkip, Operations: rest[i : i+1]}
		}
		return bringAbout(h, s, rest, counts)
	case u.Type == TypeDelete && len(h.remains(s, u)) > 0:
		return startAnew(h, s, u)
	case u.Type == TypeAction:
		return act(h, s, rest[:1])
	case u.Type == TypeAbsolute:
		if l := last[u.Path]; l != u && (s.shows(l) || s.Carried != nil && s.Carried(l)) && !h.bothRun(u, l) {
			if takes(u) {
				return correctFor(h, s, rest[:1], rest)
			}
			return Step{Kind: StepSkip, Operations: rest[:1]}
		}
		return act(h, s, rest[:1])
	case u.Type != TypeDelete && !u.Repair && !h.base.reduces(u) && !h.kind.byPosition(u) && !h.spread.divides(u) && h.sawTheSame(u, s):
		step := Step{Kind: StepRun, Operations: rest[:1]}
		if h.kind.takesOne() || len(h.facts) > 0 { // it may take the effect of the last opaque bytes
			_, step.Again = s.target(h, s.shown().or(u), s.fold(h))
		}
		return step
	}
	return correct(h, s, rest, counts)
}

// outlived finds among rest, where the object is gone, one that may have run on it and counts for nothing any more: while a request for
// that is open, nothing is made. What its origin issued before it is settled. 0: there is none.
func outlived(s Standing, rest []*Operation, counts func(*Operation) bool) int {
	return max(0, slices.IndexFunc(rest, func(o *Operation) bool {
		before := func(p *Operation) bool { return p.Line() == o.Line() && p.Seq < o.Seq }
		return o.Type != TypeCreate && o.Type != TypeDelete && !counts(o) && s.Doubtful != nil && s.Doubtful(o) && !slices.ContainsFunc(rest, before)
	}))
}

// left reports whether the object is still there though it is deleted, since the application has refused that.
func (h *History) left(s Standing) bool {
	return !s.Gone && s.Undone != nil && h.exists(func(o *Operation) bool { return s.shows(o) && !s.Undone(o) })
}

// missed tells of an operation whether it was passed over here as void and counts after all, since something else is known. Bytes
// that a later operation has put anew are missed only where they take the effect of something else, a delete where it has seen, in hindsight,
// what had taken it away.
func (h *History) missed(s Standing, counting []*Operation, takes func(*Operation) bool) func(*Operation) bool {
	counts, last := within(counting), lastAbsolute(counting)
	return func(o *Operation) bool {
		if o.Type == TypeDelete {
			return s.Void(o) && !h.base.has(o) && !h.reversed(o, anyOperation)
		}
		return s.Void(o) && counts(o) && (o.Type != TypeAbsolute || last[o.Path] == o || takes(o))
	}
}

// takes tells of an operation that no checkpoint stands for whether something that the application shows, and that counts, loses its
// effect once it is shown, too.
func (h *History) takes(s Standing) func(*Operation) bool {
	if !h.kind.takesOne() && len(h.facts) == 0 {
		return func(*Operation) bool { return false }
	}
	shown := sync.OnceValue(func() []*Operation {
		ops, _ := h.effective(s.shown())
		return ops
	})
	loses := func(o, to *Operation) bool { return !h.base.reduces(o) && h.loses(o, to, pick{}) != "" }
	return func(o *Operation) bool {
		if h.base.reduces(o) {
			return false
		}
		later, _ := slices.BinarySearchFunc(shown(), o, Compare)
		return slices.ContainsFunc(shown()[:later], func(x *Operation) bool { return loses(x, o) }) &&
			!slices.ContainsFunc(shown()[later:], func(w *Operation) bool { return loses(o, w) })
	}
}

// lastAbsolute returns for each path the last operation that put opaque bytes there.
func lastAbsolute(ops []*Operation) map[string]*Operation {
	last := map[string]*Operation{}
	for _, o := range ops {
		if o.Type == TypeAbsolute {
			last[o.Path] = o
		}
	}
	return last
}

// bothRun reports whether a rule says that both of two concurrent operations are to run.
func (h *History) bothRun(a, b *Operation) bool {
	return h.Concurrent(a, b) && (h.kind.takes(a, b, TakeBothAnyOrder) || h.kind.takes(a, b, TakeBothKeepOrder))
}

// sawTheSame reports whether the application shows just what the caller of u saw, the same operations count, and u only adds
// to them. It may not have heard of the facts that are known here. Of what counts as having seen something else, in hindsight, nobody
// knows that.
func (h *History) sawTheSame(u *Operation, s Standing) bool {
	if u.hindsight || u.Type == TypeCreate { // whose caller saw no object
		return false
	}
	shown := h.folding(s.shown())
	seen := h.folding(pick{in: func(o *Operation) bool { return h.Before(o, u) }, fact: func(Fact) bool { return false }})
	return slices.Equal(shown, seen) && slices.Equal(append(slices.Clip(shown), u), h.folding(s.shown().or(u)))
}

// folding returns the operations that count, without those that only put opaque bytes.
func (h *History) folding(p pick) []*Operation {
	counting, _ := h.effective(p)
	return slices.DeleteFunc(counting, func(o *Operation) bool { return o.Type == TypeAbsolute && o.Change == nil })
}

// unexecuted lists the facts that count and that this site's application does not show yet.
func (h *History) unexecuted(s Standing) []Fact {
	var facts []Fact
	for _, f := range h.sortedFacts() {
		if s.Executed != nil && !s.Executed(f) && h.counts(f) {
			facts = append(facts, f)
		}
	}
	return facts
}

// executeFacts brings the application to what it is to show now that some pairs of operations count as the later alone.
func executeFacts(h *History, s Standing, facts []Fact, before Fold) Step {
	step := Step{Kind: StepVacuous, Facts: facts}
	if !before.Exists {
		return step
	}
	after, again := s.target(h, s.shown(), before)
	step.Again = again
	difference := s.difference(before, after)
	if !difference.Empty() {
		step.Kind, step.Correction, step.Operations = StepCorrect, difference, []*Operation{h.Get(facts[0].Later)}
		if !s.Settled(step.Operations[0]) {
			step.Operations[0] = h.Get(facts[0].Earlier)
		}
	}
	return step
}

// target folds what the application is to show, and lists the operations that put opaque bytes that count and have been taken
// the place of here: they are applied once more, and are no part of the fold until then. Where what is still to come takes the effect of
// the last one, it is the one that counts in the end: the last would be passed over, and its bytes may be there.
func (s Standing) target(h *History, to pick, before Fold) (Fold, []*Operation) {
	after := h.fold(to)
	var again []*Operation
	for _, path := range slices.Sorted(maps.Keys(after.Absolute)) {
		o := after.Absolute[path]
		if o == before.Absolute[path] || !s.shows(o) {
			continue
		}
		counting, _ := h.effective(everything)
		if last := lastAbsolute(counting)[path]; last != nil && s.shows(last) {
			o = last
		}
		again = append(again, o)
	}
	if len(again) > 0 {
		is := among(again)
		after = h.fold(pick{in: func(o *Operation) bool { return to.in(o) && !is(o) }, fact: to.fact})
	}
	return after, again
}

// undelete brings the application to what it is to show now that some deletes that it has done are void.
func undelete(h *History, s Standing, void []*Operation, before Fold) Step {
	is := among(void)
	without := pick{in: func(o *Operation) bool { return s.shows(o) && !is(o) }}
	after, again := s.target(h, without, before)
	step := Step{Kind: StepVacuous, Operations: void, Voided: void, Again: again}
	switch {
	case before.Exists && after.Exists:
		if difference := s.difference(before, after); !difference.Empty() {
			step.Kind, step.Correction = StepCorrect, difference
		}
	case after.Exists && !s.Dropped && h.exists(anyOperation): // else it would be made to be deleted, perhaps in the way of the next
		return remake(h, s, void, nil)
	}
	return step
}

// act runs an operation whose effect cannot be folded into a request, and has what it sets beside what counts corrected.
func act(h *History, s Standing, action []*Operation) Step {
	u, before := action[0], s.fold(h)
	with, again := s.target(h, s.shown().or(u), before)
	if u.Type == TypeAction && h.again(u, s.shows) || h.base.keepsValues(u) {
		return correctFor(h, s, action, action)
	}
	ran := s.Ran != nil && s.Ran(u)
	if divided := h.spread.divides(u); ran || divided { // what is divided is done once, and shared
		shown := before
		if ran {
			shown = before.after(u, with)
		}
		c := s.difference(shown, with).and(with.restoring(action))
		if c.Empty() {
			return Step{Kind: StepVacuous, Operations: action, Again: again}
		}
		return Step{Kind: StepCorrect, Operations: action, Correction: c, Again: again}
	}
	return Step{Kind: StepRun, Operations: action, Again: again, Late: !s.difference(before.after(u, with), with).Empty()}
}

// leaves reports whether o, once it has run, leaves something that is to be corrected: what counts otherwise, or what it takes the
// effect of.
func (h *History) leaves(s Standing, o *Operation) bool {
	if o.Type != TypeAction && o.Type != TypeAbsolute {
		return false
	}
	return act(h, s, []*Operation{o}).Late
}

// folds reports whether a correction brings about what o does, where o does not run by itself.
func (o *Operation) folds() bool { return o.Type != TypeAction && o.Type != TypeAbsolute }

// foldable returns those at the beginning of rest that one request can bring about together.
func foldable(s Standing, rest []*Operation, counts func(*Operation) bool) []*Operation {
	for n, o := range rest {
		if !o.folds() || o.Type == TypeDelete && n > 0 || s.Blocked(o) || o.Type != TypeDelete && !counts(o) {
			return rest[:n]
		}
	}
	return rest
}

// correct settles the first of rest and, in the same request, whatever follows it and can be folded with it.
func correct(h *History, s Standing, rest []*Operation, counts func(*Operation) bool) Step {
	return correctFor(h, s, foldable(s, rest, counts), rest)
}

// correctFor brings the application to what it is to show with those that are taken, the first of rest. An earlier correction may have left
// what others of rest set, but not what only their own requests do: that stays, for a service that honours keys does it once.
func correctFor(h *History, s Standing, taken, rest []*Operation) Step {
	before := s.fold(h)
	after, again := s.target(h, s.shown().or(taken...), before)
	left := slices.DeleteFunc(slices.Clone(rest), func(o *Operation) bool { return !o.folds() && !slices.Contains(taken, o) })
	difference := s.difference(before, after).and(after.restoring(s.withoutAnswer(h, left)))
	step := Step{Kind: StepVacuous, Operations: taken, Again: again}
	for _, o := range taken {
		if o.Repair {
			difference.assert(h.spread.shareOfChange(o.Change, after), after)
			step.Only = after.paths()
		}
	}
	if !difference.Empty() {
		step.Kind, step.Correction = StepCorrect, difference
	}
	return step
}
