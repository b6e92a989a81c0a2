package intercept

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/problem"
	"github.com/skerry/skerry/web/world"
)

// awayScope is a scope that is one other site.
type awayScope struct {
	text string
	site engine.SiteID
	// named are all sites that it names, as they are called.
	named map[engine.SiteID]string
	// canonical is the scope as agents say it, bound with a service at every location.
	canonical, bound string
}

// elsewhere returns what a scope is that is one other site, nil for any other one.
func (h *Handler) elsewhere(text string) *awayScope {
	if o := h.lastOwn.Load(); o != nil && o.text == text {
		return nil
	}
	a := h.lastAway.Load()
	if a == nil || a.text != text {
		if a = h.readAway(text); a == nil {
			return nil
		}
		h.lastAway.Store(a)
	}
	for id, name := range a.named {
		if h.Name(id) != name || !h.Membership.IsMember(id) {
			return nil
		}
	}
	return a
}

func (h *Handler) readAway(text string) *awayScope {
	s, err := scope.Parse(text)
	if err != nil {
		return nil
	}
	known, ids := world.Of(surroundings{h.Membership, h.Site}, h.Application, h.Services, string(h.Service))
	location, bound := s.For(string(h.Service), string(h.Service))
	if !bound || location.Op != scope.OpSite || len(s.Check(known)) > 0 {
		return nil
	}
	a := &awayScope{text: text, site: ids[location.Site], named: map[engine.SiteID]string{}, canonical: s.String(), bound: s.Named(string(h.Service)).String()}
	for _, b := range s.Bindings {
		id, ok := ids[b.Location.Site]
		if b.Location.Op != scope.OpSite || !ok {
			return nil
		}
		a.named[id] = b.Location.Site
	}
	if a.site == "" || a.site == h.Membership.Self() {
		return nil
	}
	return a
}

// readsThere reports whether a request is a read of one item that another site's agent is simply asked for. It then goes there, with what that
// agent is to know.
func (h *Handler) readsThere(r *door.Request, to *awayScope, correlated bool) bool {
	if h.Dialect != nil || h.carrier != nil || h.asserter != nil || !r.Bare() || r.Method != "GET" && r.Method != "HEAD" || r.Trace.Sampled ||
		r.TLS != nil && len(r.TLS.PeerCertificates) > 0 || h.Removed() {
		return false
	}
	m, known := h.Router().Match(r.Method, r.Path, nil)
	if !known || m.Verb != glue.VerbRead || !m.Canonical || m.Within != "" || m.Other != nil || r.Query != "" && h.Client.Translates(m.Kind) {
		return false
	}
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Is("authorization") && len(f.Value) > 5 && bytes.EqualFold(f.Value[:5], []byte("basic")) { // who asks is told
			return false
		}
	}
	if h.Site.Replicates(m.Kind) {
		row, err := h.Site.Lookup(context.Background(), m.Kind, m.Target)
		switch {
		case request.NotFound(err):
		case err != nil:
			return false
		case m.Target != string(row.ID):
			path, ok := glue.ExpandPath(m.Path, string(row.ID))
			if !ok {
				return false
			}
			r.Target = path
		}
	}
	add := func(name, value string) {
		r.Add = append(append(append(append(r.Add, name...), ": "...), value...), "\r\n"...)
	}
	if !h.enters(r, to.bound, correlated) {
		return false
	}
	add(peer.HeaderService, string(h.Service))
	add(peer.HeaderVia, string(h.Membership.Self()))
	add(peer.HeaderPlacement, string(to.site))
	add("Scope", to.canonical)
	r.To = h.ways.to(h, to.site)
	return true
}

// ways are the ways to other sites. It is safe for concurrent use.
type ways struct {
	mu sync.Mutex
	of map[engine.SiteID]*door.Links // guarded by mu
}

func (w *ways) to(h *Handler, site engine.SiteID) *door.Links {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.of[site]; l != nil {
		return l
	}
	if w.of == nil {
		w.of = map[engine.SiteID]*door.Links{}
	}
	l := door.Agent(func(ctx context.Context) (net.Conn, error) { return h.Open(ctx, site) }, h.failed)
	w.of[site] = l
	return l
}

// failed reports whether an answer of another agent is none that a client gets as it is: it has none, or clients here understand refusals in
// another form.
func (h *Handler) failed(status int, fields []door.Field) bool {
	said := func() bool {
		return slices.ContainsFunc(fields, func(f door.Field) bool {
			return f.Is("content-type") && bytes.HasPrefix(f.Value, []byte(problem.MediaType))
		})
	}
	return status >= 400 && (h.refuser != nil || peer.Failing(status)) && said()
}
