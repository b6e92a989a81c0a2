package intercept

import (
	"bufio"
	"net"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/request"
)

// inherit gives a request without a scope that of its workflow. It returns false when it has refused the request.
func (h *Handler) inherit(q *request.Request) bool {
	if q.Text != "" {
		return true
	}
	text, clash := h.Correlations.Find(q.IDs)
	if clash {
		h.Refuse(q, http.StatusConflict, "correlation",
			"the correlation headers of this request came with different scopes before\nhelp: send the scope with the request, or one correlation header")
		return false
	}
	q.Text, q.Inherited = text, text != ""
	return true
}

// follow remembers the scope of a request for those that its services will make. It returns false when it has refused the request;
// otherwise the caller calls leave when it has been answered.
func (h *Handler) follow(q *request.Request) (leave func(), ok bool) {
	if h.Correlations == nil || q.Scope == "" {
		return func() {}, true
	}
	parsed := q.Parsed
	if parsed == nil {
		var err error
		if parsed, err = scope.Parse(q.Scope); err != nil { // another agent's, which is then of no use to a service here
			return func() {}, true
		}
	}
	q.Request = q.WithContext(q.Context())
	q.Header = q.Header.Clone()
	q.IDs = append(q.IDs, h.Correlations.Name(func(header string) bool { return len(q.Header[header]) > 0 }, q.Header.Set))
	if q.Began != "" {
		q.IDs = append(q.IDs, carry.Made(q.Began))
	}
	left, other, full := h.Correlations.Enter(q.IDs, parsed.Named(string(h.Service)).String())
	switch {
	case full:
		h.Refuse(q, http.StatusLoopDetected, "loop",
			"%d requests of this workflow are under way at %s: services seem to ask each other in a circle; nothing has happened here",
			h.Correlations.Deepest, h.Name(h.Membership.Self()))
		return nil, false
	case other != "":
		h.Refuse(q, http.StatusConflict, "correlation",
			"the correlation id of this request came with the scope %s before, and comes with %s now; nothing has happened\nhelp: use an id for one workflow only",
			other, q.Scope)
		return nil, false
	}
	told := &told{ResponseWriter: q.W}
	q.W = told
	return func() { left(told.let()) }, true
}

// told sees which status a client gets.
type told struct {
	http.ResponseWriter
	since  time.Time
	status int
	took   time.Duration // from since until the answer began
}

func (t *told) tell(status int) {
	if t.status == 0 {
		t.status, t.took = status, time.Since(t.since)
	}
}

// let reports whether the client was answered, and not as one whom the application does not know or let in.
func (t *told) let() bool { return let(t.status) }

func let(status int) bool {
	return status != 0 && status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusProxyAuthRequired
}

// WriteHeader implements http.ResponseWriter.
func (t *told) WriteHeader(status int) {
	if status >= 200 {
		t.tell(status)
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (t *told) Write(b []byte) (int, error) {
	t.tell(http.StatusOK)
	return t.ResponseWriter.Write(b)
}

// Hijack is for http.ResponseController, as Unwrap is.
func (t *told) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t.tell(http.StatusSwitchingProtocols)
	return http.NewResponseController(t.ResponseWriter).Hijack()
}

// Unwrap implements what http.ResponseController looks for.
func (t *told) Unwrap() http.ResponseWriter { return t.ResponseWriter }
