package engine

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
)

// run sends an operation of another site as its caller sent it, or the create that makes the object anew. The caller holds
// the turn.
func (s *Site) run(ctx context.Context, r *resource, k *Kind, o *Operation, local LocalID, step Step) (bool, error) {
	// A PUT that creates takes the place of whatever has its identifier, and a patch changes that: it is looked first.
	looks := o.Type == TypeCreate && k.Natural() && o.Method != http.MethodPost && local == ""
	if o.Type == TypeCreate && k.Natural() {
		key, err := s.key(ctx, r)
		if err != nil {
			return false, err
		}
		release, err := s.naming.take(ctx, k, key)
		if err != nil {
			return false, err
		}
		defer release()
		if local == "" {
			if waits, err := s.takeName(ctx, r, k, o, key); waits || err != nil {
				return true, err
			}
		}
		local = s.here(ctx, k, string(key))
	}
	at := local
	if o.Type == TypeCreate && k.Within != "" && !k.Natural() {
		key, err := s.key(ctx, r)
		if err != nil {
			return false, err
		}
		container, _ := k.Split(string(key))
		at = s.addressed(ctx, k, "", container)
	}
	// That what may be sent again is about to be sent is on disk already: it is in the document and not settled.
	if adopted, err := s.adopted(ctx, r, o); adopted != "" || err != nil {
		return s.adopt(ctx, r, k, o, adopted, step, err)
	}
	careful := looks || !resendable(k, o) || step.Kind == StepMake
	answer, sent := s.opened.Load(o.ID)
	if reply, ok := answer.(*Reply); ok && reply != nil { // it ran, and that could not be recorded
		return false, s.succeed(ctx, r, k, o, *reply, local, step)
	}
	switch {
	case sent && o.Type == TypePatch && careful: // what it sets may be set again, the patch may not
		return s.correct(ctx, r, k, Step{Kind: StepCorrect, Operations: []*Operation{o}, Correction: o.Change}, local)
	case sent && !resendable(k, o), looks && !sent, !sent && s.mayHaveMarked(r, k, o):
		settled, again, err := s.lookFor(ctx, r, k, o, step)
		if settled || err != nil {
			return again, err
		}
		if sent && (step.Kind == StepMake || s.isVoid(r, o)) { // nothing came of it: what is to be made now may be something else, or nothing
			return false, s.forgo(ctx, r, o)
		}
	}
	key, err := s.idempotencyKey(ctx, r, o, step)
	if err != nil {
		return false, err
	}
	if careful && (!sent || s.marks(k, o)) { // again for a marker: it counts when the request went out last
		c := &crossing{Operation: *o, Service: k.Service, Kind: k.Name, Document: r.id, Received: true, Key: key, Making: makingOf(step)}
		if err := s.declare(ctx, c); err != nil {
			return false, err
		}
		s.opened.Store(o.ID, (*Reply)(nil))
		s.made(c)
	}
	maybe := s.sentBefore(r, o) && (sent || !careful) // an earlier try may have been done
	s.doubt(step.Operations...)
	reply, err := s.call(ctx, k, o, at, nil, key)
	ctx = context.WithoutCancel(ctx) // what came of it is recorded, also when the agent stops
	alone := s.heard(ctx, k.Service, r.id, reply, err, true)
	became := judge(o.Type, reply, err)
	if became == verdictConflict || became == verdictRefused {
		switch s.written(ctx, k, o, local) { // the application may have it already, from whomever
		case verdictDone:
			return false, s.succeed(ctx, r, k, o, reply, local, step)
		case verdictLater:
			return true, s.later(ctx, r, o, reply, err, alone)
		}
	}
	switch became {
	case verdictDone:
		err := s.succeed(ctx, r, k, o, reply, local, step)
		if err != nil && careful {
			s.opened.Store(o.ID, &reply)
		}
		return false, err
	case verdictUnknown:
		if o.Type == TypeCreate && !careful {
			s.opened.Store(o.ID, (*Reply)(nil)) // no delete may pass it over
			s.made(&crossing{Operation: *o, Document: r.id, Key: key})
		}
		// The next try looks for the object first, or sets the values, where the request is not to be repeated.
		if resendable(k, o) || o.Type == TypeCreate && (k.Natural() || s.marks(k, o)) || o.Type == TypePatch {
			return true, s.later(ctx, r, o, reply, err, alone)
		}
		return false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Status: reply.Status, Error: tell(reply, err), Blocks: true})
	case verdictUnsent, verdictLater, verdictDenied:
		if !maybe {
			s.certain(step.Operations...)
		}
		if err := s.withdraw(ctx, k, o, careful, sent); err != nil {
			return false, err
		}
		return true, s.later(ctx, r, o, reply, err, alone)
	case verdictConflict:
		switch {
		case o.Type == TypeCreate:
			return s.meet(ctx, r, k, o, reply, step)
		case !o.Change.Empty() && o.Type != TypeAction: // it is read again, and what o sets is set in that
			return s.correct(ctx, r, k, Step{Kind: StepCorrect, Operations: []*Operation{o}, Correction: o.Change}, local)
		case !s.contested(r, o):
			if err := s.withdraw(ctx, k, o, careful, sent); err != nil {
				return false, err
			}
			return true, s.note(ctx, r, o, reply, nil)
		}
	}
	if handled, again, err := s.gone(ctx, r, k, o, local, reply); handled || err != nil {
		if err == nil && careful { // it certainly has not run
			if err = s.close(ctx, o.ID); err == nil {
				s.opened.Delete(o.ID)
			}
		}
		return again, err
	}
	if o.Type == TypeCreate && isGone(reply, nil) && s.awaitsContainer(ctx, r, k, o, at) {
		if err := s.withdraw(ctx, k, o, careful, sent); err != nil {
			return false, err
		}
		return true, s.later(ctx, r, o, reply, nil, alone)
	}
	if maybe && !k.HonoursKey { // one that honours its key would have given its first answer again
		if decided, again, err := s.refusedAgain(ctx, r, k, o, local, reply, step); decided || err != nil {
			return again, err
		}
	}
	// A create that was refused leaves nothing that later operations could change: they wait for a person.
	return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: reply.Status, Error: tell(reply, err), Blocks: o.Type == TypeCreate})
}

