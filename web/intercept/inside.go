package intercept

import (
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// inside takes a request for something that lies in a container which is spread over sites. With a scope it goes where the scope
// says, like any other. Without one a list is of all parts, a creation is here, or at the nearest part, and what exists is
// found where it is. It reports false for a request that is to be run like any other, which it may have given a choice.
func (h *Handler) inside(q *request) bool {
	row, ok, err := h.containerOf(q)
	if err != nil {
		h.refuseError(q, err)
		return true
	}
	if !ok || !q.match.Canonical {
		return false
	}
	q.container = &row
	parts := partsOf(row)
	there, known, err := h.whereInside(q)
	if err != nil {
		h.refuseError(q, err)
		return true
	}
	makes := q.Method == http.MethodPut || q.match.Type == engine.TypePatch && q.match.Kind.CreatesByPatch(q.Header.Get("Content-Type"))
	if makes && q.match.Kind.Natural() && q.match.Target != "" && !q.match.Below && len(there) == 0 {
		q.match.Verb = glue.VerbCreate
	}
	if out := outside(q.sites, parts); createsInside(q) && len(out) > 0 {
		h.refuse(q, http.StatusUnprocessableEntity, "scope-type", "%s holds no part of %s %s, which is spread over %s\nhelp: name a site that does, or leave out the scope",
			h.names(out), row.Kind, row.ID, h.names(slices.Concat(parts...)))
		return true
	}
	if createsInside(q) && !h.nameFree(q, row) {
		return true
	}
	switch {
	case q.sites != nil || len(parts) == 0 || q.match.Verb == glue.VerbOther:
		return h.passed(q)
	case q.match.Verb == glue.VerbList:
		q.sites = slices.Concat(parts...)
		return false
	case createsInside(q):
		q.sites = []engine.SiteID{h.Membership.Self()}
		return false
	}
	return h.insideItem(q, parts, there, known)
}

// whereInside tells which sites are known to hold what a request is about, and what of it was told last. What is replicated is
// found by its own document: it is not among that.
func (h *Handler) whereInside(q *request) (there []engine.SiteID, known *engine.Contained, err error) {
	if q.match.Target == "" {
		return nil, nil, nil
	}
	row, err := h.Site.Lookup(q.Context(), q.match.Kind, q.match.Target)
	if err == nil {
		for id := range row.Sites {
			there = append(there, id)
		}
		return there, nil, nil
	}
	if !notFound(err) {
		return nil, nil, err
	}
	all, err := h.Site.Contents(q.Context(), q.container.Document, q.match.Kind.Name)
	if err != nil {
		return nil, nil, err
	}
	_, own := q.match.Kind.Split(q.match.Target)
	for _, i := range all {
		if i.Local == own && i.Resource == "" {
			there, known = append(there, i.Site), &i
		}
	}
	return there, known, nil
}

// containerOf finds the cross resource that a request lies in.
func (h *Handler) containerOf(q *request) (engine.ResourceRow, bool, error) {
	k := h.Client.Container(q.match.Kind)
	if k == nil {
		return engine.ResourceRow{}, false, nil
	}
	row, err := h.Site.Lookup(q.Context(), k, k.FromContainer(q.match.Within))
	if notFound(err) {
		return row, false, nil
	}
	return row, err == nil && row.Collaboration == engine.Cross && row.Sites[h.Membership.Self()].Part > 0, err
}

// createsInside reports whether a request makes something in a container that is spread over sites.
func createsInside(q *request) bool { return q.container != nil && q.match.Verb == glue.VerbCreate }

// outside lists the sites that hold no part.
func outside(sites []engine.SiteID, parts engine.Parts) []engine.SiteID {
	return slices.DeleteFunc(slices.Clone(sites), func(id engine.SiteID) bool { return slices.Contains(slices.Concat(parts...), id) })
}

// passed runs a request that changes something here and nowhere else past the engine, and has the container looked into when it
// has been answered. It reports false for any other.
func (h *Handler) passed(q *request) bool {
	replicated, err := h.replicated(q, &q.match)
	if err != nil || replicated || createsInside(q) || glue.Safe(q.Method) || q.operation != "" || !h.here(q) || len(q.choices) > 0 {
		return false
	}
	h.passTranslated(q)
	h.Site.ContentsChanged(q.container.Document)
	return true
}

// insideItem takes a request without a scope to where what it is about lies.
func (h *Handler) insideItem(q *request, parts engine.Parts, there []engine.SiteID, known *engine.Contained) bool {
	elsewhere := known != nil && !slices.Contains(there, h.Membership.Self())
	switch {
	case known == nil && len(there) > 0: // replicated
		return false
	case !elsewhere && glue.Safe(q.Method):
		h.passTranslated(q, h.nearest(slices.Concat(parts...))...)
		return true
	case !elsewhere:
		return h.passed(q)
	}
	q.sites = there[:1]
	if q.Method == http.MethodGet && !q.match.Below && known.Summary != nil && len(h.nearest(there)) == 0 {
		h.lastKnown(q, known)
		return true
	}
	return false
}

// lastKnown answers with what a site that cannot be reached now has told of something it holds.
func (h *Handler) lastKnown(q *request, known *engine.Contained) {
	header := q.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Skerry-Site", h.name(h.Membership.Self()))
	header.Set("Skerry-Missing", h.name(known.Site))
	q.w.WriteHeader(http.StatusOK)
	_, _ = q.w.Write(known.Summary)
}
