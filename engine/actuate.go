package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// bringUpToDate does for one resource what there is to do. It reports whether it is to be tried again later.
func (s *Site) bringUpToDate(ctx context.Context, id DocumentID) (bool, error) {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return false, err
	}
	defer r.pass()
	if _, listed := s.listed.Load(id); listed {
		if err := s.showAnew(ctx, id); err != nil {
			return false, err
		}
		s.listed.Delete(id)
	}
	// What the application shows is not known before this site's own requests are settled.
	var waits *Refusal
	if err := s.settleEarlier(ctx, r); errors.As(err, &waits) {
		return true, s.tidy(ctx, r)
	} else if err != nil {
		return false, err
	}
	again, err := s.drain(ctx, r)
	r.mu.Lock()
	wait := r.notBefore.Sub(s.cfg.Now())
	r.mu.Unlock()
	if err == nil && again && wait > 0 {
		s.queue.add(job{document: id}, wait)
		return false, nil
	}
	return again, err
}

// drain does all that can be done for a resource now, and keeps its history short. It reports whether to try again later; what
// waits for its service comes again without that. The caller holds the turn.
func (s *Site) drain(ctx context.Context, r *resource) (again bool, err error) {
	if again, err = s.steps(ctx, r); err == nil {
		err = s.tidy(ctx, r)
	}
	unlock := r.lock()
	defer unlock()
	service, gone := ServiceName(""), false
	if r.view != nil {
		service, gone = r.view.about.Service, !r.view.exists()
	}
	unlock()
	if gone && err == nil && !again { // what has yielded its name to this one may have it now
		_, again, err = s.keepName(ctx, r)
	}
	switch {
	case service == "": // its document could not be read
	case err != nil || !again:
		s.leaves(service, r.id)
	case s.waits(service, r.id):
		return false, nil
	}
	return again, err
}

// steps takes one step after the other until nothing is left or something has to wait. The caller holds the turn.
func (s *Site) steps(ctx context.Context, r *resource) (again bool, err error) {
	if waits, again, err := s.keepName(ctx, r); waits || err != nil {
		return again, err
	}
	for ctx.Err() == nil {
		if done, again, err := s.step(ctx, r); done {
			return again, err
		}
	}
	return true, ctx.Err()
}

