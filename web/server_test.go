package web_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/webtest"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestHealthAndReadiness(t *testing.T) {
	f := served.Start(t)
	if v := f.Want(200, "GET", "/healthz", ""); v["status"] != "alive" || v["version"] != "0.1.0" {
		t.Errorf("got %v", v)
	}
	f.Want(200, "GET", "/readyz", "")
	f.Site.SetFault(func(m string) error {
		if m == "Ready" {
			return errors.New("the mesh is not joined yet")
		}
		return nil
	})
	f.Problem(503, "not-ready", "the mesh is not joined yet", "GET", "/readyz", "")
	f.Want(200, "GET", "/healthz", "")
}

func TestMetrics(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("x", engine.StateDegraded, time.Now()))
	f.Site.AddOperation(served.Operation("o", "x", engine.StateRejected))
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	f.Site.AddEvent("site.up", "before", ``)
	go func() { ran <- f.Web.Run(ctx) }()
	f.Want(200, "GET", "/api/v1/resources/x", "")
	deadline := time.Now().Add(served.Patience)
	want := []string{
		`skerry_site_reachable{site="nantes"} 1`, `skerry_site_reachable{site="toulouse"} 0`, `skerry_site_reachable{site="paris"} 1`,
		`skerry_site_round_trip_seconds{site="nantes"} 0.0084`, `skerry_resources{state="degraded"} 1`, `skerry_resources{state="converged"} 0`,
		`skerry_operations{state="rejected"} 1`, `skerry_events_total{type="operation.applied"}`, `skerry_isolated 0`,
		`skerry_http_request_duration_seconds_count{method="GET",route="/api/v1/resources/:id",status="200"} 1`,
		`skerry_info{application="lab",catalog="9f2c41d07ab35e1",site="paris",version="0.1.0"} 1`,
	}
	for {
		f.Site.AddEvent("operation.applied", "o", ``) // counted once Run follows the log
		_, b := f.Do("GET", "/metrics", "")
		missing := ""
		for _, line := range want {
			if !strings.Contains(string(b), line) {
				missing = line
			}
		}
		if missing == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s in\n%s", missing, b)
		}
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func TestStoreFaultsAreTold(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("x", engine.StateConverged, time.Now()))
	f.Site.AddOperation(served.Operation("o", "x", engine.StateRejected))
	f.Site.SetFault(func(m string) error { return fmt.Errorf("%s: secret path /data/db", m) })
	for _, path := range []string{
		"/api/v1/resources", "/api/v1/resources/x", "/api/v1/operations", "/api/v1/operations/o", "/api/v1/events", "/api/v1/events/log",
	} {
		f.Problem(500, "internal", "its log says more", "GET", path, "")
	}
	f.Site.SetFault(func(m string) error { return fmt.Errorf("%s: %w", m, engine.ErrStorage) })
	f.Problem(507, "storage", "nothing has happened", "POST", "/api/v1/invitations", `{}`)
	f.Site.SetFault(func(string) error {
		return &engine.Refusal{Status: 504, Type: "upstream", Detail: "no certain answer", Operation: "op-1"}
	})
	if p := f.Problem(504, "upstream", "no certain answer", "POST", "/api/v1/invitations", `{}`); p["operation"] != "op-1" {
		t.Errorf("got %v", p)
	}
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	f := served.Start(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(f.URL, "http://"))
	for _, host := range []string{"evil.example", "evil.example:" + port, "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:" + port} {
		f.Problem(421, "host", "does not answer", "GET", "/api/v1/sites", "", "Host", host)
	}
	for _, host := range []string{"localhost:" + port, "[::1]:" + port, "127.0.0.1:" + port} {
		if resp, _ := f.Do("GET", "/api/v1/sites", "", "Host", host); resp.StatusCode != 200 {
			t.Errorf("%s is refused", host)
		}
	}
	body := `{"isolated":true}`
	f.Problem(403, "cross-origin", "another origin", "POST", "/api/v1/mesh/isolation", body, "Origin", "https://evil.example")
	f.Problem(403, "cross-origin", "another origin", "POST", "/api/v1/mesh/isolation", body, "Sec-Fetch-Site", "cross-site")
	f.Problem(403, "cross-origin", "another origin", "POST", "/api/v1/mesh/isolation", body, "Sec-Fetch-Site", "same-site")
	f.Problem(403, "cross-origin", "another origin", "DELETE", "/api/v1/invitations/x", "", "Origin", "null")
	f.Problem(415, "media-type", "application/json", "POST", "/api/v1/mesh/isolation", body, "Content-Type", "text/plain")
	if f.Site.Isolated() {
		t.Error("a refused request changed something")
	}
	f.Want(200, "POST", "/api/v1/mesh/isolation", body, "Origin", f.URL, "Sec-Fetch-Site", "same-origin")
}

func TestEveryAnswerHasTheHeadersThatBind(t *testing.T) {
	f := served.Start(t)
	for _, path := range []string{"/api/v1/sites", "/api/v1/nothing", "/nothing", "/metrics"} {
		resp, _ := f.Do("GET", path, "", "Accept", "application/json")
		h := resp.Header
		csp := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestUnknownAddressesAndMethodsAreProblems(t *testing.T) {
	f := served.Start(t)
	f.Problem(404, "not-found", "/openapi.yaml", "GET", "/api/v1/nothing", "")
	f.Problem(405, "method", "method", "PUT", "/api/v1/sites", "{}")
	if resp, _ := f.Do("PUT", "/api/v1/sites", "{}"); !strings.Contains(resp.Header.Get("Allow"), "GET") {
		t.Errorf("Allow: %q", resp.Header.Get("Allow"))
	}
}

func TestAMissingPartIsNamed(t *testing.T) {
	c := webtest.Empty().Config("127.0.0.1:8700")
	c.Waiter, c.Store = nil, nil
	if _, err := web.New(c); err == nil || !strings.Contains(err.Error(), "Waiter is missing") || !strings.Contains(err.Error(), "Store is missing") {
		t.Errorf("got %v", err)
	}
	if _, err := web.New(webtest.Empty().Config("8700")); err == nil {
		t.Error("an address without a port passes")
	}
}

func TestServeEndsStreamsAndLeavesNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	defer func() {
		for begin := time.Now(); goleak.Find(before) != nil && time.Since(begin) < served.Patience; { // which waits for less than half a second
			time.Sleep(10 * time.Millisecond)
		}
		goleak.VerifyNone(t, before)
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := web.New(webtest.Empty().Config(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + l.Addr().String() + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(served.Patience):
		t.Fatal("an open stream keeps the server from ending")
	}
}

func TestWhatIsTheSameIsNotSentAgain(t *testing.T) {
	f := served.Start(t)
	resp, _ := f.Do("GET", "/api/v1/zones", "")
	tag := resp.Header.Get("ETag")
	if resp, _ := f.Do("GET", "/api/v1/zones", "", "If-None-Match", `"x", W/`+tag); tag == "" || resp.StatusCode != 304 || resp.Header.Get("ETag") != tag {
		t.Errorf("tag %q: the same gets %d", tag, resp.StatusCode)
	}
	f.Want(200, "PUT", "/api/v1/zones/west", `{"sites":["paris"]}`)
	if resp, _ := f.Do("GET", "/api/v1/zones", "", "If-None-Match", tag); resp.StatusCode != 200 || resp.Header.Get("ETag") == tag {
		t.Errorf("what is another gets %d", resp.StatusCode)
	}
}
