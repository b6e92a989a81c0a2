package intercept

import (
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// inside takes a request for something that lies in a container which is spread over sites. With a scope it goes where the scope
// says, like any other. Without one a list is of all parts, a creation is here, or at the nearest part, and what exists is
// found where it is. It reports false for a request that is to be run like any other, which it may have given a choice.
func (h *Handler) inside(q *request.Request) bool {
	row, ok, err := h.containerOf(q)
	if err != nil {
		h.RefuseError(q, err)
		return true
	}
	if !ok || !q.Match.Canonical {
		return false
	}
	q.Container = &row
	parts := request.PartsOf(row)
	there, known, err := h.whereInside(q)
	if err != nil {
		h.RefuseError(q, err)
		return true
	}
	makes := q.Method == http.MethodPut || q.Match.Type == engine.TypePatch && q.Match.Kind.CreatesByPatch(q.Header.Get("Content-Type"))
	if makes && q.Match.Kind.Natural() && q.Match.Target != "" && !q.Match.Below && len(there) == 0 {
		q.Match.Verb = glue.VerbCreate
	}
	if out := outside(q.Sites, parts); createsInside(q) && len(out) > 0 {
		h.Refuse(q, http.StatusUnprocessableEntity, "scope-type", "%s holds no part of %s %s, which is spread over %s\nhelp: name a site that does, or leave out the scope",
			h.Names(out), row.Kind, row.ID, h.Names(slices.Concat(parts...)))
		return true
	}
	if createsInside(q) && !h.NameFree(q, row) {
		return true
	}
	switch {
	case q.Sites != nil || len(parts) == 0 || q.Match.Verb == glue.VerbOther:
		return h.passed(q)
	case q.Match.Verb == glue.VerbList:
		q.Sites = slices.Concat(parts...)
		return false
	case createsInside(q):
		q.Sites = []engine.SiteID{h.Membership.Self()}
		return false
	}
	return h.insideItem(q, parts, there, known)
}

// whereInside tells which sites are known to hold what a request is about, and what of it was told last. What is replicated is
// found by its own document: it is not among that.
func (h *Handler) whereInside(q *request.Request) (there []engine.SiteID, known *engine.Contained, err error) {
	if q.Match.Target == "" {
		return nil, nil, nil
	}
	row, err := h.Site.Lookup(q.Context(), q.Match.Kind, q.Match.Target)
	if err == nil {
		for id := range row.Sites {
			there = append(there, id)
		}
		return there, nil, nil
	}
	if !request.NotFound(err) {
		return nil, nil, err
	}
	all, err := h.Site.Contents(q.Context(), q.Container.Document, q.Match.Kind.Name)
	if err != nil {
		return nil, nil, err
	}
	_, own := q.Match.Kind.Split(q.Match.Target)
	for _, i := range all {
		if i.Local == own && i.Resource == "" {
			there, known = append(there, i.Site), &i
		}
	}
	return there, known, nil
}

// containerOf finds the cross resource that a request lies in.
func (h *Handler) containerOf(q *request.Request) (engine.ResourceRow, bool, error) {
	k := h.Client.Container(q.Match.Kind)
	if k == nil {
		return engine.ResourceRow{}, false, nil
	}
	row, err := h.Site.Lookup(q.Context(), k, k.FromContainer(q.Match.Within))
	if request.NotFound(err) {
		return row, false, nil
	}
	return row, err == nil && row.Collaboration == engine.Cross && row.Sites[h.Membership.Self()].Part > 0, err
}

// createsInside reports whether a request makes something in a container that is spread over sites.
func createsInside(q *request.Request) bool {
	return q.Container != nil && q.Match.Verb == glue.VerbCreate
}

// outside lists the sites that hold no part.
func outside(sites []engine.SiteID, parts engine.Parts) []engine.SiteID {
	return slices.DeleteFunc(slices.Clone(sites), func(id engine.SiteID) bool { return slices.Contains(slices.Concat(parts...), id) })
}

// passed runs a request that changes something here and nowhere else past the engine, and has the container looked into when it
// has been answered. It reports false for any other.
func (h *Handler) passed(q *request.Request) bool {
	replicated, err := h.replicated(q, &q.Match)
	if err != nil || replicated || createsInside(q) || glue.Safe(q.Method) || q.Operation != "" || !h.Here(q) || len(q.Choices) > 0 {
		return false
	}
	h.PassTranslated(q)
	h.Site.ContentsChanged(q.Container.Document)
	return true
}

// insideItem takes a request without a scope to where what it is about lies.
func (h *Handler) insideItem(q *request.Request, parts engine.Parts, there []engine.SiteID, known *engine.Contained) bool {
	elsewhere := known != nil && !slices.Contains(there, h.Membership.Self())
	switch {
	case known == nil && len(there) > 0: // replicated
		return false
	case !elsewhere && glue.Safe(q.Method):
		h.PassTranslated(q, h.Nearest(slices.Concat(parts...))...)
		return true
	case !elsewhere:
		return h.passed(q)
	}
	q.Sites = there[:1]
	if q.Method == http.MethodGet && !q.Match.Below && known.Summary != nil && len(h.Nearest(there)) == 0 {
		h.lastKnown(q, known)
		return true
	}
	return false
}

// lastKnown answers with what a site that cannot be reached now has told of something it holds.
func (h *Handler) lastKnown(q *request.Request, known *engine.Contained) {
	header := q.W.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Skerry-Site", h.Name(h.Membership.Self()))
	header.Set("Skerry-Missing", h.Name(known.Site))
	q.W.WriteHeader(http.StatusOK)
	_, _ = q.W.Write(known.Summary)
}
