package intercept

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/problem"
)

// speaks does what the dialect of a service's API asks for before a request goes its way: what only asks what would happen goes to one
// site, past the engine, and a body that cannot be read as it is becomes one that can. It reports true when it has answered.
func (h *Handler) speaks(q *request) bool {
	if glue.Safe(q.Method) {
		return !q.known && h.dialect.Describes(q.path) && h.describes(q)
	}
	if h.conditional(q) {
		return true
	}
	var body []byte
	if q.Method == http.MethodDelete {
		whole, err := false, error(nil)
		if body, whole, err = q.readInline(engine.MaxInlineBody); err != nil {
			h.refuseBody(q, err)
			return true
		}
		if whole {
			q.setBody(body)
			if h.dialect.Forces(q.Header, body) {
				q.Header.Add(headerForce, engine.ForceReliedOn)
			}
		}
	}
	if h.dialect.Rehearses(q.Method, q.query, q.Header, body) {
		if q.sites == nil || slices.Contains(q.sites, h.Membership.Self()) {
			h.pass(q)
		} else {
			h.forward(q, q.sites)
		}
		return true
	}
	if q.from == "" && q.known && q.sites == nil && !q.match.Below && q.match.Target != "" && glue.IsJSONPatch(mediaOf(q.Header)) {
		patch, whole, err := q.readInline(engine.MaxInlineBody)
		if err != nil {
			h.refuseBody(q, err)
			return true
		}
		if whole {
			q.setBody(patch)
			if h.dialect.Own(q.match.Kind, patch) {
				h.pass(q)
				return true
			}
		}
	}
	return q.from == "" && h.makesSomething(q) && h.legible(q)
}

// describes answers here what the sites of a scope would answer, when none of them can be reached: a client that learns nothing of the
// application asks for nothing, though what it asks for would be kept.
func (h *Handler) describes(q *request) bool {
	if h.here(q) || slices.Contains(q.sites, h.Membership.Self()) || len(h.nearest(q.sites)) > 0 {
		return false
	}
	h.pass(q)
	return true
}

// makesSomething reports whether a request makes or replaces an object that may concern several sites.
func (h *Handler) makesSomething(q *request) bool {
	m := &q.match
	switch {
	case !q.known || !m.Canonical || m.Type != engine.TypeCreate && m.Type != engine.TypeReplace && m.Type != engine.TypeAbsolute || m.Below:
		return false
	case q.sites != nil || len(q.choices) > 0:
		return true
	case m.Target != "":
		_, err := h.Site.Lookup(q.Context(), m.Kind, m.Target)
		return err == nil
	}
	_, inside, err := h.containerOf(q)
	return err == nil && inside
}

// legible gives a request a body that can be read, and that makes the same at every site. The application itself is asked what the
// request would make, where it will run first. It reports true when it has answered.
func (h *Handler) legible(q *request) bool {
	body, whole, err := q.readInline(min(h.Limits.Body, engine.MaxLooked))
	switch {
	case err != nil:
		h.refuseBody(q, err)
		return true
	case !whole:
		h.refuseTooLarge(q, min(h.Limits.Body, engine.MaxLooked))
		return true
	}
	k := q.match.Kind
	rehearsal, needed := h.dialect.Rehearsal(k, q.query, q.Header, body)
	if needed {
		shown, ok := h.rehearsed(q, rehearsal, body)
		if !ok {
			return true
		}
		body = shown
		q.Request = q.WithContext(q.Context())
		q.Header = q.Header.Clone()
		q.Header.Set("Content-Type", "application/json")
	}
	if q.match.Type == engine.TypeCreate || needed {
		body = h.dialect.Portable(k, body)
	}
	q.setBody(body)
	q.match, q.known = h.router().Match(q.Method, q.path, q.Header) // a PUT of JSON is another type
	return false
}

