package intercept

import (
	"net/http"
	"slices"
)

// speak adds what the other agent has to know of a request that is passed on as it is.
func (h *front) speak(q *request, out http.Header) {
	out.Set(headerService, string(h.Service))
	out.Set(headerVia, joinSites(append(slices.Clip(q.via), h.Membership.Self())))
	if q.scope != "" {
		out.Set("Scope", q.scope)
	}
	if q.parts != nil {
		out.Set(headerPlacement, joinPlacement(q.sites, q.parts))
	}
	if q.exactlyOne {
		out.Set(headerOne, "1")
	}
	if q.operation != "" {
		out.Set(headerOperation, string(q.operation))
	}
	if user := q.who(); user != "" {
		out.Set(headerUser, user)
	}
	for _, what := range q.Header.Values(headerForce) {
		out.Add(headerForce, what)
	}
}
