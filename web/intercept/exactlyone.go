package intercept

import (
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
)

// followName sends a read of a scope with "^" to the site that has the name, if that is known here. It returns false when it has
// refused the read: whoever has passed it on asks the other sites.
func (h *Handler) followName(q *request) bool {
	at, _, err := h.Site.Chosen(q.Context(), q.match.Kind, q.match.Target)
	switch {
	case err != nil:
		h.refuseError(q, err)
		return false
	case at == "":
		return true
	case q.from != "" && at != h.Membership.Self():
		h.refuse(q, http.StatusServiceUnavailable, "unreachable", "%s %q is at %s, which has not answered", q.match.Kind.Name, q.match.Target, h.name(at))
		return false
	}
	q.sites = []engine.SiteID{at}
	return true
}

// chosenHere reports whether this site holds what a request names under "^": then others are to hear of its end.
func (h *Handler) chosenHere(q *request) bool {
	_, here, err := h.Site.Chosen(q.Context(), q.match.Kind, q.match.Target)
	return err == nil && here
}

// withContainer takes a read of a scope with "^" for what lies in a container that is at exactly one site to that site. It reports
// false for a request that is to be run like any other, which it may have given a site.
func (h *Handler) withContainer(q *request) bool {
	k := h.Client.Container(q.match.Kind)
	if k == nil || !k.Natural() {
		return false
	}
	at, _, err := h.Site.Chosen(q.Context(), k, k.FromContainer(q.match.Within))
	switch self := h.Membership.Self(); {
	case err != nil:
		h.refuseError(q, err)
		return true
	case at == "" && (q.from != "" || slices.Contains(q.sites, self)):
		return false
	case at == "": // the candidates know
		h.canonical(q)
		h.forward(q, q.sites)
		return true
	case q.from != "" && at != self:
		h.refuse(q, http.StatusServiceUnavailable, "unreachable", "%s %q is at %s, which has not answered", k.Name, q.match.Within, h.name(at))
		return true
	}
	q.choice = choice{sites: []engine.SiteID{at}}
	return false
}
