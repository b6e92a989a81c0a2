package plan

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// Next decides, from the operations that a site knows and what its application shows, what to do next.
//
// Its law: for every interleaving of delivery, what a site has sent leaves the folded value at every path that the fold sets.
// An operation is sent as it is when the application shows just what its caller saw. Everything else becomes a correction, and
// where there is no object to correct, it is made anew.
func Next(h *merge.History, s Standing) Step {
	step := next(h, s)
	if a := unanswered(h, s, step); a != nil {
		return Step{Kind: StepRun, Operations: []*engine.Operation{a}, Late: true}
	}
	return step
}

// planner is what a decision is made from.
type planner struct {
	h *merge.History
	s Standing
	// counting are the operations that count of all that are known, counts tells whether one is among them.
	counting []*engine.Operation
	counts   func(*engine.Operation) bool
	there    bool // the application has the object
}

func next(h *merge.History, s Standing) Step {
	if s.Yields {
		return hold("")
	}
	if len(s.Undo) > 0 {
		return takeBack(h, s)
	}
	if void := reversedHere(h, s); len(void) > 0 {
		return undelete(h, s, void)
	}
	counting, _ := h.Effective(merge.Any)
	p := planner{h: h, s: s, counting: counting, counts: merge.Within(counting)}
	exists := h.Exists(s.Shows)
	p.there = exists && !s.Gone
	open := p.open()
	i := slices.IndexFunc(h.Ordered(), open)
	if i < 0 {
		if exists && !p.there && !s.Dropped {
			return remake(h, s, nil, nil)
		}
		return Step{Kind: StepNothing}
	}
	sought := false
	if d := p.seek(); d >= 0 && (d < i || !p.idle(h.Ordered()[i])) {
		sought, i = true, d
	}
	u := h.Ordered()[i]
	rest := []*engine.Operation{u}
	for _, o := range h.Ordered()[i+1:] {
		if open(o) {
			rest = append(rest, o)
		}
	}
	return p.decide(rest, sought)
}

// open tells which operations something is left to do for.
func (p *planner) open() func(*engine.Operation) bool {
	missed := missed(p.h, p.s, p.counting)
	return func(o *engine.Operation) bool {
		return !p.s.Settled(o) || missed(o) && (o.Type == engine.TypeAbsolute || !p.h.Base().Reduces(o))
	}
}

// seek finds a create that may have been done: it is settled before another takes its place, and before the delete that ended
// it, which would not find what it made. Negative: there is none.
func (p *planner) seek() int {
	if p.there || p.s.Doubtful == nil {
		return -1
	}
	return slices.IndexFunc(p.h.Ordered(), func(o *engine.Operation) bool {
		return !o.Copy && p.s.seeks(o) && (!p.s.Settled(o) || !p.counts(o) && merge.Among(p.h.Living(p.s.Shows))(o))
	})
}

// idle reports whether o is a change that counts for nothing. It is passed over before what comes after it, also a create that is sought: else it
// would be settled with that, and count as applied.
func (p *planner) idle(o *engine.Operation) bool {
	changes := o.Type != engine.TypeCreate && o.Type != engine.TypeDelete && o.Type != engine.TypePlace
	return changes && !p.counts(o) && !is(p.s.Uncertain, o)
}

// decide says what to do about the first of rest, which are all that is left to do, in order. Sought: it is a create that may
// have been done.
func (p *planner) decide(rest []*engine.Operation, sought bool) Step {
	h, s, u := p.h, p.s, rest[0]
	if u.Copy {
		return Step{Kind: StepVacuous, Operations: rest[:1]}
	}
	// Nothing is made here for who may not have this site make it.
	if i := slices.IndexFunc(rest, func(o *engine.Operation) bool { return o.Type == engine.TypePlace && s.Blocked(o) }); i >= 0 {
		return hold("", rest[i])
	}
	if u.Type == engine.TypePlace && p.there { // shares may be others from then on
		if e := s.Fold(h).Difference(h.Fold(s.Shown().Or(u))); !e.Empty() {
			return Step{Kind: StepCorrect, Operations: rest[:1], Correction: e}
		}
	}
	if u.Type == engine.TypePlace || is(s.Carried, u) {
		return Step{Kind: StepVacuous, Operations: rest[:1]}
	}
	void := !p.counts(u)
	if u.Type == engine.TypeDelete {
		void = h.Reversed(u, merge.Any)
	}
	// It may count again, and nobody would know any more that it may have run; or it may have made an object, which nobody would
	// delete.
	if is(s.Uncertain, u) && (u.Type == engine.TypeAction && h.Exists(merge.Any) || u.Type == engine.TypeCreate) {
		return hold("", u)
	}
	if void && !sought {
		return p.pass(rest)
	}
	// What comes before one that may have run waits, too: it would take away what that has done, or take it as done.
	if i := slices.IndexFunc(rest, func(o *engine.Operation) bool { return is(s.Uncertain, o) && p.counts(o) }); i >= 0 {
		return hold("", rest[i])
	}
	switch {
	case s.Blocked(u):
		return hold("", u)
	// A delete that was refused, or has found nothing before the object was shown, has left it.
	case u.Type == engine.TypeDelete && !p.there && (s.Gone || s.Stays != nil && slices.ContainsFunc(h.Ordered(), s.Stays)):

		return Step{Kind: StepVacuous, Operations: rest[:1]}
	case u.Type == engine.TypeDelete && !h.Exists(s.Shown().Or(u)):
		return Step{Kind: StepRun, Operations: rest[:1]}
	case void: // the create may have been done: what was sent for it then tells, and that is sent once more
		return bringAbout(h, s, rest[:1], merge.Any)
	case !p.there:
		if i := p.outlived(rest); i > 0 {
			return Step{Kind: StepSkip, Operations: rest[i : i+1]}
		}
		return bringAbout(h, s, rest, p.counts)
	}
	return p.change(rest)
}

