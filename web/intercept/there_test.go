package intercept

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/carry"
)

// wires are where other sites' agents come in: each connection is from the site that it names.
type wires struct {
	conns chan net.Conn
	gone  chan struct{}
}

func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.gone:
		return nil, net.ErrClosed
	}
}
func (w *wires) Close() error   { close(w.gone); return nil }
func (w *wires) Addr() net.Addr { return siteAddr("wires") }

type siteAddr string

func (a siteAddr) Network() string { return "site" }
func (a siteAddr) String() string  { return string(a) }

type wire struct {
	net.Conn
	from siteAddr
}

func (w wire) RemoteAddr() net.Addr { return w.from }

// mine is the end of a wire whose site knows whether it still leads anywhere.
type mine struct {
	net.Conn
	stale func() bool
}

func (m mine) Stale() bool { return m.stale() }

// wired has requests of clients of a site go over wires to the others. It returns how many requests of the others came to their handlers.
func (s *siteUnderTest) wired(t *testing.T) (slow func() int) {
	in, handled := map[engine.SiteID]*wires{}, make(chan struct{}, 1<<16)
	for id, other := range s.mesh.sites {
		w := &wires{make(chan net.Conn), make(chan struct{})}
		in[id] = w
		d := PeersDoor(other, map[engine.ServiceName]*Handler{"images": other.handler}, http.NotFoundHandler(), door.Limits{Drain: time.Millisecond}, slog.New(panics{slog.DiscardHandler, t}))
		rest := d.Rest
		d.Rest = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handled <- struct{}{}; rest.ServeHTTP(w, r) })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.Serve(ctx, w) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	cut := func(to engine.SiteID) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.down[to] || s.broken[to]
	}
	s.handler.Open = func(ctx context.Context, to engine.SiteID) (net.Conn, error) {
		if cut(to) {
			return nil, engine.ErrUnreachable
		}
		here, there := net.Pipe()
		select {
		case in[to].conns <- wire{there, siteAddr(s.id)}:
			return mine{here, func() bool { return cut(to) }}, nil
		case <-in[to].gone:
			return nil, errors.New("nobody is there any more")
		}
	}
	return func() int { return len(handled) }
}

// TestInvariantTheDoorReadsElsewhereAsTheHandlerDoes: a client is told the same of a read at another site, and the application there asked the
// same, whether doors pass it at both sites or handlers do.
func TestInvariantTheDoorReadsElsewhereAsTheHandlerDoes(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s, other := m.sites[paris], m.sites[nantes]
	for _, x := range m.sites {
		x.handler.Correlations = carry.NewCorrelations(carry.CorrelationHeaders, time.Hour, time.Now)
	}
	handled := s.wired(t)
	slow := httptest.NewServer(s.handler)
	defer slow.Close()
	slow.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	var answer string
	var heard []string
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-Request-Id", "X-Openstack-Request-Id", "Traceparent"} {
			if r.Header.Get(name) != "" {
				r.Header.Set(name, "an id")
			}
		}
		heard = append(canonical(r.Header), r.Method, r.RequestURI, r.Host)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, answer)
		conn.Close()
	}))
	defer app.Close()
	other.handler.Upstream.Host = strings.TrimPrefix(app.URL, "http://")
	one := func(of ...string) string { return of[rand.IntN(len(of))] }
	fields := []string{"Accept: */*", "Authorization: Bearer a", "Cookie: a=b", "If-None-Match: \"x\"", "Range: bytes=0-1", "User-Agent: t", "X-Own: v", "X-Forwarded-For: 10.0.0.1", "Forwarded: for=1",
		"X-Real-Ip: 1.1.1.1", "Skerry-Via: QmLyon", "Skerry-Placement: QmLyon", "Skerry-Force: relied-on", "Baggage: a=b", "X-Forwarded-Prefix: /a", "Authorization: Basic dTpw", "Keep-Alive: 5", "Proxy-Authorization: Basic x"}
	asked, plain := 0, 0
	for i := 0; i < 600 || plain < 100 && i < 3000; i++ { // what is drawn is plain one time in five or six
		asked++
		var lines strings.Builder
		for range rand.IntN(5) {
			if f := one(fields...); !strings.Contains(lines.String(), strings.SplitN(f, ":", 2)[0]+":") {
				lines.WriteString(f + "\r\n")
			}
		}
		if rand.IntN(3) == 0 {
			fmt.Fprintf(&lines, "X-Request-Id: of workflow %d\r\n", i)
		}
		method := one("GET", "GET", "HEAD")
		scope := one("nantes", "{images: nantes}", `{"images": "nantes"}`, "{images: nantes, servers: nantes}", "{images: nantes, servers: paris}")
		ask := method + " /images/" + one("M", "6", "42", "other", "M/file", "other?a=b") + " HTTP/1.1\r\nHost: h\r\n" + lines.String() + "Accept-Encoding: br\r\nScope: " + scope + "\r\n\r\n" // net/http would ask for another
		body := one(`{"id":"42"}`, `{"id":"7"}`, "text", "")
		answer = "HTTP/1.1 " + one("200 OK", "404 Not Found", "304 Not Modified", "403 Forbidden", "500 Internal Server Error", "503 Service Unavailable") + "\r\nConnection: close\r\n" +
			one("Content-Type: application/json\r\n", "Content-Type: text/plain\r\n", "Content-Type: application/problem+json\r\n") + one("", "Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n") +
			one("", "Location: /images/42\r\n") + one("", "Skerry-Resource: forged\r\nSkerry-Site: lyon\r\n")
		switch {
		case method == "HEAD" || strings.Contains(answer, " 304 "):
			answer += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
		case rand.IntN(2) == 0:
			answer += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
		default:
			answer += "\r\n" + body
		}
		if i%10 == 0 { // the application gives no answer at all
			answer = one("", "nonsense\r\n\r\n")
		}
		before, handledBefore := s.rest.Load(), handled()
		var seen [2]string
		for i, url := range []string{slow.URL, s.url} {
			heard = nil
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, ask)
			resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
			if err != nil {
				t.Fatalf("%q: %v", ask, err)
			}
			got, err := io.ReadAll(resp.Body)
			conn.Close()
			resp.Header.Del("Date")           // the agents' own
			resp.Header.Del("Content-Length") // the body tells, and one may come in chunks where the other does not
			if resp.StatusCode == http.StatusNotModified {
				resp.Header.Del("Content-Type") // net/http takes it out
			}
			seen[i] = fmt.Sprintf("%q\n%d %q %q %v", heard, resp.StatusCode, got, canonical(resp.Header), err)
		}
		if seen[0] != seen[1] {
			t.Fatalf("%q\n%q\nis with the handler\n%s\nand at the door\n%s", ask, answer, seen[0], seen[1])
		}
		if s.rest.Load() == before && handled() == handledBefore {
			plain++
		}
	}
	if plain < 100 {
		t.Errorf("%d of %d requests passed two doors", plain, asked)
	}
	// Of a site that is cut off clients are told as ever.
	s.cut(nantes)
	s.do("GET", "/images/other", "", "Scope: nantes").problem(t, 503, "unreachable")
}

