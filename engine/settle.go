package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
)

// openIntent finds an intent of this site that has not been settled.
func (s *Site) openIntent(ctx context.Context, id OperationID) (*crossing, bool) {
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		s.cfg.Log.Error("list open intents", "err", err)
		return nil, false
	}
	for _, i := range intents {
		if i.Operation != id {
			continue
		}
		var c crossing
		if err := s.unseal(i.Operation, i.Data, &c); err != nil {
			s.cfg.Log.Error("open intent", "operation", string(id), "err", err)
			return nil, false
		}
		return &c, !c.Received
	}
	return nil, false
}

// settleEarlier settles the requests for a resource that had no certain answer, before another one goes out. The
// caller holds the turn.
func (s *Site) settleEarlier(ctx context.Context, r *resource) error {
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return fmt.Errorf("list open intents: %w", err)
	}
	for _, i := range intents {
		var c crossing
		if i.Document != r.id {
			continue
		}
		if err := s.unseal(i.Operation, i.Data, &c); err != nil {
			return fmt.Errorf("open intent %s: %w", i.Operation, err)
		}
		if c.Received {
			continue
		}
		again, err := s.settle(ctx, r, &c)
		if again || c.Asked || err != nil {
			return unanswered(i.Operation, err)
		}
	}
	return nil
}

