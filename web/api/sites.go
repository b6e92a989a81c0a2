package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
	"github.com/skerry/skerry/web/shape"
)

// Sites lists the members, this site first, then by name.
func (a *API) Sites() []shape.Site {
	self, status, now := a.Mesh.Self(), a.Network.Status(), a.Now()
	sites, members, shared := []shape.Site{}, a.Mesh.Members(), a.Operator.Shared()
	var here *vivaldi.Coordinate
	if i := slices.IndexFunc(members, func(m engine.Member) bool { return m.ID == self }); i >= 0 {
		here = members[i].Coordinate
	}
	names := shape.NamesOf(members)
	for _, m := range members {
		s := shape.SiteOf(m, a.queues(m))
		s.CertifiedName = names.Of(m.Certified)
		if m.ID == self {
			s.MarkSelf(now, -a.Network.Correction())
		} else {
			relay := ""
			if by := status[m.ID].Relay; by != "" {
				relay = names.Of(by)
			}
			s.Met(status[m.ID], relay, shared[m.ID], here, m.Coordinate)
		}
		sites = append(sites, s)
	}
	slices.SortFunc(sites, func(x, y shape.Site) int {
		if x.Self != y.Self {
			if x.Self {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.Name, y.Name)
	})
	return sites
}

// names are what sites are called, and which of them nothing is known of now.
func (a *API) names() shape.Names {
	members, status, self := a.Mesh.Members(), a.Network.Status(), a.Mesh.Self()
	n := shape.NamesOf(members)
	for _, m := range members {
		if since, silent := status[m.ID].Silent(); silent && m.ID != self {
			n.Silent[m.ID] = since
		}
	}
	return n
}

// silent are the sites of which nothing is known now.
func (a *API) silent() []engine.SiteID { return slices.Sorted(maps.Keys(a.names().Silent)) }

// countResources counts resources by state, those whose state nobody can know now as unknown.
func (a *API) countResources(ctx context.Context) (map[engine.State]int, error) {
	counts, err := a.Counter.CountResources(ctx)
	if err != nil {
		return nil, fmt.Errorf("count resources: %w", err)
	}
	return a.withUnknown(ctx, counts)
}

// withUnknown takes those whose state nobody can know now out of what is counted as converged.
func (a *API) withUnknown(ctx context.Context, counts map[engine.State]int) (map[engine.State]int, error) {
	unknown, err := a.Counter.CountConverged(ctx, a.silent())
	if err != nil {
		return nil, fmt.Errorf("count resources: %w", err)
	}
	counts[engine.StateUnknown] = unknown
	counts[engine.StateConverged] -= unknown
	return counts, nil
}
