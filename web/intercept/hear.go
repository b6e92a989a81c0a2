package intercept

import (
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/problem"
)

// Peers returns the handler for the requests of other sites' agents. Their connections have proved who they are: the
// RemoteAddr of a request is a SiteID. What names no service is for the agent itself.
func Peers(m engine.Membership, services map[engine.ServiceName]*Handler, agent http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := engine.SiteID(r.RemoteAddr)
		if !m.IsMember(from) {
			problem.Write(w, http.StatusForbidden, "stranger", "only members of the mesh are served here", nil)
			return
		}
		name := r.Header.Get(headerService)
		if name == "" {
			agent.ServeHTTP(w, r)
			return
		}
		h := services[engine.ServiceName(name)]
		if h == nil {
			problem.Write(w, http.StatusUnprocessableEntity, "unknown-service", "there is no service "+printable(name)+" at this site", nil)
			return
		}
		h.serve(w, r, from)
	})
}

// hear takes in what another agent says of the request. It returns false when it has refused it.
func (h *Handler) hear(q *request) bool {
	self := h.Membership.Self()
	q.via = siteList(q.Header.Get(headerVia))
	if slices.Contains(q.via, self) || len(q.via) > maxVia {
		h.refuse(q, http.StatusLoopDetected, "loop", "the request came round: it was passed on by %s; nothing has happened here", h.names(q.via))
		return false
	}
	q.operation = engine.OperationID(q.Header.Get(headerOperation))
	q.user = q.Header.Get(headerUser)
	q.exactlyOne = q.Header.Get(headerOne) != ""
	q.again = q.Header.Get(headerAgain) != ""
	q.agreement = engine.Agreement(q.Header.Get(headerAgreement))
	q.aggregate = siteList(q.Header.Get(headerAggregate))
	q.page = q.Header.Get(headerPage) != ""
	q.content = q.Header.Get(headerContent) != ""
	q.gather = q.Header.Get(headerGather) != ""
	q.scope = q.text
	placement := q.Header.Get(headerPlacement)
	if strings.Contains(placement, ";") {
		for part := range strings.SplitSeq(placement, ";") {
			q.parts = append(q.parts, siteList(part))
		}
		placement = strings.ReplaceAll(placement, ";", ",")
	}
	for _, id := range siteList(placement) {
		if !h.Membership.IsMember(id) {
			h.refuse(q, http.StatusUnprocessableEntity, "unknown-site", "site %s is no member of the mesh, as far as %s knows", printable(string(id)), h.name(self))
			return false
		}
		q.sites = append(q.sites, id)
	}
	return true
}

// maxVia is how many sites may pass one request on.
const maxVia = 8
