package engine

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Agreement says how many sites of a placement must have applied an operation before it is answered.
type Agreement string

const (
	AgreeOne    Agreement = "" // the site where it runs first
	AgreeQuorum Agreement = "quorum"
	AgreeSync   Agreement = "sync"
)

// Of returns how many of n sites it asks for.
func (a Agreement) Of(n int) int {
	switch a {
	case AgreeQuorum:
		return n/2 + 1
	case AgreeSync:
		return n
	}
	return 1
}

// agreementWait is how long an answer waits for the agreement of other sites at most, unless the caller says so. It is less
// than the agent that has passed the request on waits.
const agreementWait = 20 * time.Second

// askable refuses a request that asks for the agreement of more sites than can be reached. Nothing has happened then.
func (s *Site) askable(r Request, placement []SiteID) error {
	if r.Agreement == AgreeOne {
		return nil
	}
	status := s.network.Status()
	var away []SiteID
	for _, id := range placement {
		if id != s.cfg.Self && !status[id].Reachable {
			away = append(away, id)
		}
	}
	if need := r.Agreement.Of(len(placement)); len(placement)-len(away) < need {
		return &Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable", Detail: fmt.Sprintf(
			"%s asks for %d of %d sites, and %s cannot be reached now; nothing has happened", r.Agreement, need, len(placement), s.names(away))}
	}
	return nil
}

// agreed waits until as many sites as r asks for have applied the operation that a answers, which has run here. When that
// cannot be expected any more, because sites were lost or have refused it, or takes too long, the answer is that the operation
// is under way.
func (s *Site) agreed(ctx context.Context, r Request, a Answer) Answer {
	if r.Agreement == AgreeOne || a.Status >= 300 || a.Operation == "" || a.Resource == "" || a.Site != s.cfg.Self {
		return a
	}
	bound := agreementWait
	if r.Wait > 0 {
		bound = min(bound, r.Wait)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	row, err := s.cfg.Store.ResourceByID(ctx, r.Kind.Service, r.Kind.Name, a.Resource)
	if err != nil {
		s.cfg.Log.Error("look up what has been applied", "operation", string(a.Operation), "resource", string(a.Resource), "err", err)
		return underWay(a)
	}
	res := s.registry.acquire(row.Document)
	defer s.registry.release(res)
	for {
		moved := s.reach.wait() // before the count, so that nothing between the two is missed
		have, news := s.count(ctx, res, r.Agreement, a.Operation)
		switch have {
		case agreementReached:
			return a
		case agreementLost:
			return underWay(a)
		}
		select {
		case <-news:
		case <-moved:
		case <-ctx.Done():
			return underWay(a)
		}
	}
}

type agreement int

const (
	agreementOpen agreement = iota
	agreementReached
	agreementLost // too few sites are left that can apply it soon
)

// count tells how far the sites have come with an operation. News is closed when that may have changed.
func (s *Site) count(ctx context.Context, res *resource, need Agreement, id OperationID) (have agreement, news <-chan struct{}) {
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if err != nil {
		s.cfg.Log.Error("count who has applied an operation", "operation", string(id), "err", err)
		return agreementLost, nil
	}
	o := v.history.Get(id)
	if o == nil { // a checkpoint holds it: all have settled it
		return agreementReached, nil
	}
	status := s.network.Status()
	sites := v.placement().Sites
	done, coming := 0, 0
	for _, id := range sites {
		switch v.status(id, o).State {
		case StateApplied, StateSuperseded:
			done++
		case StatePending:
			if id == s.cfg.Self || status[id].Reachable {
				coming++
			}
		}
	}
	switch n := need.Of(len(sites)); {
	case done >= n:
		return agreementReached, nil
	case done+coming < n:
		return agreementLost, nil
	}
	return agreementOpen, res.watch()
}

// underWay answers that an operation is durable and applied at too few sites so far.
func underWay(a Answer) Answer {
	return Answer{
		Status: http.StatusAccepted, Operation: a.Operation, Resource: a.Resource, Site: a.Site,
		Header: http.Header{"Location": {"/api/v1/operations/" + string(a.Operation)}},
	}
}

// Comparable returns a representation without what differs between replicas by nature: two that are the same to clients give
// the same bytes. ok is false for what is not JSON.
func (k *Kind) Comparable(representation []byte) (form []byte, ok bool) {
	_, form, ok = canonicalForm(k, representation)
	return form, ok
}
