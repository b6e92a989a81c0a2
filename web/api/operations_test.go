package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestOperations(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("x", engine.StateConverging, time.Now()))
	f.Site.AddOperation(served.Operation("o1", "x", engine.StateRejected))
	f.Site.AddOperation(served.Operation("o2", "y", engine.StatePending))
	v := f.Want(200, "GET", "/api/v1/operations", "")
	if items := v["items"].([]any); len(items) != 2 || items[0].(map[string]any)["id"] != "o2" {
		t.Errorf("listed %v", items)
	}
	for query, want := range map[string]int{"resource=x": 1, "state=pending": 1, "site=nantes": 2, "site=toulouse": 0, "limit=1": 1, "q=images+o2": 1, "q=NANTES": 2, "q=nantes+nothing": 0, "resource=x&service=images": 1} {
		if v := f.Want(200, "GET", "/api/v1/operations?"+query, ""); len(v["items"].([]any)) != want {
			t.Errorf("%s: %v", query, v)
		}
	}
	f.Problem(404, "not-found", "", "GET", "/api/v1/operations?resource=nope", "")
	f.Problem(400, "bad-request", "give resource", "GET", "/api/v1/operations?service=images", "")
	f.Problem(400, "bad-request", "unknown state", "GET", "/api/v1/operations?state=converged", "")

	o := f.Want(200, "GET", "/api/v1/operations/o1", "")
	sites := o["sites"].(map[string]any)
	if o["origin"] != "nantes" || sites["paris"].(map[string]any)["attempts"] != 3.0 || sites["12D3KooWGone"] == nil {
		t.Errorf("got %v", o)
	}
	if o["body"].(map[string]any)["name"] != "alpine" || o["change"].(map[string]any)["set"].(map[string]any)["/name"] != "alpine" {
		t.Errorf("body %v, change %v", o["body"], o["change"])
	}
	f.Problem(404, "not-found", `"nope"`, "GET", "/api/v1/operations/nope", "")
}

// TestOperationsAreFoundByTheirBeginning: who copies a part of an identifier means the one operation that begins so.
func TestOperationsAreFoundByTheirBeginning(t *testing.T) {
	f := served.Start(t)
	for _, id := range []string{"019aa3f0-6a00-7c31-9a5e-00a1b2c3d4e5", "019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6"} {
		f.Site.AddOperation(served.Operation(id, "x", engine.StateApplied))
	}
	if o := f.Want(200, "GET", "/api/v1/operations/019AA3F0-7", ""); o["id"] != "019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6" {
		t.Errorf("got %v", o)
	}
	f.Problem(409, "ambiguous", "019aa3f0-6a00", "GET", "/api/v1/operations/019aa3f0", "")
	f.Problem(404, "not-found", "", "GET", "/api/v1/operations/019a", "") // so begin those of hours
}

// TestANameIsRead: what exactly one site is to hold is in no list, and is found by whoever is asked about it.
func TestANameIsRead(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(engine.ResourceRow{ID: "door", Service: "servers", Kind: "key", Collaboration: engine.ExactlyOne, State: engine.StateConflict})
	if r := f.Want(200, "GET", "/api/v1/resources/door", ""); r["collaboration"] != "exactly-one" {
		t.Errorf("got %v", r)
	}
	if l := f.Want(200, "GET", "/api/v1/resources?q=door", ""); len(l["items"].([]any)) != 0 {
		t.Errorf("listed: %v", l)
	}
	f.Problem(404, "not-found", "", "POST", "/api/v1/resources/door/keep", `{"site":"paris"}`)
}

func TestSensitiveFieldsOfOperationsAreHidden(t *testing.T) {
	f := served.Start(t)
	for i, c := range []struct{ body, change string }{
		{`{"name":"web","admin_password":"s3cret"}`, `{"set":{"/admin_password":"s3cret","/name":"web"}}`},
		{`[{"op":"replace","path":"/admin_password","value":"s3cret"},{"op":"add","path":"/name","value":"web"}]`, `{"set":{"/admin_password":"s3cret"}}`},
		{`[{"op":"replace","path":"","value":{"admin_password":"s3cret"}}]`, `{"set":{"/admin_password/deep":"s3cret"}}`},
		{`admin_password=s3cret`, ``},
	} {
		o := served.Operation(fmt.Sprintf("o%d", i), "x", engine.StateApplied)
		o.Service, o.Kind, o.Body, o.Change = "servers", "server", []byte(c.body), []byte(c.change)
		f.Site.AddOperation(o)
		if _, b := f.Do("GET", "/api/v1/operations/"+string(o.ID), ""); bytes.Contains(b, []byte("s3cret")) {
			t.Errorf("%s is shown as %s", c.body, b)
		}
	}
	o := served.Operation("other", "x", engine.StateApplied)
	o.Service, o.Body = "unknown", []byte(`{"k":"s3cret"}`)
	f.Site.AddOperation(o)
	if _, b := f.Do("GET", "/api/v1/operations/other", ""); bytes.Contains(b, []byte("s3cret")) {
		t.Errorf("the body of a kind without rules is shown: %s", b)
	}
}

