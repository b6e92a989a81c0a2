package intercept

import (
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
	"github.com/skerry/skerry/web/world"
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
		name := r.Header.Get(peer.HeaderService)
		if name == "" {
			agent.ServeHTTP(w, r)
			return
		}
		h := services[engine.ServiceName(name)]
		if h == nil {
			problem.Write(w, http.StatusUnprocessableEntity, "unknown-service", world.Name(m, m.Self())+" has no service "+request.Printable(name), nil)
			return
		}
		h.serve(w, r, from)
	})
}

// hear takes in what another agent says of the request. It returns false when it has refused it.
func (h *Handler) hear(q *request.Request) bool {
	self := h.Membership.Self()
	q.Via = peer.SiteList(q.Header.Get(peer.HeaderVia))
	if n := len(q.Via); n == 0 || q.Via[n-1] != q.From { // who was asked before is told; who asks is proved
		q.Via = append(q.Via, q.From)
	}
	if slices.Contains(q.Via, self) || len(q.Via) > maxVia {
		h.Refuse(q, http.StatusLoopDetected, "loop", "the request came round: it was passed on by %s; nothing has happened here", h.Names(q.Via))
		return false
	}
	q.Operation = engine.OperationID(q.Header.Get(peer.HeaderOperation))
	q.User = q.Header.Get(peer.HeaderUser)
	q.ExactlyOne = q.Header.Get(peer.HeaderOne) != ""
	q.Again = q.Header.Get(peer.HeaderAgain) != ""
	q.Since = peer.Since(q.Header)
	q.Agreement = engine.Agreement(q.Header.Get(peer.HeaderAgreement))
	q.Aggregate = peer.SiteList(q.Header.Get(peer.HeaderAggregate))
	q.Page = q.Header.Get(peer.HeaderPage) != ""
	q.Content = q.Header.Get(peer.HeaderContent) != ""
	q.Gather = q.Header.Get(peer.HeaderGather) != ""
	q.Scope = q.Text
	placement := q.Header.Get(peer.HeaderPlacement)
	if strings.Contains(placement, ";") {
		for part := range strings.SplitSeq(placement, ";") {
			q.Parts = append(q.Parts, peer.SiteList(part))
		}
		placement = strings.ReplaceAll(placement, ";", ",")
	}
	for _, id := range peer.SiteList(placement) {
		if !h.Membership.IsMember(id) {
			h.Refuse(q, http.StatusUnprocessableEntity, "unknown-site", "site %s is no member of the mesh, as far as %s knows", request.Printable(string(id)), h.Name(self))
			return false
		}
		q.Sites = append(q.Sites, id)
	}
	return true
}

// call says which of the calls between agents a request is.
func (h *Handler) call(q *request.Request) string {
	switch {
	case q.Content:
		return engine.CallContent
	case q.Gather, q.Aggregate != nil:
		return engine.CallListPart
	case !q.Known && h.Client.Reaches(h.Service, q.Method, q.Path):
		return engine.CallDescription
	}
	return engine.CallRequest
}

// admits decides whether another agent may make a request, by the table of calls, and takes out what its site may not send. It returns
// false when it has refused the request.
func (h *Handler) admits(q *request.Request) bool {
	self := h.Name(h.Membership.Self())
	call := engine.PeerCallOf(h.call(q))
	described := q.Known && q.Match.Canonical || call.Name == engine.CallDescription
	if _, list := h.Collection(q); !described && !(list && call.Name == engine.CallListPart) { // a list may be of all containers at once
		h.Refuse(q, http.StatusUnprocessableEntity, "catalog-mismatch", "the catalog of %s has no kind for %s %s, and other sites reach there what it describes "+
			"and nothing else; nothing has happened\nhelp: give all sites the same catalog", self, q.Method, request.Printable(q.Path))
		return false
	}
	if call.Who == engine.HasPart {
		row, err := h.Site.Lookup(q.Context(), q.Match.Kind, q.Match.Target)
		if _, part := row.Sites[q.From]; err != nil || !part {
			h.Refuse(q, http.StatusServiceUnavailable, "no-replica", "%s shares no %s %q with %s; nothing has happened", self, q.Match.Kind.Name,
				request.Printable(q.Match.Target), h.Name(q.From))
			return false
		}
	}
	if v := h.accepts(q); !v.Accepted {
		h.Refuse(q, http.StatusForbidden, "not-accepted", "%s; nothing has happened", v.Reason)
		return false
	}
	for name := range q.Header {
		own := name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Skerry-") // said by this agent, or to it
		if name == "X-Forwarded-Prefix" {
			own = len(q.Header[name]) == 1 && carry.OfScopes(q.Header.Get(name))
		}
		if !own && !h.Client.Travels(h.Service, name) {
			delete(q.Header, name)
		}
	}
	return true
}

// accepts judges what another agent asks for: by the key of its connection, whoever has handed it the request.
func (h *Handler) accepts(q *request.Request) engine.Acceptance {
	w := engine.Wish{From: q.From, Service: h.Service, Scope: engine.Sharing}
	known := false
	if q.Known {
		w.Kind = q.Match.Kind.Name
		if row, err := h.Site.Lookup(q.Context(), q.Match.Kind, q.Match.Target); q.Match.Target != "" && err == nil && !row.State.Past() {
			known, w.Scope = true, row.Collaboration
		}
	}
	switch {
	case known:
	case q.ExactlyOne:
		w.Scope = engine.ExactlyOne
	case glue.Safe(q.Method):
	case q.Parts != nil:
		w.Scope = engine.Cross
	case len(q.Sites) > 1:
		w.Scope = engine.Replication
	}
	return glue.Everything(q.Match.Acts(q.Method, q.Header.Get("Content-Type"), known), func(act engine.Act) engine.Acceptance {
		w.Act = act
		return h.Accepts(w)
	})
}

// maxVia is how many sites may pass one request on.
const maxVia = 8
