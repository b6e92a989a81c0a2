package api_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestQueues(t *testing.T) {
	f := served.Start(t)
	since := time.Now().Add(-time.Minute)
	f.Site.SetQueue("images", engine.QueueStatus{State: engine.QueuePaused, Since: since, Reason: "status 401", Waiting: 3, Next: time.Now()})
	queue := func(service string) map[string]any {
		var sites []map[string]any
		list(f, "/api/v1/sites", &sites)
		return sites[0]["queues"].(map[string]any)[service].(map[string]any)
	}
	if q := queue("images"); q["state"] != "paused" || q["reason"] != "status 401" || q["waiting"] != 3.0 || q["since"] == nil || q["next_try"] == nil {
		t.Errorf("the queue is told as %v", q)
	}
	if q := queue("servers"); q["state"] != "running" || q["since"] != nil || q["next_try"] != nil {
		t.Errorf("a queue that has always run is told as %v", q)
	}
	_, b := f.Do("GET", "/metrics", "")
	for _, line := range []string{`skerry_queue{service="images",state="paused"} 1`, `skerry_queue{service="images",state="running"} 0`, `skerry_queue_waiting{service="images"} 3`} {
		if !strings.Contains(string(b), line) {
			t.Errorf("no %s in the metrics", line)
		}
	}
	const at = "/api/v1/sites/paris/resume"
	f.Problem(422, "unknown-service", "imgaes", "POST", at, `{"service":"imgaes"}`)
	f.Problem(422, "unknown-site", "lyno", "POST", "/api/v1/sites/lyno/resume", `{}`)
	f.Problem(400, "bad-request", "unknown", "POST", at, `{"servce":"images"}`)
	f.Problem(400, "bad-request", "now", "POST", at+"?now=1", `{}`)
	if v := f.Want(200, "POST", at, `{"service":"images"}`); v["name"] != "paris" || queue("images")["state"] != "running" {
		t.Errorf("resumed: %v", v)
	}
	f.Want(200, "POST", at, `{}`)
}

// TestWhatIsDecidedElsewhereIsAskedThere names another site for what is to be done.
func TestWhatIsDecidedElsewhereIsAskedThere(t *testing.T) {
	f := served.Start(t)
	f.Site.AddOperation(served.Operation("o", "x", engine.StateRejected))
	open := served.Operation("open", "x", engine.StateUncertain)
	open.Document, open.Sites = "x", map[engine.SiteID]engine.OperationStatus{}
	f.Site.AddOperation(open)
	f.Site.AddResource(engine.ResourceRow{Document: "x", ID: "x", Service: "images", Kind: "image", State: engine.StateConverged,
		Sites: map[engine.SiteID]engine.ReplicaStatus{served.Nantes: {State: engine.StateConverged}}})
	if v := f.Want(200, "POST", "/api/v1/sites/nantes/resume", `{}`); v["name"] != "nantes" || v["self"] != false {
		t.Errorf("nantes answered %v", v)
	}
	v := f.Want(200, "POST", "/api/v1/operations/o/retry?site=nantes", "")
	if at := v["sites"].(map[string]any)["nantes"].(map[string]any); at["error"] != "retry" {
		t.Errorf("nantes answered %v", v)
	}
	// A client's request that has had no certain answer is known where it runs alone.
	v = f.Want(200, "POST", "/api/v1/operations/unheard-of/drop?site=nantes", "")
	if at := v["sites"].(map[string]any)["nantes"].(map[string]any); v["id"] != "unheard-of" || at["error"] != "drop" {
		t.Errorf("nantes answered %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/operations/unheard-of?site=nantes", ""); v["id"] != "unheard-of" {
		t.Errorf("nantes shows %v", v)
	}
	f.Problem(404, "not-found", "name that site", "POST", "/api/v1/operations/unheard-of/drop", "")
	f.Problem(404, "not-found", "name that site", "POST", "/api/v1/operations/unheard-of/drop?site=paris", "")
	f.Problem(422, "unknown-site", "lyno", "POST", "/api/v1/operations/o/retry?site=lyno", "")
	f.Problem(422, "scope-type", "does not concern toulouse", "POST", "/api/v1/operations/o/retry?site=toulouse", "")
	f.Site.SetFault(func(method string) error {
		if method == "Peer" {
			return engine.ErrUnreachable
		}
		return nil
	})
	f.Problem(503, "unreachable", "nothing has happened", "POST", "/api/v1/operations/o/drop?site=nantes", "")
	f.Problem(503, "unreachable", "nothing has happened", "POST", "/api/v1/sites/nantes/resume", `{}`)
	f.Site.SetFault(func(string) error { return nil })

	ask := func(from engine.SiteID, path, body string) (int, string) {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.RemoteAddr = string(from)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		f.Web.Peers().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		from       engine.SiteID
		path, body string
		status     int
		part       string
	}{
		{served.Nantes, "/api/v1/sites/paris/resume", `{}`, 200, `"name":"paris"`},
		{served.Nantes, "/api/v1/sites/nantes/resume", `{}`, 508, "/problems/loop"},
		{served.Toulouse, "/api/v1/operations/o/done", "", 404, "/problems/not-found"}, // whether it exists is not that site's to know
		{served.Nantes, "/api/v1/operations/o/done?site=nantes", "", 508, "/problems/loop"},
		{served.Nantes, "/api/v1/operations/o/done", "", 200, `"id":"o"`},
		{served.Nantes, "/api/v1/operations/open/drop", "", 200, `"id":"open"`}, // it shares the resource
		{served.Toulouse, "/api/v1/operations/open/drop", "", 404, "/problems/not-found"},
		{"12D3KooWStranger", "/api/v1/operations/o/done", "", 403, "/problems/stranger"},
	} {
		if status, body := ask(c.from, c.path, c.body); status != c.status || !strings.Contains(body, c.part) {
			t.Errorf("%s asks %s: %d %s", c.from, c.path, status, body)
		}
	}
}

// list decodes an answer that is an array.
func list(f *served.Server, path string, into any) {
	f.T.Helper()
	resp, b := f.Do("GET", path, "")
	if resp.StatusCode != 200 {
		f.T.Fatalf("GET %s: %d %s", path, resp.StatusCode, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		f.T.Fatal(err)
	}
}