// askedElsewhere leaves an action without a certain answer to a person, like one of another site, where another site has published it: whoever
// had handed it here was set back since, and has handed it there. The caller holds the turn.
func (s *Site) askedElsewhere(ctx context.Context, r *resource, k *Kind, c *crossing) (bool, error) {
	if r == nil || c.Operation.Type != TypeAction || resendable(k, &c.Operation) {
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	o := v.history.Get(c.Operation.ID)
	if o == nil || o.Origin == s.cfg.Self || v.settled(v.self, o) {
		return false, nil
	}
	b := &Batch{Settled: []OperationID{o.ID}}
	if err := s.askedNoMore(ctx, o.ID, b); err != nil {
		return false, err
	}
	return true, s.write(ctx, r, []Entry{s.outcomeEntry(o, Outcome{State: StateUncertain, Blocks: true,
		Error: "this site was asked for it before another was, and its application gave no certain answer"})}, b)
}

// settleIntent finds out what became of a request of this site that had no certain answer. It reports whether to try
// again later.
func (s *Site) settleIntent(ctx context.Context, id OperationID) (bool, error) {
	c, ok := s.openIntent(ctx, id)
	if !ok {
		return false, nil
	}
	if c.Document == "" {
		return s.settlePlain(ctx, c)
	}
	r := s.registry.acquire(c.Document)
	defer s.registry.release(r)
	if err := r.take(ctx); err != nil {
		return false, err
	}
	defer r.pass()
	if c, ok = s.openIntent(ctx, id); !ok { // settled while this waited for its turn
		return false, nil
	}
	return s.settle(ctx, r, c)
}

func (s *Site) settle(ctx context.Context, r *resource, c *crossing) (again bool, err error) {
	defer s.dropBlobOf(ctx, &c.Operation)
	o, k := &c.Operation, s.known.Load().by[kindKey{c.Service, c.Kind}]
	if k == nil {
		return false, fmt.Errorf("settle operation %s: %w: the catalog has no kind %s.%s", o.ID, ErrNotFound, c.Service, c.Kind)
	}
	if elsewhere, err := s.askedElsewhere(ctx, r, k, c); elsewhere || err != nil {
		return err != nil, err
	}
	if c.Asked && !c.Again {
		_, err := s.toldByLost(ctx, r, c)
		return err != nil, err
	}
	if wait, err := s.uncomparedIntent(ctx, r, c); wait || err != nil {
		return true, err
	}
	before, local := Fold{}, s.addressed(ctx, k, c.Target, c.Within)
	if r != nil {
		var held LocalID
		if before, held, err = s.standsAt(ctx, r); err != nil {
			return false, err
		}
		if c.About == nil {
			local = held
		}
	}
	if told, err := s.toldByLost(ctx, r, c); told || err != nil {
		return err != nil, err
	}
	if known, _ := s.opened.Load(o.ID); known != nil { // it has happened, and that could not be recorded
		return s.published(ctx, r, k, c, *known.(*Reply))
	}
	person := c.Again // who has said that it is to be sent again: that counts for one try
	if person && !resendable(k, o) {
		c.Again, c.Asked = false, false
		if err := s.declare(ctx, c); err != nil {
			return true, err
		}
	}
	if !person && !resendable(k, o) {
		done, reply, err := s.lookAtOrigin(ctx, k, c)
		switch {
		case err != nil:
			return true, nil
		case done:
			return s.published(ctx, r, k, c, reply)
		case c.Asked:
			return false, s.ask(ctx, c)
		}
	}
	if c.About != nil && c.About.Key != "" && k.Natural() {
		release, err := s.naming.take(ctx, k, c.About.Key)
		if err != nil {
			return true, nil
		}
		defer release()
	}
	key, err := s.crossingKey(ctx, r, c)
	if err != nil {
		return true, err
	}
	defer r.crossing()()
	reply, err := s.call(ctx, k, c.sent(), local, c.credentials(), key)
	ctx = context.WithoutCancel(ctx)
	switch became := judge(o.Type, reply, err); became {
	case verdictDone:
		if !c.Plain {
			if err := s.fix(k, o, before, c.shown(before)); err != nil && !errors.Is(err, ErrTooLarge) {
				return true, err
			}
		}
		return s.published(ctx, r, k, c, reply)
	case verdictConflict, verdictDenied, verdictRefused: // the first try may have happened, and have brought about this answer
		certain := person
		if k.HonoursKey { // it would have given its first answer again, had it let the caller in
			certain = became != verdictDenied
		}
		if !certain {
			c.Again = false
			return s.refusedAtOrigin(ctx, r, k, c, before, local, reply)
		}
		return false, s.dismiss(ctx, c, OperationStatus{State: StateRejected, Status: reply.Status, Error: tell(reply, nil), At: s.cfg.Now()})
	case verdictUnknown:
		if person && !resendable(k, o) { // it is to be asked for again
			c.Asked, c.Why = true, tell(reply, err)
			return false, s.ask(ctx, c)
		}
	default:
		if person && !resendable(k, o) { // it has certainly not run, so the try is still to come
			c.Again, c.Asked = true, true
			return true, s.declare(ctx, c)
		}
	}
	return true, nil
}

// lookAtOrigin looks for what a create made, by its marker or under its chosen identifier. Where it cannot know, it marks c as Asked.
func (s *Site) lookAtOrigin(ctx context.Context, k *Kind, c *crossing) (done bool, r Reply, err error) {
	if s.marks(k, c.sent()) {
		sent, err := s.sentAt(ctx, c.Operation.ID)
		if err != nil {
			return false, Reply{}, err
		}
		r, what, err := s.find(ctx, k, s.firstKey(&c.Operation), sent)
		switch what {
		case foundUnsure:
			c.Asked, c.Why = true, err.Error()
			return false, Reply{}, nil
		case foundNone: // it goes out again
			return false, Reply{}, s.declare(ctx, c)
		}
		return what == foundIt, r, err
	}
	made := cmp.Or(c.About, c.Choice)
	if c.Operation.Type != TypeCreate || made == nil || made.Key == "" || !k.Natural() {
		c.Asked, c.Why = true, "the application gave no certain answer, or the agent stopped before it came"
		return false, Reply{}, nil
	}
	at := s.here(ctx, k, string(made.Key))
	r, err = s.shown(ctx, k, at)
	switch {
	case err != nil:
		return false, r, err
	case r.Status == http.StatusNotFound || r.Status == http.StatusGone:
		return false, r, nil
	case r.Status != http.StatusOK:
		return false, r, fmt.Errorf("look for %s: status %d", made.Key, r.Status)
	}
	document, err := s.document(c.sent())
	if err != nil {
		return false, r, err
	}
	change, err := ChangeOf(k, TypeCreate, document, Fold{}, nil)
	if err != nil || !showsChange(k, r.Body, change) {
		c.Asked, c.Why = true, "the application has an object of this identifier that shows something else"
		return false, r, nil
	}
	r.Local = at
	return true, r, nil
}

// published publishes an operation that turned out to have happened.
func (s *Site) published(ctx context.Context, r *resource, k *Kind, c *crossing, reply Reply) (again bool, err error) {
	_, err = s.publish(ctx, r, k, c, reply)
	if err == nil && c.Inside != "" { // it may be an answer of before, and what it tells of gone
		s.queue.add(job{contents: c.Inside}, 0)
	}
	if errors.Is(err, errUntold) {
		s.opened.Delete(c.Operation.ID)
		c.Again, c.Asked, c.Why = false, true, err.Error()
		return false, s.ask(ctx, c)
	}
	return err != nil, err
}

// ask leaves the decision about an operation to a person: it is listed as uncertain and holds up its resource.
func (s *Site) ask(ctx context.Context, c *crossing) error {
	sealed, err := s.seal(c.Operation.ID, c)
	if err != nil {
		return err
	}
	st := OperationStatus{State: StateUncertain, At: s.cfg.Now(), Error: c.Why}
	conflict := s.askedOf(c, st.At)
	err = s.commit(ctx, &Batch{
		Conflicts:  []Conflict{conflict},
		Intents:    []Intent{{Operation: c.Operation.ID, Document: c.Document, Data: sealed, OpenedAt: s.cfg.Now(), Blob: c.Operation.blobHash()}},
		Operations: []OperationRow{s.originRow(c, st)},
		Events:     []Event{s.statusEvent(c, st), s.conflictEvent("conflict.opened", conflict)},
	})
	if err == nil {
		s.leftOpen(c, c.Why, st.At)
	}
	return err
}

// dismiss closes an intent of which nothing came and lists why.
func (s *Site) dismiss(ctx context.Context, c *crossing, st OperationStatus) error {
	b := &Batch{
		Settled:    []OperationID{c.Operation.ID},
		Operations: []OperationRow{s.originRow(c, st)},
		Events:     []Event{s.statusEvent(c, st)},
		Answers: s.answers(c.keeper(), s.known.Load().by[kindKey{c.Service, c.Kind}], Reply{
			Status: cmp.Or(st.Status, http.StatusConflict), Body: []byte(st.Error)}, c.Operation.ID, ""),
	}
	if err := s.askedNoMore(ctx, c.Operation.ID, b); err != nil {
		return err
	}
	return s.end(ctx, c, b)
}

func (s *Site) statusEvent(c *crossing, st OperationStatus) Event {
	return s.event("operation."+string(st.State), string(c.Operation.ID), map[string]any{
		"operation": c.Operation.ID, "service": c.Service, "kind": c.Kind, "type": c.Operation.Type,
		"site": s.name(s.cfg.Self), "state": st.State, "status": st.Status, "error": st.Error,
	})
}

// listLeft lists a request of this site that an earlier process has left without an answer, unless that has listed it: until it is
// settled nothing else would tell of it.
func (s *Site) listLeft(ctx context.Context, i Intent, c *crossing) {
	if s.known.Load().by[kindKey{c.Service, c.Kind}] == nil {
		return
	}
	row, err := s.cfg.Store.Operation(ctx, i.Operation)
	if errors.Is(err, ErrNotFound) {
		row = s.originRow(c, OperationStatus{State: StatePending, At: s.cfg.Now(),
			Error: "the agent stopped before the answer came: what has become of the request is not known yet"})
		row.Document, row.IssuedAt = "", i.OpenedAt // it is in no document yet
		err = s.commit(ctx, &Batch{Operations: []OperationRow{row}})
	}
	st := row.Sites[s.cfg.Self]
	s.leftOpen(c, st.Error, st.At)
	if err != nil {
		s.cfg.Log.Error("list an operation without an answer", "operation", string(i.Operation), "err", err)
	}
}

// originRow describes an operation that is in no document: it has run, or may have run, at this site alone.
func (s *Site) originRow(c *crossing, st OperationStatus) OperationRow {
	o, k := &c.Operation, s.known.Load().by[kindKey{c.Service, c.Kind}]
	row := OperationRow{
		ID: o.ID, Document: c.Document, Type: o.Type, Service: c.Service, Kind: c.Kind, Method: o.Method,
		Path: shownPath(o.Path, cmp.Or(string(c.Resource), k.shownAs(c.Target, c.Within))), Resource: c.resource(),
		Scope: o.Scope, Origin: s.cfg.Self, User: o.User, IssuedAt: s.cfg.Now(),
		State: st.State, Sites: map[SiteID]OperationStatus{s.cfg.Self: st},
	}
	row.Body, row.Change = hide(k, o)
	return row
}
