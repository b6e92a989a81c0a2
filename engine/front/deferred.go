package front

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/outbox"
)

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
	accepted = outbox.Deferred(r)
	if !accepted && row.Local != "" {
		if accepted, err = f.outbox.CatchUp(ctx, r); err != nil {
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
	r.Operation = f.operationOf(r)
	return f.outbox.Accept(ctx, r, sites, k)
}

// whenMade keeps a request for the replica that this site alone is to have and has not made yet.
func (f *Front) whenMade(ctx context.Context, row engine.ResourceRow, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	if r.Operation != "" || r.Agreement != engine.AgreeOne { // it is kept already, or for now or not at all
		return engine.Answer{}, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
			Detail: fmt.Sprintf("%s has not made its replica of %s %q yet; nothing has happened", f.name(f.self), r.Kind.Name, row.ID)}
	}
	return f.accept(ctx, r, []engine.SiteID{f.self}, k)
}