// change says how what the first of rest does is done to the object that is there.
func (p *planner) change(rest []*engine.Operation) Step {
	h, s, u := p.h, p.s, rest[0]
	switch {
	case u.Type == engine.TypeDelete && len(Remains(h, s, u)) > 0 && h.Exists(merge.Any): // else others end what remains
		return startAnew(h, s, u)
	case u.Type == engine.TypeAction:
		return act(h, s, u)
	case u.Type == engine.TypeAbsolute:
		last := lastAbsolute(p.counting)[u.Path]
		switch {
		case last == u || last == nil || !s.Shows(last) && !is(s.Carried, last) || h.BothRun(u, last):
			return act(h, s, u)
		case takes(h, s)(u):
			return correctFor(h, s, rest[:1], rest)
		}
		return Step{Kind: StepSkip, Operations: rest[:1]}
	case !p.inOrder(u):
		return correctFor(h, s, foldable(s, rest, p.counts), rest)
	}
	step := Step{Kind: StepRun, Operations: rest[:1]}
	if h.Contests() { // it may take the effect of the last opaque bytes
		_, step.Again = s.target(h, s.Shown().Or(u), s.Fold(h))
	}
	return step
}

// inOrder reports whether u may be sent as its caller sent it. A body that has what the application of its origin showed by itself may not.
func (p *planner) inOrder(u *engine.Operation) bool {
	return u.Type != engine.TypeDelete && !u.Keep && (u.Edit == nil || !u.Edit.Partial) && !p.h.Base().Reduces(u) && !merge.ByPosition(p.h.Kind(), u) && !p.h.Division(p.s.Shown().Or(u)).Divides(u) &&
		sawTheSame(p.h, u, p.s)
}

// pass settles the first of rest, which counts for nothing, and takes back what it may have left.
func (p *planner) pass(rest []*engine.Operation) Step {
	if p.there {
		maybe, touched := p.s.withoutAnswer(rest[:1]), rest[:1]
		if len(maybe) == 0 && !is(p.s.Ran, rest[0]) {
			touched = nil
		}
		if e := restoring(p.s.Fold(p.h), touched); !e.Empty() {
			return Step{Kind: StepCorrect, Operations: rest[:1], Correction: e, Doubted: doubted(&engine.Edit{}, e, maybe), Void: true}
		}
	}
	return Step{Kind: StepSkip, Operations: rest[:1]}
}

// takeBack sets what operations that do not count any more have set to what the others amount to. What nobody can see of them stays: the
// effect of an action that the catalog does not declare.
func takeBack(h *merge.History, s Standing) Step {
	if h.Exists(s.Shows) && !s.Gone {
		if e := restoring(s.Fold(h), s.Undo); !e.Empty() {
			return Step{Kind: StepCorrect, Operations: s.Undo, Correction: e, Void: true}
		}
	}
	return Step{Kind: StepVacuous, Operations: s.Undo}
}

// outlived finds among rest, where the object is gone, one that may have run on it and counts for nothing any more: while a
// request for that is open, nothing is made. What its origin issued before it is settled. 0: there is none.
func (p *planner) outlived(rest []*engine.Operation) int {
	return max(0, slices.IndexFunc(rest, func(o *engine.Operation) bool {
		before := func(q *engine.Operation) bool { return q.Line == o.Line && q.Number < o.Number }
		return o.Type != engine.TypeCreate && o.Type != engine.TypeDelete && !p.counts(o) && is(p.s.Doubtful, o) &&
			!slices.ContainsFunc(rest, before)
	}))
}

// sawTheSame reports whether the application shows just what the caller of u saw, the same operations count, and u only adds
// to them.
func sawTheSame(h *merge.History, u *engine.Operation, s Standing) bool {
	if u.Type == engine.TypeCreate { // whose caller saw no object
		return false
	}
	shown := folding(h, s.Shown())
	seen := merge.Pick(func(o *engine.Operation) bool { return h.Before(o, u) })
	return slices.Equal(shown, folding(h, seen)) && slices.Equal(append(slices.Clip(shown), u), folding(h, s.Shown().Or(u)))
}

// folding returns the operations that count, without those that only put opaque bytes.
func folding(h *merge.History, p merge.Pick) []*engine.Operation {
	counting, _ := h.Effective(p)
	return slices.DeleteFunc(counting, func(o *engine.Operation) bool { return o.Type == engine.TypeAbsolute && o.Edit == nil })
}
