package intercept

import (
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
)

// read answers a request that changes nothing, for one item: here when this site has what is asked for, else from the
// nearest site that has.
func (h *Handler) read(q *request) {
	m := q.match
	if !m.Canonical {
		h.raw(q)
		return
	}
	row, err := h.Site.Lookup(q.Context(), m.Kind, m.Target)
	if err != nil && !notFound(err) {
		h.refuseError(q, err)
		return
	}
	if err != nil && q.exactlyOne {
		if !h.followName(q) {
			return
		}
	}
	self := h.Membership.Self()
	switch replicated, replica := err == nil, err == nil && row.Local != ""; {
	case replicated && readsWhole(q, row):
		h.readCross(q, row)
	case q.sites != nil && !slices.Contains(q.sites, self):
		h.canonical(q)
		h.forward(q, q.sites)
	case replica:
		h.readReplica(q, row)
	case replicated && len(q.sites) != 1:
		h.canonical(q)
		h.forward(q, h.holders(q, row))
	case len(q.sites) > 1:
		h.passTranslated(q, h.nearest(q.sites)...)
	default:
		h.passTranslated(q)
	}
}

// holders returns the other sites that have a replica, as far as is known here, within the scope if there is one.
func (h *Handler) holders(q *request, row engine.ResourceRow) []engine.SiteID {
	var with, without []engine.SiteID
	for id, s := range row.Sites {
		switch {
		case id == h.Membership.Self() || s.State == engine.StateLeaving || (q.sites != nil && !slices.Contains(q.sites, id)):
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
func (h *Handler) content(q *request) {
	a, err := h.Site.Submit(q.Context(), engine.Request{
		Kind: q.match.Kind, Type: engine.TypeContent, Method: http.MethodGet, Path: q.match.Path, Target: q.match.Target,
		Placement: q.sites, Via: q.via,
	})
	if err != nil {
		h.refuseError(q, err)
		return
	}
	h.answer(q, a)
}

// readsWhole reports whether a read is of a cross resource as one: of its representation, or of what is below it and states a divided field, and
// not of one site's part of it.
func readsWhole(q *request, row engine.ResourceRow) bool {
	return row.Collaboration == engine.Cross && (!q.match.Below || q.match.Kind.StatesAt(q.match.Path)) &&
		(q.Method == http.MethodGet || q.Method == http.MethodHead) && len(q.sites) != 1
}
