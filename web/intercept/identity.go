package intercept

import (
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/request"
)

// Believes says from whom the agent takes who makes a request, to say so to an application that believes the agent. The zero value takes
// it from nobody.
type Believes struct {
	// Certificates takes it from certificates that clients have shown to the listener and an authority of clients has signed.
	Certificates bool
	// Token tells whose a token of the agent's own is, and takes it out of the header of its request; nil: there are none. What does not
	// count any more is an *engine.Refusal; ok is false where the request has none.
	Token func(r *http.Request) (who glue.Identity, ok bool, err error)
	// Proxies takes it from those that are trusted to say for whom they ask.
	Proxies bool
	// Sites takes it from the agents of these sites.
	Sites []engine.SiteName
}

// identify has a request say who makes it only where this site has found that out, or believes the agent that says so. It returns false
// when it has refused the request. From here on those headers are credentials of the caller like any other.
func (h *Handler) identify(q *request.Request) bool {
	if h.asserter == nil {
		return true
	}
	if q.From != "" {
		return h.hearIdentity(q)
	}
	if h.Believes.Proxies && request.Trusted(q.Request, h.Proxies) && h.asserter.Asserted(q.Header) != "" {
		q.User = h.asserter.Asserted(q.Header)
		return true
	}
	h.asserter.Silence(q.Header)
	who, known := glue.Identity{}, false
	if h.Believes.Token != nil {
		var err error
		if who, known, err = h.Believes.Token(q.Request); err != nil {
			h.RefuseError(q, err)
			return false
		}
	}
	if !known && h.Believes.Certificates && q.TLS != nil && len(q.TLS.VerifiedChains) > 0 {
		who, known = h.asserter.Presented(q.TLS.VerifiedChains[0][0])
	}
	if !known {
		return true
	}
	if err := h.asserter.Assert(q.Header, who); err != nil {
		h.Refuse(q, http.StatusUnauthorized, "unauthenticated", "%v", err)
		return false
	}
	q.User = who.User
	return true
}

// hearIdentity takes in what another agent says of who asks.
func (h *Handler) hearIdentity(q *request.Request) bool {
	if h.asserter.Asserted(q.Header) == "" {
		h.asserter.Silence(q.Header)
		return true
	}
	for _, site := range h.Believes.Sites {
		if site == engine.SiteName(h.Name(q.From)) {
			return true
		}
	}
	h.asserter.Silence(q.Header)
	if q.Header.Get("Authorization") != "" {
		return true // the application finds out by that
	}
	h.Refuse(q, http.StatusForbidden, "forbidden", "%s does not take the word of %s for who asks; nothing has happened\n"+
		"help: ask with a token that the application there knows, or name %[2]s in services.%s.front_proxy.sites there",
		h.Name(h.Membership.Self()), h.Name(q.From), h.Service)
	return false
}
