package intercept

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
)

// PeersDoor returns where the requests of other sites' agents come in: plain reads pass there, the rest comes to what Peers returns.
func PeersDoor(m engine.Membership, services map[engine.ServiceName]*Handler, agent http.Handler, limits door.Limits, log *slog.Logger) *door.Door {
	return door.New(door.Config{Desk: &neighbours{m, services}, Rest: Peers(m, services, agent), Old: true, Limits: limits, Log: log})
}

// neighbours are the other sites' agents. It implements door.Desk.
type neighbours struct {
	membership engine.Membership
	services   map[engine.ServiceName]*Handler
}

// addressed finds out which service a request is for; nil when there is none.
func (n *neighbours) addressed(r *door.Request) *Handler {
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Is("skerry-service") {
			return n.services[engine.ServiceName(f.Value)]
		}
	}
	return nil
}

// Plain implements door.Desk: a read of one item of this site's application passes as ServeHTTP would have it pass.
func (n *neighbours) Plain(r *door.Request) bool {
	from := engine.SiteID(r.Remote.String())
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !r.Bare() || !n.membership.IsMember(from) {
		return false
	}
	h := n.addressed(r)
	return h != nil && h.hears(r, from)
}

// hears reports whether another agent's request is such a read.
func (h *Handler) hears(r *door.Request, from engine.SiteID) bool {
	if h.Dialect != nil || h.carrier != nil || h.asserter != nil || strings.HasPrefix(r.Path, "/~") || strings.HasPrefix(r.Path, "/%7") {
		return false
	}
	if h.Tracer != nil {
		if h.mark(r); r.Trace.Sampled {
			return false
		}
	}
	self, alone, services, correlated, text := h.Membership.Self(), false, 0, false, ""
	for i := range r.Fields {
		f := &r.Fields[i]
		switch {
		case f.Is("skerry-service"):
			if services++; services > 1 {
				return false
			}
			f.Drop = true
		case f.Is("skerry-via"):
			via := peer.SiteList(string(f.Value))
			if slices.Contains(via, self) || len(via) != 1 || via[0] != from {
				return false
			}
			f.Drop = true
		case f.Is("skerry-placement"):
			if alone || string(f.Value) != string(self) {
				return false
			}
			alone, f.Drop = true, true
		case f.Is("scope"):
			if text != "" {
				return false
			}
			text, f.Drop = string(f.Value), true
		case f.Begins("skerry-"), f.Is("x-scope"), f.Is("baggage") && bytes.Contains(f.Value, []byte("scope")):
			return false
		case f.Is("forwarded"), f.Begins("x-forwarded-"), f.Is("x-real-ip"):
			f.Drop = true
		case f.Is("host"):
		default:
			f.Drop = f.Drop || !h.Client.Travels(h.Service, string(f.Name))
			correlated = correlated || !f.Drop && h.Correlations.Has(f.Name)
		}
	}
	m, known := h.Router().Match(r.Method, r.Path, nil)
	if !alone || !known || m.Verb != glue.VerbRead || !m.Canonical || m.Other != nil {
		return false
	}
	q := &request.Request{Request: &http.Request{Method: r.Method, Header: http.Header{}}, From: from, Match: m, Known: true, Choice: request.Choice{Sites: []engine.SiteID{self}}}
	if !h.accepts(q).Accepted || !h.readsHere(r, m, h.Client.Translates(m.Kind)) {
		return false
	}
	name := h.Name(self)
	if len(r.Answer) == 0 {
		r.Answer = append(append(append(r.Answer, "Skerry-Site: "...), name...), "\r\n"...)
	}
	r.Add = append(append(append(r.Add, "X-Forwarded-For: unknown\r\nForwarded: for=_"...), h.Name(from)...), "\r\n"...)
	r.To = h.here
	return text == "" || h.heard(r, text, correlated)
}

// heard has a request of another agent remembered under its scope.
func (h *Handler) heard(r *door.Request, text string, correlated bool) bool {
	if h.Correlations == nil {
		return true
	}
	s := h.lastHeard.Load()
	if s == nil || s.text != text {
		parsed, err := scope.Parse(text)
		if err != nil {
			return false
		}
		s = &heardScope{text, parsed.Named(string(h.Service)).String()}
		h.lastHeard.Store(s)
	}
	return h.enters(r, s.bound, correlated)
}

// heardScope is a scope that another agent has said, and the same bound with a service at every location.
type heardScope struct{ text, bound string }

// Unanswered implements door.Desk: the agent that asks tells its client.
func (n *neighbours) Unanswered(r *door.Request, err error) (int, http.Header, []byte) {
	h, w := n.addressed(r), &reply{header: http.Header{}}
	h.unanswered(w, r, err)
	return w.status, w.header, w.body.Bytes()
}

// Told implements door.Desk: what clients ask is counted where they are.
func (n *neighbours) Told(r *door.Request, status int, _ int64, _ time.Duration) {
	if r.Leave != nil {
		r.Leave(let(status))
	}
}
