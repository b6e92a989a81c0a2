package intercept

import (
	"net/http"

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
		h.refuse(q, http.StatusNotFound, "not-replicated", "%s %q is at %s", q.match.Kind.Name, q.match.Target, h.name(at))
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