func TestSettle(t *testing.T) {
	f := served.Start(t)
	for verb, want := range map[string]string{"retry": "pending", "done": "applied", "drop": "superseded"} {
		f.Site.AddOperation(served.Operation("o-"+verb, "x", engine.StateRejected))
		if v := f.Want(200, "GET", "/api/v1/operations/o-"+verb, ""); !slices.Contains(v["actions"].([]any), any(verb)) {
			t.Errorf("%s is not offered: %v", verb, v["actions"])
		}
		if v := f.Want(200, "POST", "/api/v1/operations/o-"+verb+"/"+verb, ""); v["state"] != want {
			t.Errorf("%s: %v", verb, v["state"])
		}
		if v := f.Want(200, "GET", "/api/v1/operations/o-"+verb, ""); len(v["actions"].([]any)) > 0 {
			t.Errorf("after %s it is offered to %v", verb, v["actions"])
		}
		f.Problem(409, "settled", "nothing to settle", "POST", "/api/v1/operations/o-"+verb+"/retry", "")
		f.Problem(404, "not-found", "nope", "POST", "/api/v1/operations/nope/"+verb, "")
	}
	f.Problem(404, "not-found", "", "POST", "/api/v1/operations/o-drop/undo", "")
	elsewhere := served.Operation("elsewhere", "x", engine.StateApplied)
	elsewhere.Document = "document"
	f.Site.AddOperation(elsewhere)
	if v := f.Want(200, "GET", "/api/v1/operations/elsewhere", ""); len(v["waits_at"].([]any)) != 0 {
		t.Errorf("it waits at %v, and nothing says so", v["waits_at"])
	}
	f.Site.AddConflict(engine.Conflict{ID: "c", Kind: engine.ConflictRefused, Document: "document", Resource: "x", Service: "images", KindName: "image",
		Operation: "elsewhere", Site: served.Nantes, Actions: []engine.Action{engine.ActionRetry}})
	if v := f.Want(200, "GET", "/api/v1/operations/elsewhere", ""); fmt.Sprint(v["waits_at"]) != "[nantes]" {
		t.Errorf("it waits at %v, want nantes", v["waits_at"])
	}
	f.Problem(409, "settled", "it waits at nantes", "POST", "/api/v1/operations/elsewhere/retry", "")
	f.Site.AddOperation(served.Operation("o", "x", engine.StateUncertain))
	f.Site.SetFault(func(method string) error {
		if method == "Done" {
			return fmt.Errorf("commit: %w", engine.ErrStorage)
		}
		return nil
	})
	f.Problem(507, "storage", "disk", "POST", "/api/v1/operations/o/done", "")
}

