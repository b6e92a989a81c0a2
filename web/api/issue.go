package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/problem"
	"github.com/skerry/skerry/web/shape"
)

// IssueRequest is a request to a service, as a client of its listener would make it.
type IssueRequest struct {
	Service string            `json:"service"`
	Method  string            `json:"method"`
	Path    string            `json:"path"` // with its query
	Headers map[string]string `json:"headers"`
	// Body is any JSON value and sent as such; when Headers has a Content-Type that is not JSON it is a string, whose
	// characters are sent.
	Body  json.RawMessage `json:"body"`
	Scope string          `json:"scope"` // empty: none
}

// Issued is what came of it: an operation, or the application's answer alone.
type Issued struct {
	Operation *shape.Operation
	Answer    Answer
}

// Answer describes what a client of the service would have got.
type Answer struct {
	Status    int               `json:"status"`
	Site      string            `json:"site"`     // who answered; empty when not told
	Resource  string            `json:"resource"` // meta-identifier; empty when none
	Headers   map[string]string `json:"headers"`
	Body      any               `json:"body"`          // as BodyEncoding tells; null when there is none or it may not be shown
	Encoding  string            `json:"body_encoding"` // json, text, base64 or empty
	Truncated bool              `json:"truncated"`     // the body went on and is not shown
}

// Methods are those that can be issued.
var Methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// Issue sends r through the service's interception handler. A refusal of the agent's is the error, as it would have
// been the client's answer. idempotencyKey, unless empty, is the caller's.
func (a *API) Issue(ctx context.Context, r IssueRequest, idempotencyKey, remote string) (Issued, error) {
	s := a.service(engine.ServiceName(r.Service))
	if s == nil {
		return Issued{}, refuse(422, "unknown-service", "there is no service %q in application %s", r.Service, a.Application)
	}
	h, body, err := r.check()
	if err != nil {
		return Issued{}, err
	}
	if idempotencyKey != "" {
		h.Set("Idempotency-Key", idempotencyKey)
	}
	ctx, cancel := context.WithTimeout(ctx, issueWait)
	defer cancel()
	got, err := s.ask(ctx, r.Method, r.Path, h, body, remote, answerBytes)
	if err != nil {
		return Issued{}, err
	}
	if p, ok := ownProblem(got); ok {
		return Issued{}, p
	}
	out := Issued{Answer: a.answer(s, r, got)}
	if id := got.header.Get("Skerry-Operation"); id != "" {
		op, err := a.Operation(ctx, id)
		switch {
		case err == nil:
			out.Operation = &op
		case AsRefusal(err).Status != http.StatusNotFound: // else the application refused it, and it left no trace
			return Issued{}, err
		}
	}
	return out, nil
}

// check refuses what could not be sent, or would reach something else than it says.
func (r *IssueRequest) check() (http.Header, []byte, error) {
	if !slices.Contains(Methods, r.Method) {
		return nil, nil, badRequest("method is %q: give one of %s", r.Method, strings.Join(Methods, ", "))
	}
	if !strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, "//") || strings.ContainsAny(r.Path, " #\r\n\t\\") {
		return nil, nil, badRequest("path is %q: give an absolute path with its query, percent-encoded, such as /images", r.Path)
	}
	if strings.HasPrefix(r.Path, "/~scope/") {
		return nil, nil, badRequest("path has a scope in it: use the member scope")
	}
	if _, err := url.ParseRequestURI(r.Path); err != nil {
		return nil, nil, badRequest("path is %q: it is not a valid path", r.Path)
	}
	h := http.Header{}
	for name, value := range r.Headers {
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, nil, badRequest("header %q cannot be sent", name)
		}
		if name == "Scope" || name == "X-Scope" {
			return nil, nil, badRequest("give the scope as the member scope, not as a header")
		}
		if strings.HasPrefix(name, "Skerry-") && name != "Skerry-Force" && name != engine.HeaderAfter || slices.Contains(unsendable, name) {
			return nil, nil, badRequest("header %s is the agent's own and cannot be given", name)
		}
		h.Set(name, value)
	}
	if s := scopeLine(r.Scope); s != "" {
		if !httpguts.ValidHeaderFieldValue(s) {
			return nil, nil, refuse(400, "scope-syntax", "the scope holds control characters")
		}
		h.Set("Scope", s)
	}
	body, err := r.bytes(h)
	return h, body, err
}

// unsendable are headers that belong to one connection.
var unsendable = []string{
	"Host", "Connection", "Content-Length", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
	"Proxy-Connection", "Proxy-Authorization",
}

// scopeLine puts a scope on one line, byte offsets unchanged: white space is free in scopes.
func scopeLine(s string) string {
	return strings.NewReplacer("\r", " ", "\n", " ", "\t", " ").Replace(s)
}

func (r *IssueRequest) bytes(h http.Header) ([]byte, error) {
	if len(r.Body) == 0 || bytes.Equal(bytes.TrimSpace(r.Body), []byte("null")) {
		return nil, nil
	}
	t := h.Get("Content-Type")
	if t == "" {
		t = "application/json"
		h.Set("Content-Type", t)
	}
	mt, _, err := mime.ParseMediaType(t)
	if err != nil {
		return nil, badRequest("Content-Type %q cannot be read", t)
	}
	if mt == "application/json" || strings.HasSuffix(mt, "+json") {
		return r.Body, nil
	}
	var text string
	if json.Unmarshal(r.Body, &text) != nil {
		return nil, badRequest("body must be a string when Content-Type is %s", mt)
	}
	return []byte(text), nil
}

func (a *API) answer(s *Service, r IssueRequest, got received) Answer {
	v := Answer{
		Status: got.status, Site: got.header.Get("Skerry-Site"), Resource: got.header.Get("Skerry-Resource"),
		Headers: map[string]string{}, Truncated: got.truncated,
	}
	for name, values := range got.header {
		if name != "Set-Cookie" {
			v.Headers[name] = strings.Join(values, ", ")
		}
	}
	if got.truncated || len(got.body) == 0 {
		return v
	}
	if m, ok := a.route(string(s.Name), r.Method, r.Path); ok {
		v.Body, v.Encoding = shape.ShowBody(m.Kind, got.body)
		return v
	}
	switch doc, ok := shape.DecodeJSON(got.body); {
	case ok:
		v.Body, v.Encoding = doc, "json"
	case utf8.Valid(got.body) && !bytes.ContainsRune(got.body, 0):
		v.Body, v.Encoding = string(got.body), "text"
	default:
		v.Body, v.Encoding = base64.StdEncoding.EncodeToString(got.body), "base64"
	}
	return v
}

// ownProblem tells a refusal of an agent's from an answer of the application's.
func ownProblem(got received) (*engine.Refusal, bool) {
	if t, _, _ := mime.ParseMediaType(got.header.Get("Content-Type")); t != problem.MediaType {
		return nil, false
	}
	var p struct{ Type, Detail string }
	if json.Unmarshal(got.body, &p) != nil || !strings.HasPrefix(p.Type, problem.Prefix) {
		return nil, false
	}
	return &engine.Refusal{
		Status: got.status, Type: strings.TrimPrefix(p.Type, problem.Prefix), Detail: p.Detail,
		Operation: engine.OperationID(got.header.Get("Skerry-Operation")),
	}, true
}
