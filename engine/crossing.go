package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
)

// inMeta returns a body with this site's own identifiers replaced by meta-identifiers: that is how it travels.
func (s *Site) inMeta(ctx context.Context, k *Kind, within string, body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	p, err := s.cfg.App.Present(ctx, k, Reply{Status: http.StatusOK, Body: body, Within: within})
	if err != nil {
		return body
	}
	return p.Body
}

// fix computes what an operation sets. An application may understand what we do not: its effect is opaque to us then. So it is with
// ErrTooLarge, for what would take too much to look into.
func (s *Site) fix(k *Kind, o *Operation, before Fold, representation func() ([]byte, error)) error {
	if o.Type == TypePatch && k.effect(o) != nil {
		return nil // what it sets is seen once it has run
	}
	document, err := s.document(o)
	if err != nil {
		return err
	}
	change, err := ChangeOf(k, o.Type, document, before, representation)
	switch {
	case err != nil && o.Type == TypeReplace:
		o.Type = TypeAbsolute
	case err != nil && o.Type != TypeCreate:
		o.Type = TypeAction
	}
	if o.Change = change; errors.Is(err, ErrTooLarge) {
		return err
	}
	return nil
}

// tooMuch refuses what would take too much to look into.
func tooMuch(err error) *Refusal {
	return &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
		Detail: fmt.Sprintf("a body that is looked into is nested at most %d levels deep, and what it makes is not much larger than itself; nothing has happened", maxDepth)}
}

// entryReserve is what an operation may grow by between its check and its publication: its place in time and what it has
// seen.
const entryReserve = 64 << 10

// cross declares a request, sends it to the application and records what came of it. The caller holds the turn of res,
// if the document exists already; res is nil for a create and for a request that makes no operation.
func (s *Site) cross(ctx context.Context, res *resource, k *Kind, c *crossing, before Fold, local LocalID) (Answer, error) {
	o := &c.Operation
	division, err := s.divisionOf(ctx, res, k, c)
	if err != nil {
		return Answer{}, err
	}
	if !c.Plain {
		division.complete(o, before)
		if o.Found, err = s.whereabouts(ctx, k, c.Within, o, c.Bound); err != nil {
			return Answer{}, err
		}
		var unread error
		err := s.fix(k, o, before, func() (b []byte, err error) {
			b, err = s.representation(ctx, k, local)
			c.Shown, unread = b, err
			return b, err
		})
		if errors.Is(err, ErrTooLarge) {
			return Answer{}, tooMuch(err)
		}
		if err != nil {
			return Answer{}, err
		}
		if err := s.inDoubt(ctx, res, k, o, before); err != nil {
			return Answer{}, err
		}
		if status := statusError(0); unread != nil && (!errors.As(unread, &status) || status >= 500) {
			return Answer{}, hides(k, unread) // later it may show it, and what o sets would never be known
		}
		if division != nil && o.Blob == nil {
			if c.Sent, err = division.body(o, before); err != nil {
				return Answer{}, err
			}
		}
		embodied, err := s.embody(ctx, o)
		if err != nil {
			return Answer{}, err
		}
		defer embodied()
		b, err := o.Encode()
		if err == nil && o.Change != nil {
			err = o.Change.Validate()
		}
		if err != nil || len(b) > MaxEntry-entryReserve {
			return Answer{}, &Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Err: err,
				Detail: "the request sets more than an operation can carry to other sites; nothing has happened"}
		}
	}
	if res != nil && !c.Plain && c.About == nil && k.needsBefore(o) {
		shown, err := s.representation(ctx, k, local)
		if err != nil {
			return Answer{}, hides(k, err)
		}
		c.Shown = shown
	}
	key, err := s.crossingKey(ctx, res, c)
	if err != nil {
		return Answer{}, err
	}
	s.asking.Store(o.ID, true)
	defer s.asking.Delete(o.ID)
	if err := s.declare(ctx, c); err != nil {
		return Answer{}, err
	}
	defer res.crossing()()
	reply, err := s.call(ctx, k, c.sent(), local, c.credentials(), key)
	ctx = context.WithoutCancel(ctx) // what came of it is recorded, whether or not the client still waits
	switch judge(o.Type, reply, err) {
	case verdictDone:
		s.works(ctx, k.Service, c.Document, reply)
	case verdictUnknown:
		st := OperationStatus{State: StatePending, Status: reply.Status, At: s.cfg.Now(), Attempts: 1, Error: tell(reply, err)}
		st.Tries = []Attempt{{st.At, st.Status, st.Error}}
		if err := s.commit(ctx, &Batch{Operations: []OperationRow{s.originRow(c, st)}}); err != nil {
			s.cfg.Log.Error("list an operation without a certain answer", "operation", string(o.ID), "err", err)
		}
		s.leftOpen(c, st.Error, st.At)
		return Answer{}, s.unsettled(o, err, fmt.Sprintf("the application's service %s gave no certain answer (%s)", k.Service, tell(reply, err)))
	default: // nothing has happened
		if res != nil && isGone(reply, err) {
			s.queue.add(job{look: res.id}, 0)
		}
		if err := s.close(ctx, o.ID); err != nil {
			return Answer{}, s.unsettled(o, err, "this site could not record that the application has not done it")
		}
		if err != nil {
			return Answer{}, &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
				Detail: fmt.Sprintf("the application's service %s at this site cannot be reached; nothing has happened", k.Service)}
		}
		return s.present(ctx, k, reply, "", ""), nil
	}
	id, err := s.publish(ctx, res, k, c, reply)
	if err != nil {
		s.opened.Store(o.ID, &reply)
		return Answer{}, s.unsettled(o, err, "the application has done it, and this site could not record that")
	}
	return division.present(o, before, s.present(ctx, k, reply, o.ID, id)), nil
}

// inDoubt refuses a request that would take back what an action of another site may have set, of which there was no certain answer: a
// service that honours its key never does it again, and a person who is asked says whether it was done, not what is left of it. Nor is a
// number begun that such an action may have added to: what is shown now would be where it began, and that be added once more.
func (s *Site) inDoubt(ctx context.Context, res *resource, k *Kind, o *Operation, before Fold) error {
	if res == nil {
		return nil
	}
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if errors.Is(err, ErrNotFound) { // what is to be created
		return nil
	}
	if err != nil {
		return err
	}
	asked := *o
	if n := k.effect(o); n != nil { // what it sets is known beforehand
		asked.Change = (&NamedOperation{Sets: n.Sets}).change(k, nil, nil)
		if is := before.Cells[n.Counter]; n.Counter != "" && (is.Value == nil || is.Counted) {
			asked.Change.Set[n.Counter] = nil
		}
	}
	st, step := s.standing(v), Step{Kind: StepRun, Operations: []*Operation{&asked}}
	if a := cmp.Or(v.history.unanswered(st, step), v.history.asked(st, step)); a != nil {
		return unanswered(a.ID, nil)
	}
	return nil
}

// hides refuses an operation whose effect is to be seen from what the application shows before it, which it did not.
func hides(k *Kind, err error) *Refusal {
	return &Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err,
		Detail: fmt.Sprintf("the application's service %s does not show the %s that is to be changed; nothing has happened, try again later", k.Service, k.Name)}
}

// unsettled has the intent of o settled later and says so.
func (s *Site) unsettled(o *Operation, err error, why string) *Refusal {
	s.queue.add(job{intent: o.ID}, s.cfg.RetryMin)
	if errors.Is(err, errUntold) {
		why = "the application has done it, and " + errUntold.Error()
	}
	return &Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: o.ID, Err: err, Detail: why + "; the operation will be settled"}
}
