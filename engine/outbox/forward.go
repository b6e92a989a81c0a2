package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
)

// PassOn hands a client's request, which has its identifier, to the nearest of sites that takes it. When none can be reached, it is kept. What another site has
// handed to this one goes no further: that site alone knows which others may have got it.
func (o *Outbox) PassOn(ctx context.Context, r engine.Request, sites []engine.SiteID, k keys.Keeper) (engine.Answer, error) {
	spool, err := o.spoolOf(r)
	if err != nil {
		return engine.Answer{}, err
	}
	if k.Sent != "" { // under the same key before: that site may have it
		sites = []engine.SiteID{k.Sent}
	}
	if waits, err := o.CatchUp(ctx, r); err != nil {
		return engine.Answer{}, fmt.Errorf("hand over earlier requests for %s: %w", r.Target, err)
	} else if waits {
		return o.keepOrRefuse(ctx, r, sites, k)
	}
	status := o.network.Status()
	passed := r
	passed.Alternatives = nil // this site alone tries them
	var last func() (engine.Answer, error)
	later := false
	for _, to := range o.nearest(sites) {
		if !status[to].Reachable {
			later = true
			continue
		}
		if asked := o.Keys.Asked(k, r.Kind, r.Operation, to); len(asked) > 0 { // the same key is the same operation from here on
			if err := o.Site.Commit(ctx, &engine.Batch{Answers: asked}); err != nil {
				return engine.Answer{}, fmt.Errorf("remember operation %s: %w", r.Operation, err)
			}
		}
		passed.Again = k.Sent == to
		a, err := o.forwarder.Forward(ctx, to, passed)
		if spool != nil && spool.Failed() != nil {
			return engine.Answer{}, engine.Incomplete(spool.Failed()) // the other site has not got it whole either
		}
		heard := plan.Hear(a, err)
		if k.Sent != "" && errors.Is(err, engine.ErrUnreachable) {
			heard = plan.HeardNothing // this try has not reached it; an earlier one may have
		}
		switch heard {
		case plan.HeardAnswer:
			if err == nil && a.Status < 300 {
				o.Keys.Keep(ctx, k, r.Kind, a)
			}
			return a, err
		case plan.HeardElsewhere, plan.HeardLater:
			if errors.Is(err, engine.ErrUnreachable) {
				later = true
			} else { // a site that cannot take it has said why
				last = func() (engine.Answer, error) { return a, err }
			}
			continue
		}
		if err := o.keep(context.WithoutCancel(ctx), kept{Request: r, Placement: sites, Sent: to}, k); err != nil {
			return engine.Answer{}, err
		}
		return engine.Answer{}, &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: r.Operation, Err: err,
			Detail: fmt.Sprintf("%s gave no certain answer; the operation will be settled", o.Members.Name(to))}
	}
	if last != nil && (!later || r.Agreement != engine.AgreeOne) { // all were asked that have to be
		return last()
	}
	return o.keepOrRefuse(ctx, r, sites, k)
}

// keepOrRefuse keeps a request for sites that cannot take it now, unless it is for now or not at all.
func (o *Outbox) keepOrRefuse(ctx context.Context, r engine.Request, sites []engine.SiteID, k keys.Keeper) (engine.Answer, error) {
	if len(r.Alternatives) > 0 || r.Agreement != engine.AgreeOne {
		return engine.Answer{}, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable",
			Detail: fmt.Sprintf("%s cannot be reached now; nothing has happened", report.Names(o.Members.Name, sites))}
	}
	return o.KeepFor(ctx, r, sites, k)
}

// KeepFor keeps a request for sites of which none can be reached, and answers it.
func (o *Outbox) KeepFor(ctx context.Context, r engine.Request, sites []engine.SiteID, k keys.Keeper) (engine.Answer, error) {
	if err := o.keep(ctx, kept{Request: r, Placement: sites, Sent: k.Sent}, k); err != nil {
		return engine.Answer{}, err
	}
	return Accepted(r.Operation, o.self), nil
}

// nearest orders sites: reachable ones by round trip, the others after them.
func (o *Outbox) nearest(ids []engine.SiteID) []engine.SiteID {
	status := o.network.Status()
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, func(p, q engine.SiteID) int {
		x, y := status[p], status[q]
		if x.Reachable != y.Reachable {
			if x.Reachable {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.RTT, y.RTT), cmp.Compare(p, q))
	})
	return sorted
}
