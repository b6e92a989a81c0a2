package intercept

import (
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/request"
)

// followName sends a read of a scope with "^" to the site that has the name, if that is known here. It returns false when it has
// refused the read: whoever has passed it on asks the other sites.
func (h *Handler) followName(q *request.Request) bool {
	at, _, err := h.Site.Chosen(q.Context(), q.Match.Kind, q.Match.Target)
	switch {
	case err != nil:
		h.RefuseError(q, err)
		return false
	case at == "":
		return true
	case q.From != "" && at != h.Membership.Self():
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%s %q is at %s, which has not answered", q.Match.Kind.Name, q.Match.Target, h.Name(at))
		return false
	}
	q.Sites = []engine.SiteID{at}
	return true
}

// chosenHere reports whether this site holds what a request names under "^": then others are to hear of its end.
func (h *Handler) chosenHere(q *request.Request) bool {
	_, here, err := h.Site.Chosen(q.Context(), q.Match.Kind, q.Match.Target)
	return err == nil && here
}

// withContainer takes a read of a scope with "^" for what lies in a container that is at exactly one site to that site. It reports
// false for a request that is to be run like any other, which it may have given a site.
func (h *Handler) withContainer(q *request.Request) bool {
	k := h.Client.Container(q.Match.Kind)
	if k == nil || !k.Natural() {
		return false
	}
	at, _, err := h.Site.Chosen(q.Context(), k, k.FromContainer(q.Match.Within))
	switch self := h.Membership.Self(); {
	case err != nil:
		h.RefuseError(q, err)
		return true
	case at == "" && (q.From != "" || slices.Contains(q.Sites, self)):
		return false
	case at == "": // the candidates know
		h.Canonical(q)
		h.Forward(q, q.Sites)
		return true
	case q.From != "" && at != self:
		h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%s %q is at %s, which has not answered", k.Name, q.Match.Within, h.Name(at))
		return true
	}
	q.Choice = request.Choice{Sites: []engine.SiteID{at}}
	return false
}