// rehearsed asks the application what a request would make. False: it has answered the client, with what the application said against
// it, or because nobody could be asked.
func (h *Handler) rehearsed(q *request, query string, body []byte) ([]byte, bool) {
	header := q.credentials().Header
	header.Set("Content-Type", q.Header.Get("Content-Type"))
	header.Set("Accept", h.dialect.Accept())
	to, over := h.upstream, h.local.RoundTrip
	if self := h.Membership.Self(); q.sites != nil && !slices.Contains(q.sites, self) {
		near := h.nearest(q.sites)
		if len(near) == 0 {
			q.certain = true
			h.refuse(q, http.StatusServiceUnavailable, "unreachable", "%s cannot be reached now, and only its application can read a body of %s; "+
				"nothing has happened\nhelp: send JSON, which is kept until the site returns (kubectl create -f)", h.names(q.sites), mediaOf(q.Header))
			return nil, false
		}
		to, over = &url.URL{Scheme: "http", Host: string(near[0])}, h.Peer.RoundTrip
		h.speak(q, header)
		header.Set(headerPlacement, string(near[0]))
	}
	r := (&http.Request{Method: q.Method, URL: glue.Target(to, q.path, query), Header: header, Host: q.Host,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}).WithContext(q.Context())
	resp, err := over(r)
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, engine.MaxLooked+1))
	}
	switch {
	case err != nil:
		q.certain = true
		h.refuse(q, http.StatusBadGateway, "upstream", "the application could not be asked to read the body: %v; nothing has happened", err)
		return nil, false
	case len(body) > engine.MaxLooked:
		h.refuseTooLarge(q, engine.MaxLooked)
		return nil, false
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		h.answer(q, engine.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body})
		return nil, false
	}
	return body, true
}

// accepted answers a request that is kept in the application's own form, and says what that means.
func (h *Handler) accepted(q *request, a *engine.Answer, r engine.Request) {
	media, body := h.dialect.Accepted(r.Type, r.Body)
	if a.Header = a.Header.Clone(); a.Header == nil {
		a.Header = http.Header{}
	}
	a.Header.Set("Content-Type", media)
	a.Body = body
	q.warnings = append(q.warnings, "299 - "+quoted("accepted and not done yet: it is done when its sites can be reached (skerry operations show "+string(a.Operation)+")"))
}

func mediaOf(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return fmt.Sprintf("%q", h.Get("Content-Type"))
	}
	return t
}

// retold tells a client the agents' refusals as the application would, and in a Warning which sites are missing. Everything else passes
// as it is.
type retold struct {
	http.ResponseWriter
	refuser glue.Refuser
	status  int // of a refusal, zero for none
	text    bytes.Buffer
}

// Unwrap is for http.ResponseController.
func (r *retold) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// FlushError is for http.ResponseController: a refusal is held until it is whole.
func (r *retold) FlushError() error {
	if r.status != 0 {
		return nil
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// WriteHeader implements http.ResponseWriter.
func (r *retold) WriteHeader(status int) {
	if strings.HasPrefix(r.Header().Get("Content-Type"), problem.MediaType) && status >= 400 {
		r.status = status
		return
	}
	if missing := r.Header().Get("Skerry-Missing"); missing != "" {
		r.Header().Add("Warning", "299 - "+quoted(missing+" cannot be reached now: what is there may be missing here, or be old"))
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *retold) Write(b []byte) (int, error) {
	if r.status != 0 {
		return r.text.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

func (r *retold) finish() {
	if r.status == 0 {
		return
	}
	var p struct{ Type, Detail string }
	_ = json.Unmarshal(r.text.Bytes(), &p) // what is no problem is told by its status
	media, body := r.refuser.Refusal(r.status, strings.TrimPrefix(p.Type, problem.Prefix), p.Detail)
	r.Header().Set("Content-Type", media)
	r.Header().Del("Content-Length")
	r.ResponseWriter.WriteHeader(r.status)
	_, _ = r.ResponseWriter.Write(body)
}
