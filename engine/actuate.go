package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// bringUpToDate does for one resource what there is to do. It reports whether it is to be tried again later.
func (s *Site) bringUpToDate(ctx context.Context, id DocumentID) (bool, error) {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return false, err
	}
	defer r.pass()
	return s.drain(ctx, r)
}

// drain takes one step after the other until nothing is left or something has to wait. The caller holds the turn.
func (s *Site) drain(ctx context.Context, r *resource) (again bool, err error) {
	for ctx.Err() == nil {
		r.mu.Lock()
		v, err := s.open(ctx, r)
		if err != nil {
			r.mu.Unlock()
			return false, err
		}
		step := Next(v.history, v.standing())
		local, kind := v.local(), v.kind
		switch step.Kind {
		case StepNothing, StepHold:
			r.mu.Unlock()
			return false, nil
		case StepSkip:
			err = s.write(ctx, r, []Entry{
				s.outcomeEntry(step.Operations[0], Outcome{State: StateSuperseded}),
				s.replicaEntry(v, local, step.Operations...),
			}, &Batch{})
			r.mu.Unlock()
		case StepVacuous:
			err = s.write(ctx, r, []Entry{s.replicaEntry(v, local, step.Operations...)}, &Batch{})
			r.mu.Unlock()
		case StepRun:
			r.mu.Unlock()
			again, err = s.run(ctx, r, kind, step.Operations[0], local)
		case StepCorrect:
			r.mu.Unlock()
			again, err = s.correct(ctx, r, kind, step, local)
		}
		if err != nil || again {
			return again, err
		}
	}
	return true, ctx.Err()
}

// run sends an operation of another site as its caller sent it. The caller holds the turn.
func (s *Site) run(ctx context.Context, r *resource, k *Kind, o *Operation, local LocalID) (bool, error) {
	// That what may be sent again is about to be sent is on disk already: it is in the document and not settled.
	careful := !resendable(k, o)
	if _, sent := s.opened.Load(o.ID); careful && sent {
		settled, again, err := s.lookFor(ctx, r, k, o)
		if settled || err != nil {
			return again, err
		}
	} else if careful {
		if err := s.declare(ctx, &crossing{Operation: *o, Service: k.Service, Kind: k.Name, Document: r.id, Received: true}); err != nil {
			return false, err
		}
		s.opened.Store(o.ID, true)
	}
	if o.Type == TypeCreate && k.Natural() {
		key, err := s.key(ctx, r)
		if err != nil {
			return false, err
		}
		local = LocalID(key)
	}
	reply, err := s.call(ctx, k, o, local, nil)
	switch judge(o.Type, reply, err) {
	case verdictDone:
		return false, s.succeed(ctx, r, k, o, reply, local)
	case verdictUnknown:
		if !careful {
			return true, s.note(ctx, r, o, reply, err)
		}
		if o.Type == TypeCreate && k.Natural() {
			return true, s.note(ctx, r, o, reply, err) // the next try looks for it first
		}
		return false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Status: reply.Status, Error: tell(reply, err), Blocks: true})
	case verdictUnsent, verdictLater, verdictDenied:
		if careful { // it certainly has not run
			if err := s.close(ctx, o.ID); err != nil {
				return false, err
			}
			s.opened.Delete(o.ID)
		}
		return true, s.note(ctx, r, o, reply, err)
	case verdictConflict:
		if o.Type == TypeCreate {
			return s.meet(ctx, r, k, o, reply)
		}
	}
	// A create that was refused leaves nothing that later operations could change: they wait for a person.
	return false, s.fail(ctx, r, o, Outcome{State: StateRejected, Status: reply.Status, Error: tell(reply, err), Blocks: o.Type == TypeCreate})
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

// succeed records that an operation was applied here.
func (s *Site) succeed(ctx context.Context, r *resource, k *Kind, o *Operation, reply Reply, local LocalID) error {
	switch o.Type {
	case TypeCreate:
		if reply.Local != "" {
			local = reply.Local
		}
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
	entries := []Entry{s.replicaEntry(v, local, o)}
	if _, ok := v.outcomes[outcomeKey(s.cfg.Self, o.ID)]; ok { // it had failed before
		entries = append(entries, s.outcomeEntry(o, Outcome{State: StateApplied, Status: reply.Status}))
	}
	if err := s.write(ctx, r, entries, &Batch{Settled: []OperationID{o.ID}}); err != nil {
		return err
	}
	s.opened.Delete(o.ID)
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
		s.opened.Delete(o.ID)
	}
	return s.write(ctx, r, entries, b)
}

