package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// bringUpToDate does for one resource what there is to do. It reports whether it is to be tried again later.
func (s *Site) bringUpToDate(ctx context.Context, id DocumentID) (bool, error) {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return false, err
	}
	defer r.pass()
	// What the application shows is not known before this site's own requests are settled.
	var waits *Refusal
	if err := s.settleEarlier(ctx, r); errors.As(err, &waits) {
		return true, nil
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

// drain does all that can be done for a resource now. It reports whether to try again later; what waits for its service comes
// again without that. The caller holds the turn.
func (s *Site) drain(ctx context.Context, r *resource) (again bool, err error) {
	again, err = s.steps(ctx, r)
	r.mu.Lock()
	service := ServiceName("")
	if r.view != nil {
		service = r.view.about.Service
	}
	r.mu.Unlock()
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
	for ctx.Err() == nil {
		r.mu.Lock()
		v, err := s.open(ctx, r)
		if err != nil {
			r.mu.Unlock()
			return false, err
		}
		if v.replicas[s.cfg.Self].Paused != nil {
			r.mu.Unlock()
			return false, nil
		}
		if v.part(s.cfg.Self) == partFormer || v.part(s.cfg.Self) == partNone {
			r.mu.Unlock()
			return false, nil
		}
		if replica := v.replica(s.cfg.Self); replica.Bare && replica.Local != "" {
			later, blocked := r.notBefore.After(s.cfg.Now()), v.outcomes[outcomeKey(s.cfg.Self, replica.Joined)].Blocks
			r.mu.Unlock()
			if later || blocked {
				return !blocked, nil
			}
			if again, err := s.copyContent(ctx, r); again || err != nil {
				return again, err
			}
			continue
		}
		step := Next(v.history, s.standing(v))
		if v.part(s.cfg.Self) == partLeaving && v.nothingBefore(step) {
			err := s.leave(ctx, r, v)
			r.mu.Unlock()
			return false, err
		}
		local, kind := v.local(), v.kind
		first := (*Operation)(nil)
		if len(step.Operations) > 0 {
			first = step.Operations[0]
		}
		if hold, err := s.holdDeletion(ctx, r, v, step); hold || err != nil {
			r.mu.Unlock()
			return false, err
		}
		if step.Kind == StepRun || step.Kind == StepCorrect || step.Kind == StepMake {
			admitted, probe := s.admit(v.about.Service, r.id)
			switch {
			case !admitted:
				err := s.hold(ctx, r, s.waitingFor(v.about.Service))
				r.mu.Unlock()
				return true, err
			case r.notBefore.After(s.cfg.Now()) && !probe:
				r.mu.Unlock()
				return true, nil
			case !probe:
				v.wait(nil)
			}
		}
		switch step.Kind {
		case StepNothing:
			s.leftOver.Delete(r.id)
			s.resumed.Delete(r.id)
			v.compact(s.cfg.History)
			s.lookSoon(r)
			r.mu.Unlock()
			return false, nil
		case StepHold:
			if step.Reason != "" {
				err = s.write(ctx, r, []Entry{s.outcomeEntry(first, Outcome{State: StateRejected, Blocks: true, Cause: ConflictUndeclared, Error: s.whyHeld(step)})}, &Batch{})
			}
			r.mu.Unlock()
			return false, err
		case StepRefuse:
			err = s.write(ctx, r, []Entry{
				s.outcomeEntry(first, Outcome{State: StateRejected, Dropped: true, Error: "this site has no replica: its create was dropped"}),
				s.replicaEntry(v, local, first),
			}, &Batch{})
			r.mu.Unlock()
		case StepSkip:
			err = s.write(ctx, r, []Entry{
				s.outcomeEntry(first, Outcome{State: StateSuperseded}),
				s.replicaEntry(v, local, first),
			}, &Batch{Settled: []OperationID{first.ID}})
			s.opened.Delete(first.ID)
			s.certain(first)
			r.mu.Unlock()
		case StepVacuous:
			err = s.settleAll(ctx, r, step, s.stepEntries(v, local, step, step.Operations, Reply{}))
			r.mu.Unlock()
		case StepRun:
			r.mu.Unlock()
			ended := r.crossing()
			again, err = s.run(ctx, r, kind, first, local, step)
			ended()
		case StepMake:
			r.mu.Unlock()
			ended := r.crossing()
			again, err = s.run(ctx, r, kind, step.Make, "", step)
			ended()
		case StepCorrect:
			r.mu.Unlock()
			ended := r.crossing()
			again, err = s.correct(ctx, r, kind, step, local)
			ended()
		}
		if err != nil || again {
			return again, err
		}
	}
	return true, ctx.Err()
}

// standing is what this site's application has been brought to.
func (s *Site) standing(v *view) Standing {
	st := v.standing()
	st.Doubtful = func(o *Operation) bool {
		_, sent := s.opened.Load(o.ID)
		_, left := s.leftOver.Load(v.document)
		return sent || left && v.kind.HonoursKey // of what has a key no intent tells whether it was sent
	}
	st.Unsure = func(o *Operation) bool {
		_, sent := s.unsure.Load(o.ID)
		_, left := s.resumed.Load(v.document)
		return sent || left
	}
	return st
}

// whyHeld says in words why a step holds.
func (s *Site) whyHeld(step Step) string {
	o := step.Operations[1]
	return fmt.Sprintf("the application has no object of it any more, and it cannot be made anew: %s has run on it and the catalog does not "+
		"say what that sets (operation %s); restore the object or drop this operation here", o.Path, o.ID)
}

// run sends an operation of another site as its caller sent it, or the create that makes the object anew. The caller holds
// the turn.
func (s *Site) run(ctx context.Context, r *resource, k *Kind, o *Operation, local LocalID, step Step) (bool, error) {
	// A PUT that creates takes the place of whatever has its identifier: it is looked first.
	looks := o.Type == TypeCreate && k.Natural() && o.Method == http.MethodPut && local == ""
	if o.Type == TypeCreate && k.Natural() {
		key, err := s.key(ctx, r)
		if err != nil {
			return false, err
		}
		if local == "" {
			if waits, again, err := s.giveWay(ctx, r, k, o, key); waits || err != nil {
				return again, err
			}
		}
		local = LocalID(key)
	}
	// That what may be sent again is about to be sent is on disk already: it is in the document and not settled.
	if adopted, err := s.adopted(ctx, r, o); adopted != "" || err != nil {
		return s.adopt(ctx, r, k, o, adopted, step, err)
	}
	careful := looks || !resendable(k, o)
	answer, sent := s.opened.Load(o.ID)
	if reply, ok := answer.(*Reply); ok && reply != nil { // it ran, and that could not be recorded
		return false, s.succeed(ctx, r, k, o, *reply, local, step)
	}
	switch {
	case sent && o.Type == TypePatch && careful: // what it sets may be set again, the patch may not
		return s.correct(ctx, r, k, Step{Kind: StepCorrect, Operations: []*Operation{o}, Correction: o.Change}, local)
	case sent && !resendable(k, o), looks && !sent:
		settled, again, err := s.lookFor(ctx, r, k, o, step)
		if settled || err != nil {
			return again, err
		}
	}
	if careful && !sent {
		if err := s.declare(ctx, &crossing{Operation: *o, Service: k.Service, Kind: k.Name, Document: r.id, Received: true}); err != nil {
			return false, err
		}
		s.opened.Store(o.ID, (*Reply)(nil))
	}
	key, err := s.idempotencyKey(ctx, r, o, step)
	if err != nil {
		return false, err
	}
	s.doubt(step.Operations...)
	reply, err := s.call(ctx, k, o, local, nil, key)
	ctx = context.WithoutCancel(ctx) // what came of it is recorded, also when the agent stops
	alone := s.heard(ctx, k.Service, r.id, reply, err, true)
	switch judge(o.Type, reply, err) {
	case verdictDone:
		err := s.succeed(ctx, r, k, o, reply, local, step)
		if err != nil && careful {
			s.opened.Store(o.ID, &reply)
		}
		return false, err
	case verdictUnknown:
		if o.Type == TypeCreate {
			s.opened.Store(o.ID, (*Reply)(nil)) // no delete may pass it over
		}
		// The next try looks for the object first, or sets the values, where the request is not to be repeated.
		if resendable(k, o) || o.Type == TypeCreate && k.Natural() || o.Type == TypePatch {
			return true, s.later(ctx, r, o, reply, err, alone)
		}
		return false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Status: reply.Status, Error: tell(reply, err), Blocks: true})
	case verdictUnsent, verdictLater, verdictDenied:
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
	// A create that was refused leaves nothing that later operations could change: they wait for a person.
	return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: reply.Status, Error: tell(reply, err), Blocks: o.Type == TypeCreate})
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

