package web_test

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

// fixture is a server over a site in memory with three sites, one of them away.
type fixture struct {
	t      *testing.T
	site   *webtest.Site
	server *web.Server
	url    string
	doc    *description
}

const (
	nantes   = engine.SiteID("12D3KooWNantes")
	toulouse = engine.SiteID("12D3KooWToulouse")
)

// patience bounds what would never come; a loaded machine may be slow.
const patience = 2 * time.Minute

func start(t *testing.T) *fixture {
	t.Helper()
	s := webtest.Empty()
	s.AddMember("nantes", nantes, engine.SiteStatus{Reachable: true, RTT: 8400 * time.Microsecond, LastSeen: time.Now()})
	s.AddMember("toulouse", toulouse, engine.SiteStatus{LastSeen: time.Now().Add(-time.Hour)})
	return serve(t, s)
}

func serve(t *testing.T, s *webtest.Site) *fixture {
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
	return &fixture{t, s, server, h.URL, readDescription(t)}
}

// do makes a request and checks the answer against openapi.yaml.
func (f *fixture) do(method, path, body string, header ...string) (*http.Response, []byte) {
	f.t.Helper()
	r, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
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
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	f.doc.checkAnswer(f.t, method, path, resp.StatusCode, resp.Header.Get("Content-Type"), b)
	return resp, b
}

// want asserts the status of a call and decodes its answer.
func (f *fixture) want(status int, method, path, body string, header ...string) map[string]any {
	f.t.Helper()
	resp, b := f.do(method, path, body, header...)
	if resp.StatusCode != status {
		f.t.Fatalf("%s %s: got %d %s, want %d", method, path, resp.StatusCode, b, status)
	}
	if len(bytes.TrimSpace(b)) == 0 || b[0] == '[' {
		return nil
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		f.t.Fatalf("%s %s: %v in %s", method, path, err, b)
	}
	return v
}

// problem asserts a refusal.
func (f *fixture) problem(status int, typ, part, method, path, body string, header ...string) map[string]any {
	f.t.Helper()
	p := f.want(status, method, path, body, header...)
	if p["type"] != "/problems/"+typ || !strings.Contains(fmt.Sprint(p["detail"]), part) {
		f.t.Errorf("%s %s: got type %v, detail %q; want %s and %q", method, path, p["type"], p["detail"], typ, part)
	}
	return p
}

// image is a resource of service images at paris and nantes.
func image(id string, state engine.State, at time.Time) engine.ResourceRow {
	return engine.ResourceRow{
		ID: engine.ResourceID(id), Service: "images", Kind: "image", Collaboration: "replication", Local: engine.LocalID("img-" + id),
		State: state, CreatedAt: at, UpdatedAt: at,
		Sites: map[engine.SiteID]engine.ReplicaStatus{
			"12D3KooWParis1111111111111111111111111111111111111": {Local: engine.LocalID("img-" + id), State: engine.StateConverged, Applied: 2},
			nantes: {Local: "img-7", State: state, Applied: 1, Pending: 1, Reason: "not applied yet"},
		},
	}
}

func operation(id, resource string, state engine.State) engine.OperationRow {
	return engine.OperationRow{
		ID: engine.OperationID(id), Resource: engine.ResourceID(resource), Type: engine.TypeMerge, Service: "images", Kind: "image",
		Method: "PATCH", Path: "/images/{id}", Scope: "{images: paris & nantes}", Origin: nantes, User: "ada", IssuedAt: time.Now(),
		State: state, Parents: []engine.OperationID{"p1"}, Body: []byte(`{"name":"alpine"}`), Change: []byte(`{"set":{"/name":"alpine"}}`),
		Sites: map[engine.SiteID]engine.OperationStatus{
			nantes: {State: engine.StateApplied, Status: 200, At: time.Now(), Attempts: 1},
			"12D3KooWParis1111111111111111111111111111111111111": {State: state, Status: 422, At: time.Now(), Attempts: 3, Error: "no"},
			"12D3KooWGone": {State: engine.StatePending},
		},
	}
}