// step takes one step. Done: nothing is left, or something has to wait; again says whether to try again later. The caller holds the turn.
func (s *Site) step(ctx context.Context, r *resource) (done, again bool, err error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return true, false, err
	}
	part := v.part(s.cfg.Self)
	if part == partMember || part == partLeaving {
		s.wantBodies(v)
	}
	if part == partLeaving && v.replicas[s.cfg.Self].Paused != nil { // a removal ends a pause
		err := s.endPause(ctx, r)
		return err != nil, false, err
	}
	if v.replicas[s.cfg.Self].Paused != nil || part == partFormer || part == partNone {
		s.twin.looked(r.id)
		return true, false, nil
	}
	_, left := s.resumed.Load(r.id)
	if (left || v.replicas[s.cfg.Self].Lost != nil || s.twin.wasRestored()) && s.uncompared(v.correspondents()) {
		return true, true, nil
	}
	if v.replicas[s.cfg.Self].Lost != nil {
		if v.orphaned() { // what the lost run had settled is not all here, and never will be
			return true, true, nil
		}
		unlock()
		if again, err := s.recheck(ctx, r); again || err != nil {
			return true, again, err
		}
		return false, false, nil
	}
	if replica := v.replica(s.cfg.Self); replica.Bare && replica.Local != "" && v.exists() {
		if v.outcomes[s.cfg.Self][replica.Joined].Blocks {
			return true, false, nil
		}
		admitted, err := s.enter(ctx, r)
		unlock()
		if !admitted || err != nil {
			return true, true, err
		}
		if again, err := s.copyContent(ctx, r); again || err != nil {
			return true, again, err
		}
		return false, false, nil
	}
	standing := s.standing(v)
	step, unfinished, err := s.unfinished(ctx, r, v, standing)
	if err != nil {
		return true, true, err
	}
	if !unfinished {
		step = Next(v.history, standing)
	}
	if part == partLeaving && v.nothingBefore(step) {
		err := error(nil)
		if !s.onlyHere(v) && !v.history.holdsBack(v.mine) {
			err = s.leave(ctx, r, v)
		}
		return true, false, err
	}
	if wait, err := s.holdMismatch(ctx, r, late(v.history, standing, step)); wait || err != nil {
		return true, wait, err
	}
	local, kind := v.local(), v.kind
	first := (*Operation)(nil)
	if len(step.Operations) > 0 {
		first = step.Operations[0]
	}
	if !kind.Natural() && step.makes() && (s.twin.busy() || s.uncompared(v.correspondents())) {
		return true, true, nil
	}
	if hold, err := s.holdDeletion(ctx, r, v, step); hold || err != nil {
		return true, false, err
	}
	if o := step.sends(); s.lacks(o) {
		if step.Kind == StepRun && v.settled(s.cfg.Self, o) { // it was passed over, and counts after all
			err := s.write(ctx, r, []Entry{s.outcomeEntry(o, Outcome{State: StatePending, Again: true})}, &Batch{})
			return err != nil, false, err
		}
		s.queue.add(job{body: bodyJob{r.id, o.ID}}, 0)
		return true, false, nil // it comes again with the body
	}
	if step.Kind == StepRun || step.Kind == StepCorrect || step.Kind == StepMake {
		if admitted, err := s.enter(ctx, r); !admitted || err != nil {
			return true, true, err
		}
	}
	switch step.Kind {
	case StepNothing:
		err = s.endPassedOver(ctx, v, standing)
		s.leftOver.Delete(r.id)
		s.resumed.Delete(r.id)
		s.lookSoon(r)
		return true, false, err
	case StepHold:
		if step.Reason != "" {
			err = s.write(ctx, r, []Entry{s.outcomeEntry(first, Outcome{State: StateRejected, Blocks: true, Cause: ConflictUndeclared, Error: s.whyHeld(step)})}, &Batch{})
		}
		return true, false, err
	case StepRefuse:
		err = s.write(ctx, r, []Entry{
			s.outcomeEntry(first, Outcome{State: StateRejected, Dropped: true, Error: "this site has no replica: its create was dropped"}),
			s.replicaEntry(v, local, first),
		}, &Batch{})
	case StepSkip:
		err = s.write(ctx, r, []Entry{
			s.outcomeEntry(first, Outcome{State: StateSuperseded}),
			s.replicaEntry(v, local, first),
		}, &Batch{Settled: []OperationID{first.ID}})
		s.opened.Delete(first.ID)
		s.certain(first)
	case StepVacuous:
		err = s.settleAll(ctx, r, step, s.stepEntries(v, local, step, step.Operations, Reply{}))
	case StepRun:
		unlock()
		defer r.crossing()()
		again, err = s.run(ctx, r, kind, first, local, step)
	case StepMake:
		unlock()
		defer r.crossing()()
		again, err = s.run(ctx, r, kind, step.Make, "", step)
	case StepCorrect:
		unlock()
		defer r.crossing()()
		again, err = s.correct(ctx, r, kind, step, local)
	}
	return err != nil || again, again, err
}

// standing is what this site's application has been brought to.
func (s *Site) standing(v *view) Standing {
	st := v.standing()
	st.Doubtful = func(o *Operation) bool {
		_, sent := s.opened.Load(o.ID)
		_, left := s.leftOver.Load(v.document)
		// No intent tells whether it was sent with its key; or a person has said which object it has made.
		return sent || left && v.kind.HonoursKey && o.Method == http.MethodPost && !st.Settled(o) || v.outcomes[v.self][o.ID].Adopt != ""
	}
	st.Unsure = func(o *Operation) bool {
		_, sent := s.unsure.Load(o.ID)
		_, left := s.resumed.Load(v.document)
		return sent || left
	}
	return st
}

// endPassedOver ends what is open of operations that had been passed over, counted after all when they were sent, and do not count any more:
// nothing is left to do for them. The caller holds the lock of the resource and the turn.
func (s *Site) endPassedOver(ctx context.Context, v *view, standing Standing) error {
	var ids []OperationID
	for _, o := range v.history.ordered {
		if _, sent := s.opened.Load(o.ID); sent && standing.Settled(o) && standing.Void(o) {
			ids = append(ids, o.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := s.commit(ctx, &Batch{Settled: ids}); err != nil {
		return fmt.Errorf("end what does not count any more: %w", err)
	}
	for _, id := range ids {
		s.opened.Delete(id)
	}
	return nil
}

// whyHeld says in words why a step holds.
func (s *Site) whyHeld(step Step) string {
	o := step.Operations[1]
	if step.Reason == HoldMixed {
		return fmt.Sprintf("the delete ends one of two creates of this name, and what was done for that one is still there; the object cannot be made "+
			"anew without it: %s has run on it and the catalog does not say what that sets (operation %s); set the object right and "+
			"say that this is done, or drop this operation here", o.Path, o.ID)
	}
	return fmt.Sprintf("the application has no object of it any more, and it cannot be made anew: %s has run on it and the catalog does not "+
		"say what that sets (operation %s); restore the object and adopt it, or drop this operation here", o.Path, o.ID)
}