// contested reports whether the answer before this one was that a request did not fit what is there, too.
func (s *Site) contested(r *resource, o *Operation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.view == nil {
		return false
	}
	a := r.view.attempts[o.ID]
	return a != nil && Outcome{Status: a.status}.contested()
}

// contend tells all sites that a create waits here for an object of the same natural key that nothing known takes away.
func (s *Site) contend(ctx context.Context, r *resource, o *Operation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	const why = "another resource of this name is here and lives: delete one of them"
	if v.outcomes[outcomeKey(s.cfg.Self, o.ID)].Cause == ConflictName {
		return nil
	}
	return s.write(ctx, r, []Entry{s.outcomeEntry(o, Outcome{State: StatePending, Cause: ConflictName, Error: why})}, &Batch{})
}

// giveWay keeps a create from an object that another document of the same natural key owns here: another incarnation's
// goes first, and between two documents of one incarnation, created with different placements, a person decides.
func (s *Site) giveWay(ctx context.Context, r *resource, k *Kind, o *Operation, key ResourceID) (waits, again bool, err error) {
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return true, false, fmt.Errorf("list open intents: %w", err)
	}
	if slices.ContainsFunc(intents, func(i Intent) bool { return i.Document == r.id && i.Operation != o.ID }) {
		return true, true, s.note(ctx, r, o, Reply{}, errors.New("an earlier request of this site for it has had no certain answer yet"))
	}
	rows, _, err := s.cfg.Store.Resources(ctx, ResourceFilter{ID: key, Service: k.Service, Kind: k.Name})
	if err != nil {
		return true, false, fmt.Errorf("look for other resources called %s: %w", key, err)
	}
	for _, other := range rows {
		if other.Document == r.id || other.Local == "" {
			continue
		}
		mine, err := s.incarnation(ctx, r.id)
		if err != nil {
			return true, false, err
		}
		theirs, err := s.incarnation(ctx, other.Document)
		if err != nil {
			return true, false, err
		}
		if mine != theirs {
			if other.Sites[s.cfg.Self].Pending == 0 { // it stays, as far as is known here: a delete had not seen its create
				return true, true, s.contend(ctx, r, o)
			}
			return true, true, s.note(ctx, r, o, Reply{}, errors.New("another incarnation of it is still here"))
		}
		return true, false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: http.StatusConflict, Blocks: true, Cause: ConflictName,
			Error: "it was created twice, with different placements, and the other has the object here: delete one of them, then retry"})
	}
	return false, false, nil
}

