package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A caller may ask for an answer before its request has run, or within a time (Prefer: respond-async and wait, RFC 7240). The request
// is kept then, durable, as those are for which no site can be reached, and this site runs it as if it came now.

// deferral says whether a request is to be kept first: its caller does not want to wait for it, or not for long. Where other sites have
// to agree, a wait bounds that (agreed).
func (r *Request) deferred() bool {
	agreement := r.Agreement
	for _, a := range r.Alternatives {
		if a.Agreement != AgreeOne {
			agreement = a.Agreement
		}
	}
	return r.Async && r.Wait == 0 || r.Wait > 0 && agreement == AgreeOne
}

// whole names the resource of a request by its meta-identifier where it is replicated here, so that what waits for it is in one line.
func (s *Site) whole(ctx context.Context, r Request) (Request, error) {
	row, err := s.Lookup(ctx, r.Kind, r.Target)
	if err == nil {
		r.Target = string(row.ID)
	}
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return r, err
}

// involved lists the sites that a request concerns: those that hold its resource, else those that its scope names.
func (s *Site) involved(r Request, row ResourceRow) []SiteID {
	var sites []SiteID
	for id, st := range row.Sites {
		if st.State != StateLeaving {
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
func (s *Site) acceptFirst(ctx context.Context, r Request, row ResourceRow, k keeper) (a Answer, accepted bool, err error) {
	sites := s.involved(r, row)
	if len(sites) == 0 { // it will be refused
		return Answer{}, false, nil
	}
	accepted = r.deferred()
	if !accepted && row.Local != "" {
		if accepted, err = s.catchUp(ctx, r); err != nil {
			return Answer{}, false, fmt.Errorf("run earlier requests for %s: %w", r.Target, err)
		}
	}
	if accepted {
		a, err = s.accept(ctx, r, sites, k)
	}
	return a, accepted, err
}

// accept keeps a request that is to run here as soon as possible, and answers it: at once, or with what it comes to within the time
// that its caller waits.
func (s *Site) accept(ctx context.Context, r Request, sites []SiteID, k keeper) (Answer, error) {
	if len(r.Alternatives) == 0 {
		if err := s.askable(r, sites); err != nil {
			return Answer{}, err
		}
	}
	wait := r.Wait
	if r.Operation == "" {
		r.Operation = OperationID(s.cfg.NewID())
	}
	// Nobody waits for the agreement of other sites when it runs: that they could be asked is what it needs.
	r.Async, r.Wait, r.Key = false, time.Second, ""
	done, forget := s.awaited.add(r.Operation)
	defer forget()
	if err := s.keepAs(ctx, kept{Request: r, Service: r.Kind.Service, Kind: r.Kind.Name, Placement: sites, Deferred: true}, k); err != nil {
		return Answer{}, err
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case x := <-done:
			if x.refusal != nil {
				return Answer{}, x.refusal
			}
			a := x.answer
			if answers := s.answers(k, r.Kind, Reply{Status: a.Status, Header: a.Header, Body: a.Body}, a.Operation, a.Resource); len(answers) > 0 {
				if err := s.commit(ctx, &Batch{Answers: answers}); err != nil {
					s.cfg.Log.Error("keep the answer to a request with a key", "operation", string(r.Operation), "err", err)
				}
			}
			return a, nil
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return s.keptAnswer(r.Operation), nil
}

// whenMade keeps a request for the replica that this site alone is to have and has not made yet.
func (s *Site) whenMade(ctx context.Context, row ResourceRow, r Request, k keeper) (Answer, error) {
	if r.Operation != "" || r.Agreement != AgreeOne { // it is kept already, or for now or not at all
		return Answer{}, &Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
			Detail: fmt.Sprintf("%s has not made its replica of %s %q yet; nothing has happened", s.name(s.cfg.Self), r.Kind.Name, row.ID)}
	}
	return s.accept(ctx, r, []SiteID{s.cfg.Self}, k)
}

// runDeferred runs a request that was accepted before, and reports whether to try again later. The caller holds the turn of its line.
func (s *Site) runDeferred(ctx context.Context, e *kept) (again bool, err error) {
	r := e.Request
	a, err := s.Submit(ctx, r)
	ctx = context.WithoutCancel(ctx) // what came of it is recorded
	switch _, now, err := s.keptAs(ctx, r.Operation); {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return true, err
	case !now.Deferred: // no site could take it, or one gave no answer: it is kept for those now
		s.awaited.tell(r.Operation, result{answer: s.keptAnswer(r.Operation)})
		return true, nil
	}
	var refusal *Refusal
	if errors.As(err, &refusal) {
		a = Answer{Status: refusal.Status, Body: []byte(refusal.Detail), Operation: r.Operation, Site: s.cfg.Self}
	}
	switch h := hear(a, err); {
	case refusal == nil && err != nil, h == heardNothing, h == heardLater, isUnreachable(err):
		return true, nil
	}
	if err := s.delivered(ctx, e, a, a.Site); err != nil {
		return true, err
	}
	s.awaited.tell(r.Operation, result{a, refusal})
	return false, nil
}

// awaited are the callers that wait for what they have asked for to be run. It is safe for concurrent use.
type awaited struct {
	mu      sync.Mutex
	results map[OperationID]chan result
}

// result is what came of a request; refusal is nil unless an agent has refused it.
type result struct {
	answer  Answer
	refusal *Refusal
}

func (w *awaited) add(id OperationID) (done <-chan result, forget func()) {
	c := make(chan result, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results[id] = c
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.results, id)
	}
}

func (w *awaited) tell(id OperationID, x result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.results[id]; c != nil {
		c <- x // once: nothing is delivered twice
		delete(w.results, id)
	}
}