// isVoid reports whether nothing is to come of an operation any more, as far as this site knows.
func (s *Site) isVoid(r *resource, o *Operation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view != nil && !among(r.view.history.Living(anyOperation))(o)
}

// withdraw closes the intent of an operation that certainly has not run, unless an earlier try may have.
func (s *Site) withdraw(ctx context.Context, k *Kind, o *Operation, careful, sent bool) error {
	if !careful || sent && resendable(k, o) {
		return nil
	}
	if err := s.close(ctx, o.ID); err != nil {
		return err
	}
	s.opened.Delete(o.ID)
	return nil
}

// succeed records that an operation was applied here, and with StepMake all that the new object shows.
func (s *Site) succeed(ctx context.Context, r *resource, k *Kind, o *Operation, reply Reply, local LocalID, step Step) error {
	switch o.Type {
	case TypeCreate:
		local = cmp.Or(reply.Local, local)
		if local == "" {
			return s.fail(ctx, r, o, Outcome{State: StateUncertain, Status: reply.Status, Blocks: true,
				Error: fmt.Sprintf("the answer does not tell the new %s's identifier at %q; check the catalog", k.Name, k.ID.At)})
		}
	case TypeDelete:
		local = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	s.attempt(v, o, reply, nil)
	settled := step.Operations[:min(1, len(step.Operations))]
	if step.Kind == StepMake {
		settled = append(slices.Clip(step.Operations), v.madeGood(among(v.history.Living(anyOperation)))...)
		if create := v.history.Get(o.ID); !slices.Contains(settled, create) { // it may have waited for a person
			settled = append(settled, create)
		}
	}
	entries := s.stepEntries(v, local, step, settled, reply)
	if step.Late {
		again := v.replica(s.cfg.Self).settles()(o) // it had been passed over, or is applied once more
		entries = append(s.leftovers(step), s.outcomeEntry(o, Outcome{State: StatePending, Status: reply.Status, Ran: true, Again: again}))
	}
	if err := s.write(ctx, r, entries, &Batch{Settled: []OperationID{o.ID}}); err != nil {
		return err
	}
	s.opened.Delete(o.ID)
	s.certain(settled...)
	return nil
}

// fail publishes what became of an operation that did not succeed here. Unless the outcome blocks, the operation is
// settled by it and later ones go on.
func (s *Site) fail(ctx context.Context, r *resource, o *Operation, out Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	v.ended(o.ID, out, s.cfg.Now())
	out.Again = out.Blocks && v.replica(s.cfg.Self).settles()(o) // it was done with once, and is not any more
	entries := []Entry{s.outcomeEntry(o, out)}
	if !out.Blocks {
		entries = append(entries, s.replicaEntry(v, v.local(), o))
	}
	b := &Batch{}
	if out.State != StateUncertain {
		b.Settled = []OperationID{o.ID}
	}
	if err := s.write(ctx, r, entries, b); err != nil {
		return err
	}
	if out.State != StateUncertain {
		s.opened.Delete(o.ID)
		s.certain(o)
		s.leftOver.Delete(r.id)
	}
	return nil
}
