package api

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Urgent is the part of this site's bulletin that people want to know of soon: what waits for them here, and which services of its
// application do not answer. It costs next to nothing.
func (a *API) Urgent(ctx context.Context) (b engine.Bulletin, err error) {
	at, err := a.decisionsAt(ctx)
	if err != nil {
		return b, err
	}
	b.Decisions = at[a.Mesh.Self()]
	queues := a.Operator.Queues()
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		if q := queues[name]; q.State != engine.QueueRunning {
			f := engine.FailingService{Service: name, State: q.State}
			if !q.Since.IsZero() {
				f.Since = q.Since.UnixMicro()
			}
			b.Failing = append(b.Failing, f)
		}
	}
	return b, nil
}

// Bulletin is how this site is now, as all members are to know it.
func (a *API) Bulletin(ctx context.Context) (engine.Bulletin, error) {
	b, _, err := a.now(ctx)
	return b, err
}

// now is this site's bulletin, with the operation that has waited longest; nil: none waits.
func (a *API) now(ctx context.Context) (engine.Bulletin, *Waiting, error) {
	b, err := a.Urgent(ctx)
	if err != nil {
		return b, nil, err
	}
	resources, err := a.Counter.CountResources(ctx)
	if err != nil {
		return b, nil, fmt.Errorf("count resources: %w", err)
	}
	operations, err := a.Counter.CountOperations(ctx)
	if err != nil {
		return b, nil, fmt.Errorf("count operations: %w", err)
	}
	none := func(_ engine.State, n int) bool { return n == 0 }
	maps.DeleteFunc(resources, none)
	maps.DeleteFunc(operations, none)
	oldest, err := a.oldest(ctx)
	if err != nil {
		return b, nil, err
	}
	if oldest != nil {
		b.Oldest = oldest.IssuedAt.UnixMicro()
	}
	b.Resources, b.Operations, b.Version, b.Dashboard, b.At = resources, operations, a.Version, a.Dashboard, a.Now().UnixMicro()
	return b, oldest, nil
}

// bulletins tells how the sites are, as each has told last; of this one, how it is now.
func (a *API) bulletins(sites []shape.Site, here engine.Bulletin) {
	told := map[string]*engine.Bulletin{string(a.Mesh.Self()): &here}
	for _, m := range a.Mesh.Members() {
		if m.ID != a.Mesh.Self() {
			told[string(m.ID)] = m.Bulletin
		}
	}
	for i := range sites {
		b := told[sites[i].PeerID]
		sites[i].State = shape.StateOf(b)
		if b == nil || sites[i].Self {
			continue
		}
		for _, f := range b.Failing {
			if _, known := sites[i].Queues[string(f.Service)]; !known {
				q := shape.Queue{State: string(f.State), Reason: "as " + sites[i].Name + " has told"}
				if f.Since != 0 {
					at := engine.Time(f.Since)
					q.Since = &at
				}
				sites[i].Queues[string(f.Service)] = q
			}
		}
	}
}

// SiteStates lists the members as Sites does, with how each is.
func (a *API) SiteStates(ctx context.Context) ([]shape.Site, error) {
	here, err := a.Bulletin(ctx)
	if err != nil {
		return nil, err
	}
	sites := a.Sites()
	a.bulletins(sites, here)
	return sites, nil
}
