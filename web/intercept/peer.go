package intercept

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/problem"
)

// What agents say to each other, in headers. From clients none of it is believed.
const (
	headerService   = "Skerry-Service"     // the service that is addressed
	headerOperation = "Skerry-Operation"   // the identifier that the first agent gave
	headerVia       = "Skerry-Via"         // the sites that passed the request on, in order
	headerPlacement = "Skerry-Placement"   // the sites that the scope was resolved to; of a cross, part by part
	headerAgain     = "Skerry-Again"       // the last of them may have passed it on before
	headerUser      = "Skerry-User"        // who asked
	headerOne       = "Skerry-Exactly-One" // the sites of the placement are to choose from
	headerAgreement = "Skerry-Agreement"   // how many sites must have applied it before the answer
	// headerAggregate asks for a part of the list of several sites, and names these; headerPage says that it goes on in pages and what
	// this site's application said about that. headerReplicated tells which items are replicated, one bit an item.
	headerAggregate  = "Skerry-Aggregate"
	headerPage       = "Skerry-Page"
	headerReplicated = "Skerry-Replicated"
	headerParts      = "Skerry-Parts" // which items are parts of cross resources
	headerHomes      = "Skerry-Homes" // which site lists an item, by its number among those of the list
	headerNext       = "Skerry-Next"  // the query of the next page
	// headerGather asks for a part of a list or a watch of several sites that the dialect makes one (gather.go).
	headerGather = "Skerry-Gather"
	// headerContent says that a GET below an item reads content for a site that was added.
	headerContent = "Skerry-Content"
)

// headerForce names warnings that a client overrides, separated by commas.
const headerForce = "Skerry-Force"

// forces reports whether a request overrides a warning.
func forces(h http.Header, what string) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values(headerForce), ","), ",") {
		if strings.TrimSpace(part) == what {
			return true
		}
	}
	return false
}

// maxVia is how many sites may pass one request on.
const maxVia = 8

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

func siteList(header string) []engine.SiteID {
	var ids []engine.SiteID
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimSpace(part); part != "" {
			ids = append(ids, engine.SiteID(part))
		}
	}
	return ids
}

func joinSites(ids []engine.SiteID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, ",")
}

// joinPlacement writes sites, or the parts that they are, for another agent.
func joinPlacement(sites []engine.SiteID, parts engine.Parts) string {
	if parts == nil {
		return joinSites(sites)
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = joinSites(part)
	}
	return strings.Join(texts, ";")
}

// speak adds what the other agent has to know of a request that is passed on as it is.
func (h *Handler) speak(q *request, out http.Header) {
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

// askPeer sends a request that changes nothing to another site's agent, and returns with the answer or when the request's
// context has ended. The transport alone would return later than that: closing a stream to a silent site lasts until the
// connection counts as dead. What it gets after all is dropped.
func askPeer(peer http.RoundTripper, r *http.Request) (*http.Response, error) {
	type result struct {
		resp *http.Response
		err  error
	}
	results := make(chan result)
	go func() {
		resp, err := peer.RoundTrip(r)
		select {
		case results <- result{resp, err}:
		case <-r.Context().Done():
			if err == nil {
				resp.Body.Close()
			}
		}
	}()
	select {
	case x := <-results:
		return x.resp, x.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// askPeerAgain does so once more when the connection was lost before it brought the answer: a cut that heals soon leaves one that dies
// afterwards, and asking again harms nothing (RFC 9110, 9.2.2).
func askPeerAgain(peer http.RoundTripper, r *http.Request) (*http.Response, error) {
	resp, err := askPeer(peer, r)
	if err != nil && r.Context().Err() == nil && !errors.Is(err, engine.ErrUnreachable) {
		return askPeer(peer, r)
	}
	return resp, err
}

// encodeReplicated packs which items are replicated, the first item in the lowest bit of the first byte.
func encodeReplicated(items []glue.Item) string {
	bits := make([]byte, (len(items)+7)/8)
	for i, item := range items {
		if item.Replicated {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return encoding.EncodeToString(bits)
}

// decodeReplicated marks the items that the other site says are replicated.
func decodeReplicated(header string, items []glue.Item) {
	bits, err := encoding.DecodeString(header)
	if err != nil {
		return
	}
	for i := range items {
		items[i].Replicated = i/8 < len(bits) && bits[i/8]&(1<<(i%8)) != 0
	}
}
