package request

import (
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/peer"
)

// Speak adds what the other agent has to know of a request that is passed on as it is.
func (h *Front) Speak(q *Request, out http.Header) {
	out.Set(peer.HeaderService, string(h.Service))
	out.Set(peer.HeaderVia, peer.JoinSites(append(slices.Clip(q.Via), h.Membership.Self())))
	if q.Scope != "" {
		out.Set("Scope", q.Scope)
	}
	if q.Parts != nil {
		out.Set(peer.HeaderPlacement, peer.JoinPlacement(q.Sites, q.Parts))
	}
	if q.ExactlyOne {
		out.Set(peer.HeaderOne, "1")
	}
	if len(q.After) > 0 {
		out.Set(engine.HeaderAfter, engine.JoinAfters(q.After))
	}
	if q.Operation != "" {
		out.Set(peer.HeaderOperation, string(q.Operation))
	}
	if user := q.Who(); user != "" {
		out.Set(peer.HeaderUser, user)
	}
	for _, what := range q.Header.Values(peer.HeaderForce) {
		out.Add(peer.HeaderForce, what)
	}
}
