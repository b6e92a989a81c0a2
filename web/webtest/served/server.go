package served

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/webtest"
)

// Server is a server over a site in memory with three sites, one of them away.
type Server struct {
	T    testing.TB
	Site *webtest.Site
	Web  *web.Server
	URL  string
	Doc  *Description
}

// The other sites.
const (
	Nantes   = engine.SiteID("12D3KooWNantes")
	Toulouse = engine.SiteID("12D3KooWToulouse")
)

// Patience bounds what would never come; a loaded machine may be slow.
const Patience = 2 * time.Minute

// Start serves a site that knows nantes, which can be reached, and toulouse, which cannot.
func Start(t testing.TB) *Server {
	t.Helper()
	s := webtest.Empty()
	s.AddMember("nantes", Nantes, engine.SiteStatus{Reachable: true, RTT: 8400 * time.Microsecond, LastSeen: time.Now()})
	s.AddMember("toulouse", Toulouse, engine.SiteStatus{LastSeen: time.Now().Add(-time.Hour)})
	return Serve(t, s)
}

// Serve serves a site until the test ends.
func Serve(t testing.TB, s *webtest.Site) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.New(s.Config(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewUnstartedServer(server)
	h.Listener.Close()
	h.Listener = l
	h.Start()
	t.Cleanup(h.Close)
	return &Server{t, s, server, h.URL, Describe(t)}
}

// Do makes a request and checks the answer against openapi.yaml.
func (f *Server) Do(method, path, body string, header ...string) (*http.Response, []byte) {
	f.T.Helper()
	r, err := http.NewRequest(method, f.URL+path, strings.NewReader(body))
	if err != nil {
		f.T.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.T.Fatal(err)
	}
	f.Doc.checkAnswer(f.T, method, path, resp.StatusCode, resp.Header.Get("Content-Type"), b)
	return resp, b
}

// Want asserts the status of a call and decodes its answer.
func (f *Server) Want(status int, method, path, body string, header ...string) map[string]any {
	f.T.Helper()
	resp, b := f.Do(method, path, body, header...)
	if resp.StatusCode != status {
		f.T.Fatalf("%s %s: got %d %s, want %d", method, path, resp.StatusCode, b, status)
	}
	if len(bytes.TrimSpace(b)) == 0 || b[0] == '[' {
		return nil
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		f.T.Fatalf("%s %s: %v in %s", method, path, err, b)
	}
	return v
}

// Problem asserts a refusal.
func (f *Server) Problem(status int, typ, part, method, path, body string, header ...string) map[string]any {
	f.T.Helper()
	p := f.Want(status, method, path, body, header...)
	if p["type"] != "/problems/"+typ || !strings.Contains(fmt.Sprint(p["detail"]), part) {
		f.T.Errorf("%s %s: got type %v, detail %q; want %s and %q", method, path, p["type"], p["detail"], typ, part)
	}
	return p
}
