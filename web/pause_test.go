package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestPause(t *testing.T) {
	f := start(t)
	f.site.AddResource(image("debian", engine.StateConverged, time.Now()))
	const at = "/api/v1/resources/debian/"
	paused := func(v map[string]any, site string) map[string]any {
		p, _ := v["sites"].(map[string]any)[site].(map[string]any)["paused"].(map[string]any)
		return p
	}
	if p := paused(f.want(200, "POST", at+"pause", `{"site":"paris","reason":"moving"}`), "paris"); p["by"] != "paris" || p["reason"] != "moving" {
		t.Errorf("paused here: %v", p)
	}
	if p := paused(f.want(200, "POST", at+"resume", `{"site":"paris"}`), "paris"); p != nil {
		t.Errorf("resumed here: %v", p)
	}
	f.problem(400, "bad-request", "site is missing", "POST", at+"pause", `{}`)
	f.problem(422, "unknown-site", "lyno", "POST", at+"pause", `{"site":"lyno"}`)
	f.problem(422, "scope-type", "no replica at toulouse", "POST", at+"pause", `{"site":"toulouse"}`)
	f.problem(404, "not-found", "", "POST", "/api/v1/resources/none/pause", `{"site":"paris"}`)
}

// TestPauseElsewhere asks the agent of another site.
func TestPauseElsewhere(t *testing.T) {
	f := start(t)
	f.site.AddResource(image("debian", engine.StateConverged, time.Now()))
	const at = "/api/v1/resources/debian/pause"
	f.want(200, "POST", at, `{"site":"nantes","reason":"x"}`)
	if v := f.want(200, "GET", "/api/v1/resources/debian", ""); v["sites"].(map[string]any)["nantes"].(map[string]any)["paused"] == nil {
		t.Errorf("nantes was not asked: %v", v)
	}
	f.site.SetFault(func(method string) error {
		if method == "Peer" {
			return engine.ErrUnreachable
		}
		return nil
	})
	f.problem(503, "unreachable", "nantes cannot be reached; nothing has happened", "POST", at, `{"site":"nantes"}`)
}

// TestPeersCalls has another site pass calls on: they are carried out here, for resources that it shares, or nowhere.
func TestPeersCalls(t *testing.T) {
	f := start(t)
	f.site.AddResource(image("debian", engine.StateConverged, time.Now()))
	ask := func(from engine.SiteID, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.RemoteAddr = string(from)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		f.server.Peers().ServeHTTP(w, r)
		return w
	}
	const at = "/api/v1/resources/debian/pause"
	for _, c := range []struct {
		from       engine.SiteID
		path, body string
		status     int
		part       string
	}{
		{nantes, at, `{"site":"paris"}`, 200, `"by":"nantes"`},
		{nantes, at, `{"site":"nantes"}`, http.StatusLoopDetected, "/problems/loop"},
		{toulouse, at, `{"site":"paris"}`, 404, "/problems/not-found"}, // whether it exists is not that site's to know
		{"12D3KooWStranger", at, `{"site":"paris"}`, 403, "/problems/stranger"},
		{nantes, "/api/v1/invitations", `{}`, 404, "/problems/not-found"},
	} {
		if w := ask(c.from, c.path, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.part) {
			t.Errorf("%s asks %s: %d %s", c.from, c.path, w.Code, w.Body)
		}
	}
}
