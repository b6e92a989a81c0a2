package intercept

import (
	"context"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/request"
)

// read answers a request that changes nothing, for one item: here when this site has what is asked for, else from the
// nearest site that has.
func (h *Handler) read(q *request.Request) {
	m := q.Match
	if !m.Canonical {
		h.Raw(q)
		return
	}
	row, err := h.Site.Lookup(q.Context(), m.Kind, m.Target)
	if err != nil && !request.NotFound(err) {
		h.RefuseError(q, err)
		return
	}
	if err != nil && q.ExactlyOne {
		if !h.followName(q) {
			return
		}
	}
	self := h.Membership.Self()
	switch replicated, replica := err == nil, err == nil && row.Local != ""; {
	case replicated && readsWhole(q, row):
		h.ReadCross(q, row)
	case q.Sites != nil && !slices.Contains(q.Sites, self):
		h.Canonical(q)
		h.Forward(q, q.Sites)
	case replica:
		h.ReadReplica(q, row)
	case replicated && len(q.Sites) != 1:
		h.readElsewhere(q, row)
	case len(q.Sites) > 1:
		h.PassTranslated(q, h.Nearest(q.Sites)...)
	default:
		h.PassTranslated(q)
	}
}

// readElsewhere answers a read of what has no replica here yet from the nearest site that has one. What is just being made here is waited for
// meanwhile, for as long as that site's answer would take: as a rule it is there sooner.
func (h *Handler) readElsewhere(q *request.Request, row engine.ResourceRow) {
	holders := h.holders(q, row)
	if row.Collaboration == engine.Replication {
		ctx, cancel := context.WithTimeout(q.Context(), min(h.distance(holders), request.Patience))
		made := h.Site.Making(ctx, row.Document)
		cancel()
		if made {
			if here, err := h.Site.Lookup(q.Context(), q.Match.Kind, q.Match.Target); err == nil && here.Local != "" {
				h.ReadReplica(q, here)
				return
			}
		}
	}
	h.Canonical(q)
	h.Forward(q, holders)
}

// holders returns the other sites that have a replica, as far as is known here, within the scope if there is one.
func (h *Handler) holders(q *request.Request, row engine.ResourceRow) []engine.SiteID {
	var with, without []engine.SiteID
	for id, s := range row.Sites {
		switch {
		case id == h.Membership.Self() || s.State == engine.StateLeaving || (q.Sites != nil && !slices.Contains(q.Sites, id)):
		case s.Local != "":
			with = append(with, id)
		default:
			without = append(without, id)
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	if len(with) > 0 {
		return with
	}
	return without
}

// content answers another agent whose site was added: what belongs to an item beside its representation.
func (h *Handler) content(q *request.Request) {
	a, err := h.Site.Submit(q.Context(), engine.Request{
		Kind: q.Match.Kind, Type: engine.TypeContent, Method: http.MethodGet, Path: q.Match.Path, Target: q.Match.Target,
		Placement: q.Sites, Via: q.Via,
	})
	if err != nil {
		h.RefuseError(q, err)
		return
	}
	h.Answer(q, a)
}

// readsWhole reports whether a read is of a cross resource as one: of its representation, or of what is below it and states a divided field, and
// not of one site's part of it.
func readsWhole(q *request.Request, row engine.ResourceRow) bool {
	return row.Collaboration == engine.Cross && (!q.Match.Below || q.Match.Kind.StatesAt(q.Match.Path)) &&
		(q.Method == http.MethodGet || q.Method == http.MethodHead) && len(q.Sites) != 1
}
