package intercept

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/peer"
)

// clock is a wall clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// remember gives each site a memory of correlations.
func (m *mesh) remember() *clock {
	c := &clock{now: time.Unix(1e9, 0)}
	for _, s := range m.sites {
		s.handler.Correlations = carry.NewCorrelations(carry.CorrelationHeaders, time.Hour, c.read)
	}
	return c
}

const trace = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A service that knows nothing of scopes passes one of these on; what it asks then inherits the scope.
func TestAScopeFollowsItsWorkflow(t *testing.T) {
	for _, c := range []struct{ name, first, next string }{
		{"the trace of a traceparent", trace, "traceparent: 00-4BF92F3577B34DA6A3CE929D0E0E4736-b7ad6b7169203331-00"},
		{"a request id", "X-Request-Id: r-1", "X-Request-ID: r-1"},
		{"OpenStack's", "X-Openstack-Request-Id: req-1", "X-OpenStack-Request-ID: req-1"},
		{"Zipkin's", "X-B3-TraceId: 80f198ee56343ba864fe8b2a57d3eff7", "X-B3-TraceId: 80f198ee56343ba864fe8b2a57d3eff7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMesh(t)
			now := m.remember()
			s := m.sites[paris]
			s.do("GET", "/images", "", c.next).want(t, 200, "Skerry-Site: -") // nothing came before
			// This request is for images; the scope says where images run.
			s.do("GET", "/images", "", "Scope: nantes", c.first).want(t, 200, "Skerry-Site: nantes")
			s.do("GET", "/images", "", c.next).want(t, 200, "Skerry-Site: nantes")
			s.do("GET", "/images", "", "X-Request-Id: other").want(t, 200, "Skerry-Site: -")
			later := func(d time.Duration) {
				for s.running.Load() > 0 { // an answer is here before its handler has ended
					runtime.Gosched()
				}
				now.pass(d)
			}
			later(50 * time.Minute)
			s.do("GET", "/images", "", c.next).want(t, 200, "Skerry-Site: nantes") // which is a use
			later(50 * time.Minute)
			s.do("GET", "/images", "", c.next).want(t, 200, "Skerry-Site: nantes")
			later(61 * time.Minute)
			s.do("GET", "/images", "", c.next).want(t, 200, "Skerry-Site: -")
		})
	}
}

// A scope that comes without any of these gives its workflow an id, in whichever of its carriers it came, and everywhere that services
// of the workflow run. The application never sees the scope itself.
func TestAWorkflowWithoutAnIdGetsOne(t *testing.T) {
	for _, c := range []struct{ name, path, header string }{
		{"header", "/images", "Scope: {images: nantes, servers: lyon}"},
		{"path", "/~scope/%7Bimages%3A%20nantes,%20servers%3A%20lyon%7D/images", "X: 1"},
		{"baggage", "/images", "Baggage: scope=%7Bimages%3A%20nantes%2C%20servers%3A%20lyon%7D"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMesh(t)
			m.remember()
			m.sites[paris].do("GET", c.path, "", c.header).want(t, 200, "Skerry-Site: nantes")
			got := m.sites[nantes].app.asked()[0].header
			if parent := got.Get("Traceparent"); traceOf(parent) == "" || got.Get("X-Request-Id") != traceOf(parent) || got.Get("Baggage")+got.Get("Scope") != "" {
				t.Fatalf("the application got %v", got)
			}
			for _, id := range []string{"Traceparent", "X-Request-Id", "X-Openstack-Request-Id"} {
				for _, site := range []engine.SiteID{paris, nantes} {
					c := m.sites[site].handler.Correlations
					if text, _ := c.Find(c.IDs(http.Header{id: {got.Get(id)}}, "")); text != "{images: nantes, servers: lyon}" {
						t.Errorf("at %s, %s inherits %q", site, id, text)
					}
				}
			}
			m.sites[paris].do("GET", c.path, "", c.header).want(t, 200)
			if again := m.sites[nantes].app.asked()[1].header; again.Get("X-Request-Id") == got.Get("X-Request-Id") {
				t.Error("two workflows have one id")
			}
		})
	}
	m := newMesh(t)
	m.remember()
	m.sites[paris].do("GET", "/images", "").want(t, 200)
	if got := m.sites[paris].app.asked()[0].header; got.Get("Traceparent")+got.Get("X-Request-Id") != "" {
		t.Errorf("a request without a scope got an id: %v", got)
	}
	m.sites[paris].do("POST", "/images", "{}", "Scope: paris & nantes").want(t, 201)
	if got := m.sites[paris].operations()[0].Credentials; traceOf(got.Header.Get("Traceparent")) == "" {
		t.Errorf("an operation runs without an id: %v", got)
	}
}

