package members

import (
	"context"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// A site is taken out of the mesh for good in three steps. A member says that it is removed: from then on no scope means it. The
// members take it out of every placement, and it brings in what it had accepted; Config.Changed and, after a start,
// Member.Removed tell which sites that is about, and whoever does it reports to Vacated how it gets on. When the site shares
// nothing more and has said so (SiteRecord.Gone), or has kept silent for too long, it is no member any more: nobody talks
// to it. With one whose key was revoked nobody talks from the first step on, and nobody waits for its word.

// RemoveSite takes a site out of the mesh for good. It is durable when it returns and takes no other site to be reached.
// ErrNotFound: it is no member. The error may be a *engine.Refusal.
func (o Orders) RemoveSite(ctx context.Context, id engine.SiteID) error {
	return o.Order(ctx, engine.Order{Retire: id})
}

// RevokeSite takes a site out of the mesh whose key is not trusted any more, whether or not it was removed before: from now on nobody
// who hears of it talks to it or takes anything from it. What other sites had heard of it before counts, and they go on telling each other
// of that. The errors are those of RemoveSite.
func (o Orders) RevokeSite(ctx context.Context, id engine.SiteID) error {
	return o.Order(ctx, engine.Order{Revoke: id})
}

// heedRemovals tells of the sites that were removed just now.
func (d *draft) heedRemovals() {
	for _, id := range d.news.Revoked {
		d.event("site.revoked", id, "peer_id", id)
		log := d.m.cfg.Log
		d.after = append(d.after, func() { log.Warn("the key of a site was revoked: nobody talks to it any more", "peer", id) })
	}
	for _, id := range d.news.Removed {
		d.event("site.removed", id, "peer_id", id)
		log, self := d.m.cfg.Log, id == d.Self()
		d.after = append(d.after, func() {
			if self {
				log.Warn("this site was taken out of the mesh for good: it brings in what it has accepted and goes on alone")
			} else {
				log.Info("a site was taken out of the mesh for good", "peer", id)
			}
		})
	}
}

// Removed reports whether a site was taken out of the mesh, whether or not it has left already.
func (m *Members) Removed(id engine.SiteID) bool {
	return look(m, func(s *mesh.State) bool { _, removed := s.Removed(id); return removed })
}

// Vacated takes in how much a site that was removed still shares, as far as this one knows: resources whose placement it is in and, of this
// site itself, requests that it keeps for others. It reports whether the site has left. Another one that has left may be put into a
// placement yet, by a site that has not heard of its removal: that is to be looked for from time to time.
func (m *Members) Vacated(ctx context.Context, id engine.SiteID, shared int) (left bool, err error) {
	err = m.change(ctx, func(d *draft) error {
		at, removed := d.Removed(id)
		record, _ := d.Site(id)
		silent := d.now.Sub(engine.Time(at)) > m.cfg.LeaveWithin
		switch {
		case !removed, shared > 0 && !silent:
		case id == m.cfg.Self:
			left, d.say.Gone = true, true
			return d.announce()
		case record.Gone, silent, d.State.Revoked(id):
			left = true
			d.SetGone(id)
		}
		return nil
	})
	return left && err == nil, err
}