// key returns the natural key or meta-identifier of the resource.
func (s *Site) key(ctx context.Context, r *resource) (ResourceID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return "", err
	}
	return v.about.Key, nil
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
	}
	entries := s.stepEntries(v, local, step, settled, reply)
	if step.Late {
		entries = append(s.leftovers(step), s.outcomeEntry(o, Outcome{State: StatePending, Status: reply.Status, Ran: true}))
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

// hold says why a resource is not tried now: to all sites when people have to do something about it, else here. The caller
// holds r.mu, and r.view is loaded.
func (s *Site) hold(ctx context.Context, r *resource, w *Waiting) error {
	v := r.view
	published := v.replicas[s.cfg.Self].Waits
	changed := v.wait(w)
	tell := w != nil && w.State == QueuePaused
	switch {
	case tell && (published == nil || *published != *w):
		entry := v.withSettled(v.local(), s.cfg.Now())
		entry.Waits = w
		return s.write(ctx, r, []Entry{{Map: MapReplicas, Key: string(s.cfg.Self), Value: compactStruct(entry)}}, &Batch{})
	case !tell && published != nil:
		return s.write(ctx, r, []Entry{s.replicaEntry(v, v.local())}, &Batch{})
	case !changed:
		return nil
	}
	return s.store(ctx, r, &Batch{})
}

// note remembers why an operation has to be tried again, so that it is visible.
func (s *Site) note(ctx context.Context, r *resource, o *Operation, reply Reply, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, openErr := s.open(ctx, r)
	if openErr != nil {
		return openErr
	}
	s.attempt(v, o, reply, err)
	v.touched[o.ID] = true
	if wait := s.respite(reply); wait > 0 {
		r.notBefore = s.cfg.Now().Add(wait)
	}
	return s.store(ctx, r, &Batch{})
}

// later has an operation tried again, after an answer to a request of the agent's own that did not settle it. Alone: the
// service lets the agent in, but not to this resource.
func (s *Site) later(ctx context.Context, r *resource, o *Operation, reply Reply, err error, alone bool) error {
	r.mu.Lock()
	v, openErr := s.open(ctx, r)
	if openErr == nil {
		w := s.waitingFor(v.about.Service)
		if alone {
			w = &Waiting{QueuePaused, s.cfg.Now(), "the application does not let the agent do this: " + tell(reply, err)}
			if old := v.replicas[s.cfg.Self].Waits; old != nil && old.Reason == w.Reason {
				w = old
			}
		}
		openErr = s.hold(ctx, r, w)
	}
	r.mu.Unlock()
	if openErr != nil {
		return openErr
	}
	return s.note(ctx, r, o, reply, err)
}

// maxRespite bounds what an application may ask for with Retry-After.
const maxRespite = 10 * time.Minute

// respite is how long an application is to be left alone after this answer; zero: as long as the backoff says.
func (s *Site) respite(r Reply) time.Duration {
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
		return s.cfg.RetryMax // somebody has to change the credentials
	}
	after := r.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int(maxRespite/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(at.Sub(s.cfg.Now()), maxRespite)
	}
	return 0
}