// TestReadsElsewhereThatAreNotPlain: who asks for more than a read of one item at one site is looked at more closely, here and there.
func TestReadsElsewhereThatAreNotPlain(t *testing.T) {
	m := newMesh(t)
	s, other := m.sites[paris], m.sites[nantes]
	handled := s.wired(t)
	for _, c := range []struct {
		method, path, scope string
		header              []string
		here, there         bool // it is plain there
	}{
		{"GET", "/images/1", "nantes", nil, true, true},
		{"GET", "/images", "nantes", nil, false, false},
		{"GET", "/x", "nantes", nil, false, false},
		{"GET", "//images/1", "nantes", nil, false, false},
		{"OPTIONS", "/images/1", "nantes", nil, false, false},
		{"DELETE", "/images/1", "nantes", nil, false, false},
		{"GET", "/images/1", "nantes ; lyon", nil, false, false},
		{"GET", "/images/1", "{servers: nantes}", nil, false, false},
		{"GET", "/images/1", "nobody", nil, false, false},
		{"GET", "/images/1", "{images: nantes, servers: nobody}", nil, false, false},
		{"GET", "/images/1", "nantes", []string{"Skerry-After: x"}, false, false},
		{"GET", "/images/1", "nantes", []string{"Authorization: basic dTpw"}, false, false},
	} {
		before, handledBefore := s.rest.Load(), handled()
		s.do(c.method, c.path, "", append([]string{"Scope: " + c.scope, "Connection: close"}, c.header...)...)
		if here := s.rest.Load() == before; here != c.here || c.here && (handled() == handledBefore) != c.there {
			t.Errorf("%s %s, scope %s, %q: plain here is %v, there %v", c.method, c.path, c.scope, c.header, here, handled() == handledBefore)
		}
	}
	// What a site does not accept, it refuses as ever.
	other.accepts = func(engine.Wish) engine.Acceptance { return engine.Acceptance{Reason: "nantes is closed"} }
	s.do("GET", "/images/1", "", "Scope: nantes").problem(t, 403, "not-accepted")
	other.accepts = nil
	// Who is no member has no door of its own.
	delete(m.sites, paris)
	here, there := net.Pipe()
	defer here.Close()
	d := PeersDoor(other, map[engine.ServiceName]*Handler{"images": other.handler}, http.NotFoundHandler(), door.Limits{}, slog.New(slog.DiscardHandler))
	w := &wires{make(chan net.Conn, 1), make(chan struct{})}
	w.conns <- wire{there, siteAddr(paris)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(ctx, w) }()
	go func() {
		_, _ = io.WriteString(here, "GET /images/1 HTTP/1.1\r\nHost: h\r\nSkerry-Service: images\r\nSkerry-Placement: QmNantes\r\nSkerry-Via: QmParis\r\n\r\n")
	}()
	resp, err := http.ReadResponse(bufio.NewReader(here), nil)
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a stranger is told %v, %v", resp, err)
	}
	cancel()
	here.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
