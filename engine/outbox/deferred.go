package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/plan"
)

// A caller may ask for an answer before its request has run, or within a time (Prefer: respond-async and wait, RFC 7240). The request
// is kept then, durable, as those are for which no site can be reached, and this site runs it as if it came now.

// Deferred says whether a request is to be kept first: its caller does not want to wait for it, or not for long. Where other sites
// have to agree, a wait bounds that alone.
func Deferred(r engine.Request) bool {
	agreement := r.Agreement
	for _, a := range r.Alternatives {
		if a.Agreement != engine.AgreeOne {
			agreement = a.Agreement
		}
	}
	return r.Async && r.Wait == 0 || r.Wait > 0 && agreement == engine.AgreeOne
}

// Accept keeps a request, which has its identifier, to be run here as soon as possible, and answers it: at once, or with what it comes
// to within the time that its caller waits. Sites are those that it concerns.
func (o *Outbox) Accept(ctx context.Context, r engine.Request, sites []engine.SiteID, k keys.Keeper) (engine.Answer, error) {
	wait := r.Wait
	// Nobody waits for the agreement of other sites when it runs: that they could be asked is what it needs.
	r.Async, r.Wait, r.Key = false, time.Second, ""
	done, forget := o.awaited.Add(r.Operation)
	defer forget()
	if err := o.keep(ctx, kept{Request: r, Placement: sites, Deferred: true}, k); err != nil {
		return engine.Answer{}, err
	}
	if wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if o.Await != nil {
			o.Await(func() bool { return len(done) > 0 || ctx.Err() != nil })
		}
		select {
		case x := <-done:
			if x.refusal != nil {
				return engine.Answer{}, x.refusal
			}
			o.Keys.Keep(ctx, k, r.Kind, x.answer)
			return x.answer, nil
		case <-ctx.Done():
		}
	}
	return Accepted(r.Operation, o.self), nil
}

// runDeferred runs a request that was accepted before, and reports whether to try again later. The caller holds the turn of its line.
func (o *Outbox) runDeferred(ctx context.Context, e *kept) (again bool, err error) {
	r := e.Request
	a, err := o.Run(ctx, r)
	ctx = context.WithoutCancel(ctx) // what came of it is recorded
	switch _, now, err := o.read(ctx, r.Operation); {
	case errors.Is(err, engine.ErrNotFound):
		return false, nil
	case err != nil:
		return true, err
	case !now.Deferred: // no site could take it, or one gave no answer: it is kept for those now
		o.awaited.Tell(r.Operation, result{answer: Accepted(r.Operation, o.self)})
		return true, nil
	}
	var refusal *engine.Refusal
	if errors.As(err, &refusal) {
		a = engine.Answer{Status: refusal.Status, Body: []byte(refusal.Detail), Operation: r.Operation, Site: o.self}
	}
	switch h := plan.Hear(a, err); {
	case refusal == nil && err != nil, h == plan.HeardNothing, h == plan.HeardLater, plan.Unreachable(err):
		return true, nil
	}
	if err := o.delivered(ctx, e, a, a.Site); err != nil {
		return true, err
	}
	o.awaited.Tell(r.Operation, result{a, refusal})
	return false, nil
}

// result is what came of a request; refusal is nil unless an agent has refused it.
type result struct {
	answer  engine.Answer
	refusal *engine.Refusal
}
