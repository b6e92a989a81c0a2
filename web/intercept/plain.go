package intercept

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/gather"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/meter"
)

// Door returns where the clients of the service come in: what is plain passes there, the rest comes to the handler. Limits that are zero
// stand for the defaults.
func (h *Handler) Door(limits door.Limits) *door.Door { return h.door(h, h, limits) }

func (h *Handler) door(desk door.Desk, rest http.Handler, limits door.Limits) *door.Door {
	return door.New(door.Config{Desk: desk, Rest: rest, Limits: limits, Application: h.here, Log: h.Log})
}

// Plain implements door.Desk: a request passes as ServeHTTP would have it pass, when nothing that it is about, or refers to, can be replicated
// here, and its scope, if it has one, is this site. When there is doubt it is not plain.
func (h *Handler) Plain(r *door.Request) bool {
	safe := glue.Safe(r.Method)
	if h.Dialect != nil && !safe || h.carrier != nil && !safe {
		return false
	}
	if h.asserter != nil && (h.Believes.Token != nil || h.Believes.Certificates || h.Believes.Proxies) {
		return false // who asks is found out
	}
	if h.Tracer != nil {
		h.mark(r)
	}
	trusted, correlated := h.Proxies.Trusts(r.Client), false
	var said forwarded
	var text string
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case f.Is("skerry-after"):
			return false
		case f.Begins("skerry-"):
			f.Drop = true
		case f.Is("scope"), f.Is("x-scope"):
			if f.Drop = true; text != "" || len(f.Value) == 0 {
				return false
			}
			text = string(f.Value)
		case f.Is("baggage"):
			if bytes.Contains(f.Value, []byte("scope")) {
				return false
			}
		case f.Is("forwarded"), f.Begins("x-forwarded-"), f.Is("x-real-ip"):
			if f.Drop = !trusted; trusted {
				said.hear(f)
			}
		case h.Correlations.Has(f.Name):
			correlated = true
		case h.carrier != nil && h.carrier.Carries(string(f.Name)):
			return false
		case h.asserter != nil && h.asserter.Silences(string(f.Name)):
			f.Drop = true
		}
	}
	if strings.HasPrefix(r.Path, "/~") || strings.HasPrefix(r.Path, "/%7") {
		return false
	}
	r.Scope = text
	if text != "" && h.Open != nil && safe && !said.any() {
		if to := h.elsewhere(text); to != nil {
			return h.readsThere(r, to, correlated)
		}
	}
	if !h.apart(r, text != "") {
		return false
	}
	if text != "" && !h.own(r, text, correlated) || text == "" && correlated && !h.Correlations.Empty() && h.inherits(r) {
		return false
	}
	if r.Client.IsValid() {
		r.Add = said.say(r)
	}
	return true
}

// mark decides whether a request is traced that passes as it is: its traceparent stays what it was.
func (h *Handler) mark(r *door.Request) {
	var parent []byte
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Is("traceparent") {
			parent = f.Value
		}
	}
	r.Trace = h.Tracer.Mark(parent)
}

// own takes a scope that is this site, for the service and perhaps for others, and has the request remembered under it. It reports false,
// and has done nothing, where that is to be looked at more closely.
func (h *Handler) own(r *door.Request, text string, correlated bool) bool {
	site := h.Name(h.Membership.Self())
	o := h.lastOwn.Load()
	if o == nil || o.text != text || o.site != site {
		if o = h.readOwn(text, site); o == nil {
			return false
		}
		h.lastOwn.Store(o)
	}
	if h.Removed() {
		return false
	}
	r.Answer = append(append(append(r.Answer, "Skerry-Site: "...), site...), "\r\n"...)
	return h.enters(r, o.named, correlated)
}

// enters remembers the scope of a request for those that its services will make, until Told. It reports false, and has done nothing, where that
// is to be looked at more closely.
func (h *Handler) enters(r *door.Request, named string, correlated bool) bool {
	if h.Correlations == nil {
		return true
	}
	ids, before := make([]carry.ID, 0, 1), len(r.Add)
	if correlated {
		q := shown(r)
		ids = h.Correlations.IDs(q.Header, q.Shown())
	}
	has := func(header string) bool {
		return correlated && slices.ContainsFunc(r.Fields, func(f door.Field) bool { return !f.Drop && strings.EqualFold(string(f.Name), header) })
	}
	ids = append(ids, h.Correlations.Name(has, func(header, value string) {
		r.Add = append(append(append(append(r.Add, header...), ": "...), value...), "\r\n"...)
	}))
	leave, _, _ := h.Correlations.Enter(ids, named)
	if leave == nil {
		r.Add = r.Add[:before]
		return false
	}
	r.Leave = leave
	return true
}

// ownScope is a scope that is this site.
type ownScope struct {
	text, site string
	named      string // every binding with its service
}

// readOwn returns nil for a scope that is another one.
func (h *Handler) readOwn(text, site string) *ownScope {
	s, err := scope.Parse(text)
	if err != nil {
		return nil
	}
	services := map[string]bool{}
	for _, b := range s.Bindings {
		if b.Service == "" {
			b.Service = string(h.Service)
		}
		if b.Location.Op != scope.OpSite || b.Location.Site != site || services[b.Service] || !slices.Contains(h.Services, engine.ServiceName(b.Service)) {
			return nil
		}
		services[b.Service] = true
	}
	if !services[string(h.Service)] {
		return nil
	}
	return &ownScope{text: text, site: site, named: s.Named(string(h.Service)).String()}
}

