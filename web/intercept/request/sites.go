package request

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/world"
)

// Removed reports whether this site was taken out of the mesh.
func (h *Front) Removed() bool {
	self := h.Membership.Self()
	return slices.ContainsFunc(h.Membership.Members(), func(m engine.Member) bool { return m.ID == self && !m.Removed.IsZero() })
}

// Name returns what people call a site; its identifier when it has not told a name.
func (h *Front) Name(id engine.SiteID) string { return world.Name(h.Membership, id) }

// Names lists sites for people.
func (h *Front) Names(ids []engine.SiteID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = h.Name(id)
	}
	return strings.Join(names, ", ")
}

// Nearest returns those of the sites that can be reached now, other than this one, the nearest first.
func (h *Front) Nearest(sites []engine.SiteID) []engine.SiteID {
	status, self := h.Network.Status(), h.Membership.Self()
	reachable := make([]engine.SiteID, 0, len(sites))
	for _, id := range sites {
		if id != self && status[id].Reachable {
			reachable = append(reachable, id)
		}
	}
	distance := func(id engine.SiteID) time.Duration {
		if d := status[id].RTT; d > 0 {
			return d
		}
		return time.Hour // not measured yet: after those that are
	}
	slices.SortStableFunc(reachable, func(a, b engine.SiteID) int { return cmp.Compare(distance(a), distance(b)) })
	return reachable
}

const (
	// Patience is how long a read waits for a site that was lost moments ago: with it, an answer or a refusal comes within
	// a second.
	Patience = 700 * time.Millisecond
	// moments is how long ago that is at most. Who is gone longer is not waited for.
	moments = 5 * time.Second
	// LookEvery is how often it is looked whether the site is back.
	LookEvery = 50 * time.Millisecond
)

// Await returns those of the sites that can be reached, the nearest first, as soon as there is one, but not at once: a
// connection that has just broken may not be known to be gone. It waits as long as one of the sites was there moments
// ago: its agent may just have been started again, or a connection that broke is being replaced.
func (h *Front) Await(ctx context.Context, sites []engine.SiteID, until time.Time) []engine.SiteID {
	status := h.Network.Status()
	if !slices.ContainsFunc(sites, func(id engine.SiteID) bool {
		return status[id].Reachable || time.Since(status[id].LastSeen) < moments
	}) {
		return nil
	}
	look, end := time.NewTicker(LookEvery), time.NewTimer(time.Until(until))
	defer look.Stop()
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-end.C:
			return nil
		case <-look.C:
			if reachable := h.Nearest(sites); len(reachable) > 0 {
				return reachable
			}
		}
	}
}