// note remembers why an operation has to be tried again, so that it is visible. Nothing of it is published.
func (s *Site) note(ctx context.Context, r *resource, o *Operation, reply Reply, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, openErr := s.open(ctx, r)
	if openErr != nil {
		return openErr
	}
	s.attempt(v, o, reply, err)
	v.touched[o.ID] = true
	return s.store(ctx, r, &Batch{})
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
func (s *Site) lookFor(ctx context.Context, r *resource, k *Kind, o *Operation) (settled, again bool, err error) {
	if o.Type != TypeCreate || !k.Natural() {
		return true, false, s.fail(ctx, r, o, Outcome{State: StateUncertain, Blocks: true,
			Error: "the agent stopped before the answer came"})
	}
	key, err := s.key(ctx, r)
	if err != nil {
		return true, false, err
	}
	reply, err := s.read(ctx, k, LocalID(key))
	switch {
	case err != nil || reply.Status >= 500:
		return true, true, s.note(ctx, r, o, reply, err)
	case reply.Status == http.StatusNotFound || reply.Status == http.StatusGone:
		return false, false, nil
	}
	again, err = s.meet(ctx, r, k, o, reply)
	return true, again, err
}

// meet decides about a create whose identifier is taken: an object that shows what the operation sets is the operation's
// own work; any other belongs to somebody else and is never overwritten.
func (s *Site) meet(ctx context.Context, r *resource, k *Kind, o *Operation, refusal Reply) (bool, error) {
	taken := Outcome{State: StateRejected, Status: refusal.Status, Blocks: true,
		Error: "the application has an object of this identifier already that is not a replica: delete or rename it there, then retry"}
	if !k.Natural() {
		taken.Error = tell(refusal, nil)
		return false, s.fail(ctx, r, o, taken)
	}
	id, err := s.key(ctx, r)
	if err != nil {
		return false, err
	}
	key := LocalID(id)
	reply, err := s.read(ctx, k, key)
	if err != nil || reply.Status >= 500 {
		return true, s.note(ctx, r, o, reply, err)
	}
	if reply.Status != http.StatusOK || !s.showsChange(ctx, k, reply, o.Change) {
		return false, s.fail(ctx, r, o, taken)
	}
	return false, s.succeed(ctx, r, k, o, Reply{Status: http.StatusOK, Local: key}, key)
}

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
		if !ok || !bytes.Equal(compact(got), canonical(want)) {
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

// correct sends what differs in one request: it reads what the application shows, sets the paths whose folded value has
// changed, and sends it back with the application's precondition. The caller holds the turn.
func (s *Site) correct(ctx context.Context, r *resource, k *Kind, step Step, local LocalID) (bool, error) {
	first := step.Operations[0]
	var reply Reply
	for try := range 2 { // once more when someone else wrote in between
		shown, err := s.read(ctx, k, local)
		if err != nil || shown.Status >= 500 || shown.Status == http.StatusTooManyRequests {
			return true, s.note(ctx, r, first, shown, err)
		}
		if shown.Status != http.StatusOK {
			return false, s.failAll(ctx, r, step, Outcome{State: StateRejected, Status: shown.Status,
				Error: "the replica is gone from the application, though no operation deleted it"})
		}
		call, err := s.correction(k, r, step.Correction, shown, local)
		if err != nil {
			return false, s.failAll(ctx, r, step, Outcome{State: StateRejected, Error: err.Error()})
		}
		bounded, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
		reply, err = s.cfg.App.Do(bounded, call)
		cancel()
		switch judge(TypeReplace, reply, err) {
		case verdictDone:
			return false, s.succeedAll(ctx, r, step, reply, local)
		case verdictUnknown, verdictUnsent, verdictLater, verdictDenied:
			return true, s.note(ctx, r, first, reply, err)
		case verdictConflict:
			if try == 0 {
				continue
			}
		}
		break
	}
	return false, s.failAll(ctx, r, step, Outcome{State: StateRejected, Status: reply.Status, Error: tell(reply, nil)})
}

// correction makes the request that brings the application from what it shows to what it is to show.
func (s *Site) correction(k *Kind, r *resource, c *Change, shown Reply, local LocalID) (Call, error) {
	call := Call{Kind: k, Path: k.Item, Local: local, Header: map[string]string{"Accept": "application/json"}}
	if k.MergePatch {
		call.Method, call.Body = http.MethodPatch, c.MergePatch()
		call.Header["Content-Type"] = s.mergeType(r)
	} else {
		body, err := c.ApplyTo(shown.Body)
		if err != nil {
			return Call{}, fmt.Errorf("the application shows no JSON that could be corrected: %w", err)
		}
		call.Method, call.Body = http.MethodPut, body
		call.Header["Content-Type"] = "application/json"
	}
	if etag := shown.Header.Get("ETag"); etag != "" && !strings.HasPrefix(etag, "W/") {
		call.Header["If-Match"] = etag
	}
	return call, nil
}

// mergeType is the media type that clients of this resource send merge patches with, because not every application
// takes the registered one.
func (s *Site) mergeType(r *resource) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.view != nil {
		for _, o := range r.view.history.ordered {
			if t := o.Header["Content-Type"]; o.Type == TypeMerge && t != "" {
				return t
			}
		}
	}
	return "application/merge-patch+json"
}

func (s *Site) succeedAll(ctx context.Context, r *resource, step Step, reply Reply, local LocalID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	for _, o := range step.Operations {
		s.attempt(v, o, reply, nil)
	}
	return s.write(ctx, r, []Entry{s.replicaEntry(v, local, step.Operations...)}, &Batch{})
}

func (s *Site) failAll(ctx context.Context, r *resource, step Step, out Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	entries := []Entry{s.replicaEntry(v, v.local(), step.Operations...)}
	for _, o := range step.Operations {
		entries = append(entries, s.outcomeEntry(o, out))
	}
	return s.write(ctx, r, entries, &Batch{})
}
