package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/plan"
)

// A caller may ask for an answer before its request has run, or within a time (Prefer: respond-async and wait, RFC 7240). The request
// is kept then, durable, as those are for which no site can be reached, and this site runs it as if it came now.

// deferred says whether a request is to be kept first: its caller does not want to wait for it, or not for long. Where other sites
// have to agree, a wait bounds that (agreed).
func deferred(r engine.Request) bool {
	agreement := r.Agreement
	for _, a := range r.Alternatives {
		if a.Agreement != engine.AgreeOne {
			agreement = a.Agreement
		}
	}
	return r.Async && r.Wait == 0 || r.Wait > 0 && agreement == engine.AgreeOne
}

// whole names the resource of a request by its meta-identifier where it is replicated here, so that what waits for it is in one line.
func (f *Front) whole(ctx context.Context, r engine.Request) (engine.Request, error) {
	row, err := f.Site.Lookup(ctx, r.Kind, r.Target)
	there, err := found(err)
	if there {
		r.Target = string(row.ID)
	}
	return r, err
}

// involved lists the sites that a request concerns: those that hold its resource, else those that its scope names.
func involved(r engine.Request, row engine.ResourceRow) []engine.SiteID {
	var sites []engine.SiteID
	for id, st := range row.Sites {
		if st.State != engine.StateLeaving {
			sites = append(sites, id)
		}
	}
	if len(sites) == 0 {
		sites = slices.Clone(r.Placement)
		for _, a := range r.Alternatives {
			sites = append(sites, a.Placement...)
		}
	}
	slices.Sort(sites)
	return slices.Compact(sites)
}

// acceptFirst accepts a request that is not to run before it is answered: its caller says so, or what came before it for the replica
// here waits as well.
func (f *Front) acceptFirst(ctx context.Context, r engine.Request, row engine.ResourceRow, k keys.Keeper) (a engine.Answer, accepted bool, err error) {
	sites := involved(r, row)
	if len(sites) == 0 { // it will be refused
		return engine.Answer{}, false, nil
	}
	if r.Operation != "" { // it came before under its key, and where it is in flight, or has run, the replica tells what becomes of it
		if out, err := f.isOut(ctx, row.Document, r.Operation); out || err != nil {
			return engine.Answer{}, false, err
		}
	}
	accepted = deferred(r)
	if !accepted && row.Local != "" {
		if accepted, err = f.outbox.catchUp(ctx, r); err != nil {
			return engine.Answer{}, false, fmt.Errorf("run earlier requests for %s: %w", r.Target, err)
		}
	}
	if accepted {
		a, err = f.accept(ctx, r, sites, k)
	}
	return a, accepted, err
}

// accept keeps a request that is to run here as soon as possible, and answers it: at once, or with what it comes to within the time
// that its caller waits.
func (f *Front) accept(ctx context.Context, r engine.Request, sites []engine.SiteID, k keys.Keeper) (engine.Answer, error) {
	if len(r.Alternatives) == 0 {
		if err := f.askable(r, sites); err != nil {
			return engine.Answer{}, err
		}
	}
	wait := r.Wait
	r.Operation = f.operationOf(r)
	// Nobody waits for the agreement of other sites when it runs: that they could be asked is what it needs.
	r.Async, r.Wait, r.Key = false, time.Second, ""
	done, forget := f.outbox.awaited.Add(r.Operation)
	defer forget()
	if err := f.outbox.keepAs(ctx, kept{Request: r, Placement: sites, Deferred: true}, k); err != nil {
		return engine.Answer{}, err
	}
	if wait > 0 {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if f.Await != nil {
			f.Await(func() bool { return len(done) > 0 || ctx.Err() != nil })
		}
		select {
		case x := <-done:
			if x.refusal != nil {
				return engine.Answer{}, x.refusal
			}
			f.keys.Keep(ctx, k, r.Kind, x.answer)
			return x.answer, nil
		case <-ctx.Done():
		}
	}
	return f.accepted(r.Operation), nil
}

// whenMade keeps a request for the replica that this site alone is to have and has not made yet.
func (f *Front) whenMade(ctx context.Context, row engine.ResourceRow, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	if r.Operation != "" || r.Agreement != engine.AgreeOne { // it is kept already, or for now or not at all
		return engine.Answer{}, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
			Detail: fmt.Sprintf("%s has not made its replica of %s %q yet; nothing has happened", f.name(f.self), r.Kind.Name, row.ID)}
	}
	return f.accept(ctx, r, []engine.SiteID{f.self}, k)
}

// runDeferred runs a request that was accepted before, and reports whether to try again later. The caller holds the turn of its line.
func (f *Front) runDeferred(ctx context.Context, e *kept) (again bool, err error) {
	r, o := e.Request, f.outbox
	a, err := f.Submit(ctx, r)
	ctx = context.WithoutCancel(ctx) // what came of it is recorded
	switch _, now, err := o.read(ctx, r.Operation); {
	case errors.Is(err, engine.ErrNotFound):
		return false, nil
	case err != nil:
		return true, err
	case !now.Deferred: // no site could take it, or one gave no answer: it is kept for those now
		o.awaited.Tell(r.Operation, result{answer: f.accepted(r.Operation)})
		return true, nil
	}
	var refusal *engine.Refusal
	if errors.As(err, &refusal) {
		a = engine.Answer{Status: refusal.Status, Body: []byte(refusal.Detail), Operation: r.Operation, Site: f.self}
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