// inherits reports whether a request has the scope of its workflow.
func (h *Handler) inherits(r *door.Request) bool {
	q := shown(r)
	text, clash := h.Correlations.Find(h.Correlations.IDs(q.Header, q.Shown()))
	return text != "" || clash
}

// shown is what of a request tells who asks, and in which workflow.
func shown(r *door.Request) *request.Request {
	q := &request.Request{Request: &http.Request{Header: http.Header{}, TLS: r.TLS, URL: &url.URL{RawQuery: strings.TrimPrefix(r.Query, "?")}}}
	for i := range r.Fields {
		if f := &r.Fields[i]; !f.Drop {
			q.Header.Add(string(f.Name), string(f.Value))
		}
	}
	return q
}

// apart reports whether what a request is about has nothing to do with what is replicated here, or is read as it is.
func (h *Handler) apart(r *door.Request, scoped bool) bool {
	m, known := h.Router().Match(r.Method, r.Path, nil)
	if !known {
		if _, below := h.replicaAbove(r.Method, string(r.Path)); below {
			return false
		}
		return !scoped || h.Discover == nil // it may be of a kind that is new
	}
	container := h.Client.Container(m.Kind)
	translates := h.Client.Translates(m.Kind)
	switch {
	case scoped && len(m.Kind.Refs) > 0 && !glue.Safe(r.Method): // what it refers to is looked at
		return false
	case m.Other != nil, container != nil && h.Site.Replicates(container):
		return false
	case translates || h.Site.Replicates(m.Kind):
		return !scoped && h.readsHere(r, m, translates)
	case r.Method == http.MethodDelete: // others may rely on it
		return false
	}
	return !gather.Paged(r.Query)
}

// forwarded is what a proxy that is trusted has said of whom it asks for.
type forwarded struct {
	before, elements []string
	host, proto      bool
	prefix           bool
}

// any reports whether it has said anything.
func (s *forwarded) any() bool {
	return s.before != nil || s.elements != nil || s.host || s.proto || s.prefix
}

func (s *forwarded) hear(f *door.Field) {
	switch {
	case f.Is("forwarded"):
		s.elements, f.Drop = append(s.elements, string(f.Value)), true
	case f.Is("x-forwarded-for"):
		s.before, f.Drop = append(s.before, string(f.Value)), true
	case f.Is("x-forwarded-host"):
		s.host, f.Drop = s.host || len(f.Value) > 0, len(f.Value) == 0
	case f.Is("x-forwarded-proto"):
		s.proto, f.Drop = s.proto || len(f.Value) > 0, len(f.Value) == 0
	case f.Is("x-forwarded-prefix"):
		s.prefix = true
	}
}

// say appends what request.Forwarded has a request say.
func (s *forwarded) say(r *door.Request) []byte {
	b, host, proto := append(r.Add, "Forwarded: "...), string(r.Host), r.Proto()
	for _, e := range s.elements {
		b = append(append(b, e...), ", "...)
	}
	b = append(request.AppendElement(b, r.Client, host, proto), "\r\nX-Forwarded-For: "...)
	for _, a := range s.before {
		b = append(append(b, a...), ", "...)
	}
	b = append(r.Client.AppendTo(b), "\r\n"...)
	if !s.host {
		b = append(append(append(b, "X-Forwarded-Host: "...), host...), "\r\n"...)
	}
	if !s.proto {
		b = append(append(append(b, "X-Forwarded-Proto: "...), proto...), "\r\n"...)
	}
	return b
}

// Unanswered implements door.Desk, as a passage that fails does.
func (h *Handler) Unanswered(r *door.Request, err error) (int, http.Header, []byte) {
	w := &reply{header: http.Header{}}
	h.told(w, func(w http.ResponseWriter) { h.unanswered(w, r, err) })
	w.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	return w.status, w.header, w.body.Bytes()
}

func (h *Handler) unanswered(w http.ResponseWriter, r *door.Request, err error) {
	asked := &http.Request{Method: r.Method, URL: &url.URL{Path: r.Path}, Header: http.Header{}}
	q := &request.Request{Request: asked, W: w, Path: r.Path, Query: r.Query}
	switch {
	case errors.Is(err, door.ErrUnreachable):
		h.NoAnswer(q, engine.ErrUnreachable)
	case errors.Is(err, door.ErrLate):
		h.NoAnswer(q, context.DeadlineExceeded)
	default:
		h.NoAnswer(q, err)
	}
}

// Told implements door.Desk.
func (h *Handler) Told(r *door.Request, status int, length int64, took time.Duration) {
	if r.Leave != nil {
		r.Leave(let(status))
	}
	proto := "HTTP/1.1"
	if r.Method == "" {
		proto = ""
	}
	traced := h.Tracer.Passed(r.Trace, h.Service, r.Method, r.Path, status, took)
	h.Meter.Tell(meter.Request{At: time.Now(), Service: h.Service, Client: r.Client, Scope: r.Scope, Method: r.Method, Path: r.Path, Proto: proto,
		Status: status, Length: length, Took: took, Trace: traced})
}

// reply is an answer that is kept.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *reply) Header() http.Header         { return r.header }
func (r *reply) WriteHeader(status int)      { r.status = status }
func (r *reply) Write(b []byte) (int, error) { return r.body.Write(b) }