func (s *Site) attempt(v *view, o *Operation, reply Reply, err error) {
	a := v.attempts[o.ID]
	if a == nil {
		a = &attempt{}
		v.attempts[o.ID] = a
	}
	a.count++
	a.status, a.at, a.err = reply.Status, s.cfg.Now(), ""
	if err != nil || reply.Status >= 300 {
		a.err = tell(reply, err)
	}
}

// lookFor settles a create that may have been sent before: it looks for the resource under its chosen identifier. settled is
// false when the request is to be sent (again).
func (s *Site) lookFor(ctx context.Context, r *resource, k *Kind, o *Operation, step Step) (settled, again bool, err error) {
	if o.Type != TypeCreate || !k.Natural() {
		return true, false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Blocks: true,
			Error: "the agent stopped before the answer came"})
	}
	key, err := s.key(ctx, r)
	if err != nil {
		return true, false, err
	}
	reply, err := s.read(ctx, k, LocalID(key))
	if isGone(reply, err) {
		return false, false, nil
	}
	again, err = s.compare(ctx, r, k, o, LocalID(key), reply, err, step)
	return true, again, err
}

// meet decides about a create whose identifier the application says is taken.
func (s *Site) meet(ctx context.Context, r *resource, k *Kind, o *Operation, refusal Reply, step Step) (bool, error) {
	if !k.Natural() {
		return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: refusal.Status, Blocks: true, Cause: ConflictExists,
			Error: "the application has something of this kind already that is not a replica (" + tell(refusal, nil) +
				"): adopt it, or delete or rename it there and retry"})
	}
	key, err := s.key(ctx, r)
	if err != nil {
		return false, err
	}
	reply, err := s.read(ctx, k, LocalID(key))
	if isGone(reply, err) {
		return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: refusal.Status, Blocks: true, Error: tell(refusal, nil)})
	}
	return s.compare(ctx, r, k, o, LocalID(key), reply, err, step)
}

// compare decides about a create whose identifier is taken, by what the application answered to a look at it: an object
// that shows what the operation sets is the operation's own work; any other belongs to somebody else and is never
// overwritten.
func (s *Site) compare(ctx context.Context, r *resource, k *Kind, o *Operation, key LocalID, shown Reply, err error, step Step) (bool, error) {
	switch {
	case err != nil || shown.Status != http.StatusOK:
		return true, s.note(ctx, r, o, shown, err)
	case s.showsChange(ctx, k, shown, o.Change):
		return false, s.succeed(ctx, r, k, o, Reply{Status: http.StatusOK, Local: key}, key, step)
	}
	return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: http.StatusConflict, Blocks: true, Cause: ConflictExists, Error: exists})
}

const exists = "the application has an object of this identifier already that is not a replica: adopt it, or delete or rename it there and retry"

// showsChange reports whether a representation has every value that c sets.
func (s *Site) showsChange(ctx context.Context, k *Kind, reply Reply, c *Change) bool {
	p, err := s.cfg.App.Present(ctx, k, reply)
	if err != nil {
		return false
	}
	tree, err := parseJSON(p.Body)
	if err != nil || c == nil {
		return false
	}
	for at, want := range c.Set {
		got, ok := valueAt(tree, at)
		// The members of an object have paths of their own.
		_, object := got.(map[string]any)
		if !ok || object != isObject(want) || !object && !bytes.Equal(compact(got), canonical(want)) {
			return false
		}
	}
	return true
}

func canonical(b json.RawMessage) json.RawMessage {
	v, err := parseJSON(b)
	if err != nil {
		return b
	}
	return compact(v)
}
