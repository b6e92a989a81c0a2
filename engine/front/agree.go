package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/outbox"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
)

// agreementWait is how long an answer waits for the agreement of other sites at most, unless the caller says so. It is less than the
// agent that has passed the request on waits.
const agreementWait = 20 * time.Second

// askable refuses a request that asks for the agreement of more sites than can be reached. Nothing has happened then.
func (a *around) askable(r engine.Request, placement []engine.SiteID) error {
	if r.Agreement == engine.AgreeOne {
		return nil
	}
	status := a.network.Status()
	var away []engine.SiteID
	for _, id := range placement {
		if id != a.self && !status[id].Reachable {
			away = append(away, id)
		}
	}
	if need := r.Agreement.Of(len(placement)); len(placement)-len(away) < need {
		return &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable", Detail: fmt.Sprintf(
			"%s asks for %d of %d sites, and %s cannot be reached now; nothing has happened", r.Agreement, need, len(placement), report.Names(a.name, away))}
	}
	return nil
}

// agreed waits until as many sites as r asks for have applied the operation that answer is about, which has run here. When that
// cannot be expected any more, because sites were lost or have refused it, or takes too long, the answer is that the operation is
// under way.
func (a *around) agreed(ctx context.Context, r engine.Request, answer engine.Answer) engine.Answer {
	if r.Agreement == engine.AgreeOne || answer.Status >= 300 || answer.Operation == "" || answer.Resource == "" || answer.Site != a.self {
		return answer
	}
	bound := agreementWait
	if r.Wait > 0 {
		bound = min(bound, r.Wait)
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	row, err := a.Store.ResourceByID(ctx, r.Kind.Service, r.Kind.Name, answer.Resource)
	if err != nil {
		a.Log.Error("look up what has been applied", "operation", string(answer.Operation), "resource", string(answer.Resource), "err", err)
		return a.underWay(answer)
	}
	for ctx.Err() == nil {
		switch have, err := a.counted(ctx, row.Document, r.Agreement, answer.Operation); {
		case err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled):
			a.Log.Error("count who has applied an operation", "operation", string(answer.Operation), "err", err)
			return a.underWay(answer)
		case have == agreementReached:
			return answer
		case have == agreementLost:
			return a.underWay(answer)
		}
	}
	return a.underWay(answer)
}

type agreement int

const (
	agreementOpen agreement = iota
	agreementReached
	agreementLost // too few sites are left that can apply it soon
)

// counted waits until it is known whether enough sites have applied an operation. It stays open when other sites have come into
// reach or gone out of it meanwhile, and when ctx has ended.
func (a *around) counted(ctx context.Context, id engine.DocumentID, need engine.Agreement, op engine.OperationID) (have agreement, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	moved := a.moved.Wait() // before the count, so that nothing between the two is missed
	go func() {
		select {
		case <-moved:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = a.Site.Await(ctx, id, func(r *replica.Replica) bool {
		have = a.count(r, need, op)
		return have != agreementOpen
	})
	return have, err
}

// count tells how far the sites have come with an operation.
func (a *around) count(r *replica.Replica, need engine.Agreement, id engine.OperationID) agreement {
	o := r.History.Get(id)
	if o == nil { // a checkpoint holds it: all have settled it
		return agreementReached
	}
	status := a.network.Status()
	sites := r.Placement().Sites
	done, coming := 0, 0
	for _, site := range sites {
		switch report.OperationStatus(r.View, site, o).State {
		case engine.StateApplied, engine.StateSuperseded:
			done++
		case engine.StatePending:
			if site == a.self || status[site].Reachable {
				coming++
			}
		}
	}
	switch n := need.Of(len(sites)); {
	case done >= n:
		return agreementReached
	case done+coming < n:
		return agreementLost
	}
	return agreementOpen
}

// underWay answers that an operation is durable and applied at too few sites so far.
func (a *around) underWay(answer engine.Answer) engine.Answer {
	w := outbox.Accepted(answer.Operation, a.self)
	w.Resource, w.Site = answer.Resource, answer.Site
	return w
}
