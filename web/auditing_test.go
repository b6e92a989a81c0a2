package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/webtest"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestEveryChangeIsRecorded(t *testing.T) {
	f := startSecured(t)
	admin, viewer := f.token("admin", "admin"), f.token("viewer", "viewer")
	call := func(token, method, path, body string) {
		t.Helper()
		f.do(method, path, body, "Authorization", token, "Content-Type", "application/json")
	}
	call(admin, "PUT", "/api/v1/zones/west?x=secret", `{"sites":["paris"]}`)
	call(admin, "PUT", "/api/v1/zones/we%20st", `{"sites":["paris"]}`)
	call(viewer, "DELETE", "/api/v1/zones/west", "")
	call(viewer, "GET", "/api/v1/zones", "")
	call(viewer, "POST", "/api/v1/scope/explain", `{"scope":"paris"}`)
	call("", "DELETE", "/api/v1/zones/west", "") // a stranger
	f.login("operator", "wrong password")
	f.login("operator", webtest.Password("operator"))
	call(admin, "POST", "/api/v1/operations", `{"service":"images","method":"POST","path":"/images","body":{"name":"x"},"scope":"images: paris & nantes"}`)

	_, body := f.do("GET", "/api/v1/audit", "", "Authorization", admin)
	var list struct{ Items []audit.Record }
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var got []string
	for _, r := range list.Items {
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s as %s: %d %s", r.Account, r.Method, r.Path, r.Role, r.Status, r.Problem))
		if r.Operation != "" {
			line += " operation"
		}
		got = append(got, line)
		if r.Address != "127.0.0.1" || r.By == "token" && r.Token == "" {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"admin POST /api/v1/operations as admin: 202 operation",
		"operator POST /login as anyone: 303",
		"operator POST /login as anyone: 401",
		"viewer DELETE /api/v1/zones/west as viewer: 403 forbidden",
		"admin PUT /api/v1/zones/we%20st as admin: 400 bad-request",
		"admin PUT /api/v1/zones/west as admin: 400 bad-request",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAuditPagesAndVerifies(t *testing.T) {
	f := served.Start(t)
	for i := range 5 {
		f.Want(200, "PUT", fmt.Sprintf("/api/v1/zones/z%d", i), `{"sites":["paris"]}`)
	}
	page := f.Want(200, "GET", "/api/v1/audit?limit=3", "")
	if len(page["items"].([]any)) != 3 || page["next"] != "6" {
		t.Errorf("got %v", page)
	}
	if page = f.Want(200, "GET", "/api/v1/audit?limit=3&before=6", ""); len(page["items"].([]any)) != 2 || page["next"] != "" {
		t.Errorf("got %v", page)
	}
	v := f.Want(200, "GET", "/api/v1/audit/verify", "")
	if v["intact"] != true || v["last"] != 10.0 {
		t.Errorf("got %v", v)
	}
	f.Want(200, "PUT", "/api/v1/zones/z9", `{"sites":["paris"]}`)
	if v := f.Want(200, "GET", fmt.Sprintf("/api/v1/audit/verify?n=10&hash=%v", v["head"]), ""); v["intact"] != true || v["last"] != 12.0 {
		t.Errorf("got %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/audit/verify?n=10&hash="+strings.Repeat("0", 64), ""); v["intact"] != false || !strings.Contains(v["reason"].(string), "another hash") {
		t.Errorf("got %v", v)
	}
	f.Problem(400, "bad-request", "both", "GET", "/api/v1/audit/verify?n=10", "")
	if err := f.Site.Kept.DropRecord(context.Background(), "audit", fmt.Sprintf("%020d", 2)); err != nil {
		t.Fatal(err)
	}
	r, w := httptest.NewRequest("GET", f.URL+"/audit?verify=all", nil), httptest.NewRecorder()
	if f.Web.ServeHTTP(w, r); !strings.Contains(w.Body.String(), "tampered with") || !strings.Contains(w.Body.String(), "after record 1 comes 3") {
		t.Error("the page does not tell of a record that is gone")
	}
}

// A call is recorded before it changes anything: a site that cannot write the trail changes nothing.
func TestInvariantNothingHappensUnrecorded(t *testing.T) {
	f := served.Start(t)
	f.Site.Kept.Fail = errors.New("the disk is full")
	f.Problem(507, "storage", "nothing has happened", "PUT", "/api/v1/zones/west", `{"sites":["paris"]}`)
	f.Site.Kept.Fail = nil
	if _, b := f.Do("GET", "/api/v1/zones", ""); strings.Contains(string(b), "west") {
		t.Errorf("it has happened all the same: %s", b)
	}
	f.Want(200, "PUT", "/api/v1/zones/west", `{"sites":["paris"]}`)
	trail, err := audit.New(&f.Site.Kept, webtest.Secret).Verify(context.Background(), 0, "")
	if err != nil || !trail.Intact || trail.Records != 2 {
		t.Errorf("%+v, %v", trail, err)
	}
	if forged, err := audit.New(&f.Site.Kept, nil).Verify(context.Background(), 0, ""); err != nil || forged.Intact {
		t.Errorf("the chain needs no key: %+v, %v", forged, err)
	}
}

// What changes the mesh is recorded whoever has caused it, once, and nothing else is.
func TestWhatChangesTheMeshIsRecorded(t *testing.T) {
	f := served.Start(t)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	run := func() { ran <- f.Web.Run(ctx) }
	f.Site.AddEvent("site.up", "nantes", "{}")
	f.Site.AddEvent("site.removed", "toulouse", "{}")
	f.Site.AddEvent("operation.applied", "x", "{}")
	go run()
	trail := func() (paths []string) {
		for _, r := range f.Want(200, "GET", "/api/v1/audit", "")["items"].([]any) {
			paths = append(paths, r.(map[string]any)["path"].(string))
		}
		return paths
	}
	for len(trail()) == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	after, err := audit.New(&f.Site.Kept, webtest.Secret).Heard(context.Background())
	if got := trail(); err != nil || after != 2 || len(got) != 1 || got[0] != "site.removed toulouse" {
		t.Errorf("%v, up to %d, %v", got, after, err)
	}
}

// What another site's agent has this one do is recorded under its name, and cannot push out the rest.
func TestWhatMembersCauseIsRecorded(t *testing.T) {
	f := served.Start(t)
	peers := f.Web.Peers()
	for range 100 {
		r, w := httptest.NewRequest("POST", "/api/v1/sites/paris/confirm", nil), httptest.NewRecorder()
		r.RemoteAddr = string(served.Nantes)
		peers.ServeHTTP(w, r)
	}
	items := f.Want(200, "GET", "/api/v1/audit?limit=500", "")["items"].([]any)
	if len(items) != audit.Hourly {
		t.Fatalf("%d records", len(items))
	}
	if r := items[0].(map[string]any); r["account"] != "nantes" || r["by"] != "member" || r["path"] != "/api/v1/sites/paris/confirm" {
		t.Errorf("got %v", r)
	}
}
