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
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
)

// speaks does what the dialect of a service's API asks for before a request goes its way: what only asks what would happen goes to one
// site, past the engine, and a body that cannot be read as it is becomes one that can. It reports true when it has answered.
func (h *Handler) speaks(q *request.Request) bool {
	if glue.Safe(q.Method) {
		return !q.Known && h.Dialect.Describes(q.Path) && h.describes(q)
	}
	if h.conditional(q) || len(q.Choices) == 0 && h.Dialect.Inquires(q.Method, q.Path) && h.asks(q) {
		return true
	}
	var body []byte
	if q.Method == http.MethodDelete {
		whole, err := false, error(nil)
		if body, whole, err = q.ReadInline(engine.MaxInlineBody); err != nil {
			h.RefuseBody(q, err)
			return true
		}
		if whole {
			q.SetBody(body)
			if h.Dialect.Forces(q.Header, body) {
				q.Header.Add(peer.HeaderForce, engine.ForceReliedOn)
			}
		}
	}
	if h.Dialect.Rehearses(q.Method, q.Query, q.Header, body) {
		return h.asks(q)
	}
	if q.From == "" && q.Known && q.Sites == nil && !q.Match.Below && q.Match.Target != "" && glue.IsJSONPatch(mediaOf(q.Header)) {
		patch, whole, err := q.ReadInline(engine.MaxInlineBody)
		if err != nil {
			h.RefuseBody(q, err)
			return true
		}
		if whole {
			q.SetBody(patch)
			if h.Dialect.Own(q.Match.Kind, patch) {
				h.Pass(q)
				return true
			}
		}
	}
	return q.From == "" && h.makesSomething(q) && h.legible(q)
}

// asks has one site of the scope answer, this one if it is of these. Of a request for several sites that is the site where it runs first, with
// the credentials of its client.
func (h *Handler) asks(q *request.Request) bool {
	if q.Sites == nil || slices.Contains(q.Sites, h.Membership.Self()) {
		h.Pass(q)
	} else {
		h.Forward(q, q.Sites)
	}
	return true
}

// describes answers here what the sites of a scope would answer, when none of them can be reached: a client that learns nothing of the
// application asks for nothing, though what it asks for would be kept. Sites do not have to agree on it: one may be able to do more.
func (h *Handler) describes(q *request.Request) bool {
	switch {
	case h.Here(q):
		return false
	case len(h.Nearest(q.Sites)) == 0 && !slices.Contains(q.Sites, h.Membership.Self()):
		h.Pass(q)
		return true
	}
	return q.Agreement != engine.AgreeOne && len(q.Choices) == 0 && h.asks(q)
}

// makesSomething reports whether a request makes or replaces an object that may concern several sites.
func (h *Handler) makesSomething(q *request.Request) bool {
	m := &q.Match
	switch {
	case !q.Known || !m.Canonical || m.Type != engine.TypeCreate && m.Type != engine.TypeReplace && m.Type != engine.TypeAbsolute || m.Below:
		return false
	case q.Sites != nil || len(q.Choices) > 0:
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
func (h *Handler) legible(q *request.Request) bool {
	body, whole, err := q.ReadInline(min(h.Limits.Body, engine.MaxLooked))
	switch {
	case err != nil:
		h.RefuseBody(q, err)
		return true
	case !whole:
		h.RefuseTooLarge(q, min(h.Limits.Body, engine.MaxLooked))
		return true
	}
	k := q.Match.Kind
	rehearsal, needed := h.Dialect.Rehearsal(k, q.Query, q.Header, body)
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
	if q.Match.Type == engine.TypeCreate || needed {
		h.warns(q, h.Dialect.Leaves(k, body))
		body = h.Dialect.Portable(k, body)
	}
	q.SetBody(body)
	q.Match, q.Known = h.Router().Match(q.Method, q.Path, q.Header) // a PUT of JSON is another type
	return false
}

// warns has the answer warn of something; empty: there is nothing.
func (h *Handler) warns(q *request.Request, of string) {
	if of != "" {
		q.Warnings = append(q.Warnings, "299 - "+request.Quoted(of))
	}
}

// rehearsed asks the application what a request would make. False: it has answered the client, with what the application said against
// it, or because nobody could be asked.
func (h *Handler) rehearsed(q *request.Request, query string, body []byte) ([]byte, bool) {
	header := q.Credentials().Header
	header.Set("Content-Type", q.Header.Get("Content-Type"))
	header.Set("Accept", h.Dialect.Accept())
	to, over := h.Upstream, h.Local.RoundTrip
	if self := h.Membership.Self(); q.Sites != nil && !slices.Contains(q.Sites, self) {
		near := h.Nearest(q.Sites)
		if len(near) == 0 {
			q.Certain = true
			h.Refuse(q, http.StatusServiceUnavailable, "unreachable", "%s cannot be reached now, and only its application can read a body of %s; "+
				"nothing has happened\nhelp: send JSON, which is kept until the site returns (kubectl create -f)", h.Names(q.Sites), mediaOf(q.Header))
			return nil, false
		}
		to, over = &url.URL{Scheme: "http", Host: string(near[0])}, h.Peer.RoundTrip
		h.Speak(q, header)
		header.Set(peer.HeaderPlacement, string(near[0]))
	}
	r := (&http.Request{Method: q.Method, URL: glue.Target(to, q.Path, query), Header: header, Host: q.Host,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}).WithContext(q.Context())
	resp, err := over(r)
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, engine.MaxLooked+1))
	}
	switch {
	case err != nil:
		q.Certain = true
		h.Refuse(q, http.StatusBadGateway, "upstream", "the application could not be asked to read the body: %v; nothing has happened", err)
		return nil, false
	case len(body) > engine.MaxLooked:
		h.RefuseTooLarge(q, engine.MaxLooked)
		return nil, false
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		h.Answer(q, engine.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body})
		return nil, false
	}
	return body, true
}

// accepted answers a request that is kept in the application's own form, and says what that means.
func (h *Handler) accepted(q *request.Request, a *engine.Answer, r engine.Request) {
	media, body := h.Dialect.Accepted(r.Type, r.Body)
	if a.Header = a.Header.Clone(); a.Header == nil {
		a.Header = http.Header{}
	}
	a.Header.Set("Content-Type", media)
	a.Body = body
	q.Warnings = append(q.Warnings, "299 - "+request.Quoted("accepted and not done yet: it is done when its sites can be reached (skerry operations show "+string(a.Operation)+")"))
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
	missing, refused := entries(r.Header(), "Skerry-Missing"), entries(r.Header(), "Skerry-Refused")
	for _, said := range refused {
		name, what, _ := strings.Cut(said, " ")
		missing = slices.DeleteFunc(missing, func(site string) bool { return site == name })
		r.Header().Add("Warning", "299 - "+request.Quoted(name+" has answered "+what+": what is there may be missing here, or be old"))
	}
	if len(missing) > 0 {
		r.Header().Add("Warning", "299 - "+request.Quoted(strings.Join(missing, ", ")+" cannot be reached now: what is there may be missing here, or be old"))
	}
	r.ResponseWriter.WriteHeader(status)
}

// entries are those of a header that lists them.
func entries(h http.Header, name string) []string {
	if h.Get(name) == "" {
		return nil
	}
	return strings.Split(h.Get(name), ", ")
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