func TestIssue(t *testing.T) {
	f := served.Start(t)
	resp, b := f.Do("POST", "/api/v1/operations",
		`{"service":"images","method":"POST","path":"/images","scope":"images: paris &\n nantes","body":{"name":"alpine"}}`)
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil || resp.StatusCode != 202 {
		t.Fatalf("%d %s", resp.StatusCode, b)
	}
	if resp.Header.Get("Location") != "/api/v1/operations/"+v["id"].(string) || v["answer"].(map[string]any)["status"] != 201.0 {
		t.Errorf("location %q, %s", resp.Header.Get("Location"), b)
	}
	if _, b := f.Do("GET", resp.Header.Get("Location"), ""); !bytes.Contains(b, []byte(`"scope":"images: paris &  nantes"`)) {
		t.Errorf("the scope is not as people wrote it: %s", b)
	}

	a := f.Want(200, "POST", "/api/v1/operations",
		`{"service":"images","method":"PUT","path":"/echo","headers":{"content-type":"text/plain"},"body":"hällo"}`, "Idempotency-Key", "k1")["answer"].(map[string]any)
	if a["status"] != 418.0 || a["body"] != "hällo" || a["body_encoding"] != "text" || a["site"] != "paris" {
		t.Errorf("echoed %v", a)
	}
	if h := a["headers"].(map[string]any); h["X-Saw-Key"] != "k1" || h["X-Saw-Scope"] != "" {
		t.Errorf("headers %v", h)
	}
	a = f.Want(200, "POST", "/api/v1/operations", `{"service":"servers","method":"GET","path":"/servers?x=1"}`)["answer"].(map[string]any)
	if a["status"] != 404.0 || a["body_encoding"] != "json" {
		t.Errorf("answer %v", a)
	}
	a = f.Want(200, "POST", "/api/v1/operations", `{"service":"images","method":"PUT","path":"/echo","headers":{"Content-Type":"application/octet-stream"},"body":"`+strings.Repeat("x", 900_000)+`"}`)["answer"].(map[string]any)
	if len(a["body"].(string)) != 900_000 {
		t.Errorf("a body of 900 kB came back with %d bytes", len(a["body"].(string)))
	}

	f.Problem(409, "name-taken", "the name is taken", "POST", "/api/v1/operations", `{"service":"images","method":"POST","path":"/refuse"}`)
	f.Problem(500, "internal", "", "POST", "/api/v1/operations", `{"service":"images","method":"POST","path":"/abort"}`)
	f.Problem(422, "unknown-service", "x", "POST", "/api/v1/operations", `{"service":"x","method":"POST","path":"/images"}`)
	for _, c := range []struct{ body, part string }{
		{`{"service":"images","method":"TRACE","path":"/images"}`, "PATCH"},
		{`{"service":"images","method":"POST","path":"images"}`, "absolute path"},
		{`{"service":"images","method":"POST","path":"//evil/x"}`, "absolute path"},
		{`{"service":"images","method":"POST","path":"/a\r\nX: y"}`, "absolute path"},
		{`{"service":"images","method":"POST","path":"/%zz"}`, "not a valid path"},
		{`{"service":"images","method":"POST","path":"/~scope/paris/images"}`, "member scope"},
		{`{"service":"images","method":"POST","path":"/images","headers":{"Scope":"paris"}}`, "member scope"},
		{`{"service":"images","method":"POST","path":"/images","headers":{"skerry-operation":"x"}}`, "agent's own"},
		{`{"service":"images","method":"POST","path":"/images","headers":{"Transfer-Encoding":"x"}}`, "agent's own"},
		{`{"service":"images","method":"POST","path":"/images","headers":{"A":"x\r\nB: y"}}`, "cannot be sent"},
		{`{"service":"images","method":"POST","path":"/images","headers":{"Content-Type":"text/plain"},"body":{}}`, "must be a string"},
		{`{"service":"images","method":"POST","path":"/images","scop":"x"}`, "unknown field"},
	} {
		f.Problem(400, "bad-request", c.part, "POST", "/api/v1/operations", c.body)
	}
}

// TestVersionsThatDiffer explains a request whose sites run different versions of the application.

// TestAttempts tells what this site has tried, and what another one has, which is asked.
func TestAttempts(t *testing.T) {
	f := served.Start(t)
	x := served.Image("x", engine.StateConverging, time.Now())
	x.Label = "Debian"
	f.Site.AddResource(x)
	o := served.Operation("o", "x", engine.StatePending)
	self := f.Site.Self()
	o.Sites[self] = engine.OperationStatus{State: engine.StatePending, Attempts: 2, Fetched: 7,
		Tries: []engine.Attempt{{At: time.Unix(1_790_000_000, 0), Error: "refused"}, {At: time.Unix(1_790_000_001, 0), Status: 503, Error: "busy"}}}
	f.Site.AddOperation(o)
	next := time.Unix(1_790_000_009, 0)
	f.Site.SetQueue("images", engine.QueueStatus{State: engine.QueueFailing, Next: next})
	v := f.Want(200, "GET", "/api/v1/operations/o", "")
	here := v["sites"].(map[string]any)["paris"].(map[string]any)
	tries := here["tries"].([]any)
	if last := tries[1].(map[string]any); len(tries) != 2 || last["status"] != 503.0 || last["error"] != "busy" || v["label"] != "Debian" || here["fetched"] != 7.0 || v["next_try"] == nil {
		t.Errorf("this site tells %v, next %v", here, v["next_try"])
	}
	there := f.Want(200, "GET", "/api/v1/operations/o?site=nantes", "")["sites"].(map[string]any)["nantes"].(map[string]any)
	if there["attempts"] != 12.0 || len(there["tries"].([]any)) != 2 {
		t.Errorf("nantes tells %v", there)
	}
	f.Problem(422, "scope-type", "does not concern toulouse", "GET", "/api/v1/operations/o?site=toulouse", "")
	f.Problem(400, "bad-request", "at most 8", "GET", "/api/v1/operations?q=a+b+c+d+e+f+g+h+i", "")
}