// traceOf is the trace of a traceparent, empty where there is none.
func traceOf(parent string) string {
	_, rest, _ := strings.Cut(parent, "-")
	trace, _, _ := strings.Cut(rest, "-")
	return trace
}

func TestWhatAScopeDoesNotBindStaysLocal(t *testing.T) {
	m := newMesh(t)
	m.remember()
	s := m.sites[paris]
	s.do("GET", "/images", "", "Scope: {servers: nantes}", trace).want(t, 200, "Skerry-Site: -")
	s.do("GET", "/images", "", trace).want(t, 200, "Skerry-Site: -")
	if got, _ := s.handler.Correlations.Find(s.handler.Correlations.IDs(http.Header{"Traceparent": {trace[len("traceparent: "):]}}, "")); got != "{servers: nantes}" {
		t.Errorf("the services inherit %q", got)
	}
}

// At the other site, the service's own requests inherit too; a binding without a service stays the addressed service's.
func TestAScopeFollowsToOtherSites(t *testing.T) {
	m := newMesh(t)
	m.remember()
	s, far := m.sites[paris], m.sites[nantes]
	s.do("GET", "/images", "", "Scope: nantes, servers: lyon", trace).want(t, 200)
	c := far.handler.Correlations
	if got, _ := c.Find(c.IDs(http.Header{"Traceparent": {trace[len("traceparent: "):]}}, "")); got != "{images: nantes, servers: lyon}" {
		t.Errorf("the services of nantes inherit %q", got)
	}
	far.do("GET", "/images", "", trace).want(t, 200, "Skerry-Site: nantes")
}

func TestAnIdIsForOneWorkflow(t *testing.T) {
	m := newMesh(t)
	m.remember()
	s := m.sites[paris]
	s.do("GET", "/images", "", "Scope: nantes", trace).want(t, 200)
	s.do("GET", "/images", "", "Scope: {images: nantes}", trace).want(t, 200) // the same, written otherwise
	asked := len(s.app.asked()) + len(m.sites[lyon].app.asked())
	s.do("GET", "/images", "", "Scope: lyon", trace).problem(t, 409, "correlation")
	s.do("POST", "/images", `{}`, "Scope: paris & lyon", trace).problem(t, 409, "correlation")
	if len(s.app.asked())+len(m.sites[lyon].app.asked()) != asked || len(s.operations()) != 0 {
		t.Error("something has happened")
	}
	s.do("GET", "/images", "", "Scope: lyon", "X-Request-Id: r").want(t, 200)
	s.do("GET", "/images", "", trace, "X-Request-Id: r").problem(t, 409, "correlation") // it may mean either
}

// Whoever guesses another's id, or has seen it, and sends a scope under it first, moves none of their requests; and keeps nobody from
// sending a scope of their own.
func TestInvariantAGuessedIdMovesNobody(t *testing.T) {
	for _, theirs := range []string{"Authorization: Bearer a", "X-Auth-Token: a", "Cookie: session=a", "X-Api-Key: a", "X-Remote-User: ann"} {
		name, _, _ := strings.Cut(theirs, ":")
		for _, attacker := range []string{"X: 1", name + ": other"} {
			m := newMesh(t)
			m.remember()
			s := m.sites[paris]
			s.do("GET", "/images", "", "Scope: nantes", trace, "X-Request-Id: r-1", attacker).want(t, 200, "Skerry-Site: nantes")
			s.do("GET", "/images", "", trace, "X-Request-Id: r-1", theirs).want(t, 200, "Skerry-Site: -")
			s.do("POST", "/images", "{}", trace, theirs).want(t, 200, "Skerry-Site: -")
			s.do("GET", "/images", "", "Scope: lyon", trace, theirs).want(t, 200, "Skerry-Site: lyon")
			s.do("GET", "/images", "", trace, theirs).want(t, 200, "Skerry-Site: lyon")
			if n := len(m.sites[nantes].app.asked()); n != 1 {
				t.Errorf("%s: nantes was asked %d times", theirs, n)
			}
		}
	}
}

