package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestPause(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("debian", engine.StateConverged, time.Now()))
	const at = "/api/v1/resources/debian/"
	paused := func(v map[string]any, site string) map[string]any {
		p, _ := v["sites"].(map[string]any)[site].(map[string]any)["paused"].(map[string]any)
		return p
	}
	if p := paused(f.Want(200, "POST", at+"pause", `{"site":"paris","reason":"moving"}`), "paris"); p["by"] != "paris" || p["reason"] != "moving" {
		t.Errorf("paused here: %v", p)
	}
	if p := paused(f.Want(200, "POST", at+"resume", `{"site":"paris"}`), "paris"); p != nil {
		t.Errorf("resumed here: %v", p)
	}
	f.Problem(400, "bad-request", "site is missing", "POST", at+"pause", `{}`)
	f.Problem(422, "unknown-site", "lyno", "POST", at+"pause", `{"site":"lyno"}`)
	f.Problem(422, "scope-type", "no replica at toulouse", "POST", at+"pause", `{"site":"toulouse"}`)
	f.Problem(404, "not-found", "", "POST", "/api/v1/resources/none/pause", `{"site":"paris"}`)
}

// TestPauseElsewhere asks the agent of another site.
func TestPauseElsewhere(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("debian", engine.StateConverged, time.Now()))
	const at = "/api/v1/resources/debian/pause"
	f.Want(200, "POST", at, `{"site":"nantes","reason":"x"}`)
	if v := f.Want(200, "GET", "/api/v1/resources/debian", ""); v["sites"].(map[string]any)["nantes"].(map[string]any)["paused"] == nil {
		t.Errorf("nantes was not asked: %v", v)
	}
	f.Site.SetFault(func(method string) error {
		if method == "Peer" {
			return engine.ErrUnreachable
		}
		return nil
	})
	f.Problem(503, "unreachable", "nantes cannot be reached; nothing has happened", "POST", at, `{"site":"nantes"}`)
}

// TestPeersCalls has another site pass calls on: they are carried out here, for resources that it shares, or nowhere.
func TestPeersCalls(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("debian", engine.StateConverged, time.Now()))
	ask := func(from engine.SiteID, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.RemoteAddr = string(from)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		f.Web.Peers().ServeHTTP(w, r)
		return w
	}
	const at = "/api/v1/resources/debian/pause"
	for _, c := range []struct {
		from       engine.SiteID
		path, body string
		status     int
		part       string
	}{
		{served.Nantes, at, `{"site":"paris"}`, 200, `"by":"nantes"`},
		{served.Nantes, at, `{"site":"nantes"}`, http.StatusLoopDetected, "/problems/loop"},
		{served.Toulouse, at, `{"site":"paris"}`, 404, "/problems/not-found"}, // whether it exists is not that site's to know
		{"12D3KooWStranger", at, `{"site":"paris"}`, 403, "/problems/stranger"},
		{served.Nantes, "/api/v1/invitations", `{}`, 404, "/problems/not-found"},
	} {
		if w := ask(c.from, c.path, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.part) {
			t.Errorf("%s asks %s: %d %s", c.from, c.path, w.Code, w.Body)
		}
	}
}
