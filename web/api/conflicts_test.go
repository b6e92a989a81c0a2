package api_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

const self = engine.SiteID("12D3KooWParis1111111111111111111111111111111111111")

func conflict(id string, at engine.SiteID, kind engine.ConflictKind, actions ...engine.Action) engine.Conflict {
	return engine.Conflict{ID: engine.ConflictID(id), Kind: kind, Document: "d", Resource: "debian", Service: "images", KindName: "image", Site: at,
		Operation: "o", Type: engine.TypeCreate, Status: 409, Since: time.Now().Add(-time.Minute), Reason: "it is there", Blocks: true, Actions: actions}
}

func TestConflicts(t *testing.T) {
	f := served.Start(t)
	f.Site.AddOperation(served.Operation("o", "debian", engine.StateRejected))
	f.Site.AddConflict(conflict("c1", self, engine.ConflictExists, engine.ActionAdopt, engine.ActionRetry, engine.ActionDrop))
	f.Site.AddConflict(conflict("c2", served.Nantes, engine.ConflictRefused, engine.ActionRetry, engine.ActionDone, engine.ActionDrop, engine.ActionDismiss))
	ids := func(query string) string {
		var list []string
		for _, v := range f.Want(200, "GET", "/api/v1/conflicts"+query, "")["items"].([]any) {
			list = append(list, v.(map[string]any)["id"].(string))
		}
		return strings.Join(list, " ")
	}
	for query, want := range map[string]string{
		"": "c2 c1", "?about=exists": "c1", "?site=nantes": "c2", "?service=servers": "", "?accepted=true": "", "?accepted=false": "c2 c1", "?limit=1": "c2",
	} {
		if got := ids(query); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	f.Problem(400, "bad-request", "give resource", "GET", "/api/v1/conflicts?kind=image", "")
	f.Problem(404, "not-found", "nope", "GET", "/api/v1/conflicts?resource=nope", "")
	f.Problem(400, "bad-request", "exists, name", "GET", "/api/v1/conflicts?about=exist", "")
	f.Problem(400, "bad-request", "true or false", "GET", "/api/v1/conflicts?accepted=1", "")
	f.Problem(400, "bad-request", "1000", "GET", "/api/v1/conflicts?limit=0", "")
	f.Problem(422, "unknown-site", "lyno", "GET", "/api/v1/conflicts?site=lyno", "")
	f.Problem(404, "not-found", "may have been resolved", "GET", "/api/v1/conflicts/c9", "")
	f.Site.SetBulletin(served.Nantes, &engine.Bulletin{At: time.Now().UnixMicro(), Decisions: 1, Dashboard: "https://nantes.example"})
	f.Problem(404, "not-found", "; decisions wait at nantes (https://nantes.example): ask there", "GET", "/api/v1/conflicts/c9", "")
	f.Site.SetBulletin(served.Nantes, nil)

	f.Site.SetPreview([]engine.FieldDifference{{Path: "/size", Base: nil, Here: json.RawMessage("1"), Wanted: json.RawMessage("2")}})
	v := f.Want(200, "GET", "/api/v1/conflicts/c1", "")
	d := v["differences"].([]any)[0].(map[string]any)
	if _, has := d["base"]; has || d["path"] != "/size" || d["here"] != 1.0 || d["wanted"] != 2.0 || v["site"] != "paris" || v["rule"] == "" {
		t.Errorf("it is told as %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/conflicts/c2?local_id=x", ""); v["differences"].([]any)[0].(map[string]any)["wanted"] != "x" || v["site"] != "nantes" {
		t.Errorf("nantes was not asked: %v", v)
	}
	_, b := f.Do("GET", "/metrics", "")
	for _, line := range []string{`skerry_conflicts{about="exists"} 1`, `skerry_conflicts{about="uncertain"} 0`} {
		if !strings.Contains(string(b), line) {
			t.Errorf("no %s in the metrics", line)
		}
	}

	const at = "/api/v1/conflicts/c1/resolve"
	f.Problem(400, "bad-request", "action is missing", "POST", at, `{}`)
	f.Problem(400, "bad-request", "unknown field", "POST", at, `{"acton":"drop"}`)
	f.Problem(415, "media-type", "", "POST", at, `{}`, "Content-Type", "text/plain")
	f.Problem(422, "settle", "dismiss", "POST", at, `{"action":"dismiss"}`)
	f.Problem(404, "not-found", "", "POST", "/api/v1/conflicts/c9/resolve", `{"action":"drop"}`)
	if v := f.Want(200, "POST", at, `{"action":"adopt"}`); v["site"] != "paris" || v["operation"].(map[string]any)["id"] != "o" {
		t.Errorf("resolved: %v", v)
	}
	if v := f.Want(200, "POST", "/api/v1/conflicts/c2/resolve", `{"action":"retry"}`); v["site"] != string(served.Nantes) {
		t.Errorf("nantes was not asked: %v", v)
	}
	if v := f.Want(200, "POST", "/api/v1/conflicts/c2/resolve", `{"action":"dismiss"}`); v["site"] != "paris" {
		t.Errorf("dismissed: %v", v)
	}
	if ids("") != "" || ids("?accepted=true") != "c2" {
		t.Errorf("open are %q, accepted %q", ids(""), ids("?accepted=true"))
	}
}

// TestConflictsWhatGoesWrong has the store, the engine and the other site fail.
func TestConflictsWhatGoesWrong(t *testing.T) {
	f := served.Start(t)
	f.Site.AddOperation(served.Operation("o", "debian", engine.StateRejected))
	f.Site.AddConflict(conflict("c1", self, engine.ConflictExists, engine.ActionAdopt, engine.ActionDrop))
	f.Site.AddConflict(conflict("c2", served.Nantes, engine.ConflictRefused, engine.ActionRetry))
	aside := conflict("c3", self, engine.ConflictAside, engine.ActionRetry) // of no operation
	aside.Operation, aside.Type = "", ""
	f.Site.AddConflict(aside)
	row := served.Image("debian", engine.StateConflict, time.Now())
	row.Document = aside.Document
	f.Site.AddResource(row)
	fault := func(method string, err error) {
		f.Site.SetFault(func(m string) error {
			if m == method {
				return err
			}
			return nil
		})
	}
	fault("Conflicts", errors.New("broken"))
	f.Problem(500, "internal", "", "GET", "/api/v1/conflicts", "")
	fault("Conflict", errors.New("broken"))
	f.Problem(500, "internal", "", "GET", "/api/v1/conflicts/c1", "")
	fault("PreviewConflict", &engine.Refusal{Status: 502, Type: "upstream", Detail: "it could not be read"})
	if v := f.Want(200, "GET", "/api/v1/conflicts/c1", ""); v["differences"] != nil || v["not_compared"] != "it could not be read" {
		t.Errorf("it is told as %v", v)
	}
	fault("Resolve", engine.ErrSettled)
	f.Problem(409, "settled", "", "POST", "/api/v1/conflicts/c1/resolve", `{"action":"drop"}`)
	fault("Resolve", engine.ErrStorage)
	f.Problem(507, "storage", "", "POST", "/api/v1/conflicts/c1/resolve", `{"action":"drop"}`)
	fault("Peer", engine.ErrUnreachable)
	f.Problem(503, "unreachable", "nothing has happened", "POST", "/api/v1/conflicts/c2/resolve", `{"action":"retry"}`)
	if v := f.Want(200, "GET", "/api/v1/conflicts/c2", ""); v["differences"] != nil || !strings.Contains(v["not_compared"].(string), "nantes cannot be reached") {
		t.Errorf("it is told as %v", v)
	}
	fault("Peer", errors.New("cut"))
	f.Problem(504, "upstream", "nantes gave no certain answer", "POST", "/api/v1/conflicts/c2/resolve", `{"action":"retry"}`)
	fault("", nil)

	for _, c := range []struct {
		from         engine.SiteID
		method, path string
		body         string
		status       int
	}{
		{served.Nantes, "POST", "/api/v1/conflicts/c2/resolve", `{"action":"retry"}`, 508},
		{served.Toulouse, "POST", "/api/v1/conflicts/c1/resolve", `{"action":"drop"}`, 404}, // it has no part in the resource
		{served.Toulouse, "GET", "/api/v1/conflicts/c1", "", 404},
		{served.Nantes, "GET", "/api/v1/conflicts/c1", "", 200},
		{served.Nantes, "GET", "/api/v1/conflicts/c3", "", 200},
		{served.Toulouse, "GET", "/api/v1/conflicts/c3", "", 404},
		{served.Nantes, "GET", "/api/v1/conflicts", "", 404},
		{served.Nantes, "POST", "/api/v1/conflicts/c1/resolve", `{"action":"drop"}`, 200},
		{"12D3KooWStranger", "GET", "/api/v1/conflicts/c1", "", 403},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.RemoteAddr = string(c.from)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		f.Web.Peers().ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s asks %s %s: %d %s", c.from, c.method, c.path, w.Code, w.Body)
		}
	}
}