// A service that asks others with an account of its own shows no more than the id that the agent has made.
func TestAServiceWithAnAccountOfItsOwnInherits(t *testing.T) {
	for _, brought := range []string{"X: 1", "X-Request-Id: r-1"} {
		m := newMesh(t)
		m.remember()
		s := m.sites[paris]
		s.do("GET", "/images", "", "Scope: {images: paris, servers: lyon}", brought, "Authorization: Bearer ann").want(t, 200)
		parent := s.app.asked()[0].header.Get("Traceparent")
		if traceOf(parent) == "" {
			t.Fatal("the application got no id that nobody can guess")
		}
		s.do("GET", "/images", "", "Traceparent: "+parent, "Authorization: Bearer service").want(t, 200, "Skerry-Site: paris")
	}
}

func TestNothingIsRememberedForWhomTheApplicationDoesNotLetIn(t *testing.T) {
	for _, status := range []int{401, 403, 407} {
		m := newMesh(t)
		m.remember()
		s := m.sites[paris]
		s.app.set(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		s.do("GET", "/images", "", "Scope: {images: paris, servers: lyon}", trace, "Authorization: Bearer wrong").want(t, status)
		for s.running.Load() > 0 {
			runtime.Gosched()
		}
		if n := s.handler.Correlations.Len(); n != 0 {
			t.Errorf("%d: %d workflows are remembered", status, n)
		}
	}
}

// Many workflows at once never see each other's scope.
func TestConcurrentWorkflowsNeverMix(t *testing.T) {
	m := newMesh(t)
	m.remember()
	s := m.sites[paris]
	sites := []string{"paris", "nantes", "lyon"}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			id, site := fmt.Sprintf("X-Request-Id: w-%d", i), sites[i%3]
			s.do("GET", "/images", "", "Scope: "+site, id).want(t, 200, "Skerry-Site: "+site)
			for range 3 {
				s.do("GET", "/images", "", id).want(t, 200, "Skerry-Site: "+site)
			}
		})
	}
	wg.Wait()
}

// A service that asks itself through another site, and that again, is stopped. One that asks itself once is not.
func TestCirclesThroughServicesEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		rounds int // of asking itself; 0: without end
		status int
	}{{"once", 1, 200}, {"without end", 0, 508}} {
		t.Run(c.name, func(t *testing.T) {
			m := newMesh(t)
			m.remember()
			const deepest = 16
			var mu sync.Mutex
			asked := 0
			for id, s := range m.sites {
				s.handler.Correlations.Deepest = deepest
				other := m.sites[nantes]
				if id == nantes {
					other = m.sites[paris]
				}
				s.app.set(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					asked++
					again := c.rounds == 0 || asked <= c.rounds
					mu.Unlock()
					if !again {
						w.WriteHeader(200)
						return
					}
					// To the other site, as a service does that knows its counterpart; the scope sends it back.
					req, _ := http.NewRequest("GET", other.url+"/images", nil)
					req.Header.Set("Traceparent", r.Header.Get("Traceparent"))
					resp, err := http.DefaultTransport.RoundTrip(req)
					if err != nil {
						w.WriteHeader(500)
						return
					}
					defer resp.Body.Close()
					w.WriteHeader(resp.StatusCode)
				})
			}
			m.sites[paris].do("GET", "/images", "", "Scope: nantes", trace).want(t, c.status)
			if asked > 2*deepest {
				t.Errorf("the applications were asked %d times", asked)
			}
		})
	}
}

// Agents that pass a request round are found out, whatever it is about.
func TestARequestThatComesRoundIsRefused(t *testing.T) {
	m := newMesh(t)
	s := m.sites[nantes]
	req, _ := http.NewRequest("GET", s.peers.URL+"/images", nil)
	for name, value := range map[string]string{"X-Test-From": string(paris), peer.HeaderService: "images", peer.HeaderVia: peer.JoinSites([]engine.SiteID{nantes, paris}), peer.HeaderPlacement: string(nantes)} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != 508 {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
}
