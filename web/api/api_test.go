package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/webtest"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestSites(t *testing.T) {
	f := served.Start(t)
	_, b := f.Do("GET", "/api/v1/sites", "")
	var sites []map[string]any
	if err := json.Unmarshal(b, &sites); err != nil || len(sites) != 3 {
		t.Fatalf("%v: %s", err, b)
	}
	if s := sites[0]; s["name"] != "paris" || s["self"] != true || s["reachable"] != true {
		t.Errorf("this site comes first: %v", s)
	}
	if s := sites[1]; s["name"] != "nantes" || s["rtt_ms"] != 8.4 || s["reachable"] != true {
		t.Errorf("nantes: %v", s)
	}
	if s := sites[2]; s["name"] != "toulouse" || s["rtt_ms"] != nil || s["reachable"] != false {
		t.Errorf("toulouse: %v", s)
	}
	f.Problem(400, "bad-request", `unknown query parameter "x"`, "GET", "/api/v1/sites?x=1", "")
}

func TestCertificates(t *testing.T) {
	f := served.Start(t)
	v := f.Want(200, "PUT", "/api/v1/sites/12D3KooWNew/certificate", `{"name":"lyon","valid_for":"24h"}`)
	until, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v["certified_until"]))
	if left := until.Sub(f.Site.Clock()); err != nil || left > 24*time.Hour || left < 23*time.Hour || v["name"] != "lyon" || v["certified_by"] != string(f.Site.Self()) {
		t.Errorf("a new site is %v", v)
	}
	if v := f.Want(200, "PUT", "/api/v1/sites/lyon/certificate", `{"name":"lugdunum"}`); v["name"] != "lugdunum" || v["certified_until"] != nil || v["peer_id"] != "12D3KooWNew" {
		t.Errorf("renamed it is %v", v)
	}
	f.Problem(400, "bad-request", "a minute or more", "PUT", "/api/v1/sites/nantes/certificate", `{"valid_for":"1s"}`)
	f.Problem(400, "bad-request", "a minute or more", "POST", "/api/v1/invitations", `{"valid_for":"soon"}`)
	if v := f.Want(201, "POST", "/api/v1/invitations", `{"valid_for":"48h"}`); v["valid_for"] != "48h0m0s" {
		t.Errorf("an invitation is %v", v)
	}
	f.Site.SetFault(func(string) error { return &engine.Refusal{Status: 403, Type: "authority", Detail: "no authority"} })
	f.Problem(403, "authority", "no authority", "PUT", "/api/v1/sites/nantes/certificate", `{}`)
}

func TestAuthorities(t *testing.T) {
	f := served.Start(t)
	self := string(f.Site.Self())
	if b, _ := json.Marshal(f.Want(200, "POST", "/api/v1/authorities/requests", `{"by":"12D3KooWOff","revoke":"nantes"}`)); !strings.Contains(string(b), "skq1:12D3KooWOff:") || !strings.Contains(string(b), "Revoke:12D3KooWNantes") {
		t.Errorf("the request is %s", b)
	}
	if v := f.Want(200, "POST", "/api/v1/authorities/answers", `{"answer":"ska1:x"}`); v["records"] != 1.0 {
		t.Errorf("applied: %v", v)
	}
	status, b := f.Do("POST", "/api/v1/authorities", `{"key":"nantes","first":true}`)
	if status.StatusCode != 201 || !strings.Contains(string(b), `"site":"nantes"`) || !strings.Contains(string(b), `{"key":"`+self+`","site":"paris","self":true}`) {
		t.Errorf("%d %s", status.StatusCode, b)
	}
	if _, b := f.Do("GET", "/api/v1/authorities", ""); !strings.Contains(string(b), `"site":"nantes"`) {
		t.Errorf("the authorities are %s", b)
	}
	f.Want(204, "DELETE", "/api/v1/authorities/nantes", "")
	f.Problem(404, "not-found", "", "DELETE", "/api/v1/authorities/nantes", "")
	f.Problem(400, "bad-request", "one of certify", "POST", "/api/v1/authorities/requests", `{"by":"12D3KooWOff"}`)
	f.Problem(400, "bad-request", "one of certify", "POST", "/api/v1/authorities/requests", `{"by":"12D3KooWOff","retire":"nantes","revoke":"nantes"}`)
	if v := f.Want(201, "POST", "/api/v1/invitations", `{"certified":true}`); !strings.HasPrefix(v["token"].(string), "skr1:") {
		t.Errorf("what a certified site joins by is %v", v)
	}
	if _, b := f.Do("GET", "/api/v1/invitations", ""); strings.Contains(string(b), "inv-1") {
		t.Errorf("that is an invitation: %s", b)
	}
}

func TestInvitations(t *testing.T) {
	f := served.Start(t)
	made := f.Want(201, "POST", "/api/v1/invitations", `{"expires":"30m","uses":2}`)
	if !strings.HasPrefix(made["token"].(string), "skr1:") || made["uses"] != 2.0 || made["open"] != true || made["issuer"] != "paris" {
		t.Errorf("made %v", made)
	}
	if made := f.Want(201, "POST", "/api/v1/invitations", `{}`); made["uses"] != 1.0 {
		t.Errorf("one use is the default: %v", made)
	}
	_, b := f.Do("GET", "/api/v1/invitations", "")
	if bytes.Contains(b, []byte("skr1:")) || bytes.Contains(b, []byte("token")) {
		t.Errorf("a list tells tokens: %s", b)
	}
	f.Want(204, "DELETE", "/api/v1/invitations/"+made["id"].(string), "")
	_, b = f.Do("GET", "/api/v1/invitations", "")
	if !bytes.Contains(b, []byte(`"revoked":true`)) || !bytes.Contains(b, []byte(`"open":false`)) {
		t.Errorf("after revoking: %s", b)
	}
	f.Problem(404, "not-found", "", "DELETE", "/api/v1/invitations/nope", "")
	for _, c := range []struct{ body, part string }{
		{`{"expires":"soon"}`, "give a duration"}, {`{"expires":"1000h"}`, "720h"}, {`{"expires":"-1h"}`, "1s"},
		{`{"uses":0}`, "1 to 1000"}, {`{"uses":"two"}`, "uses cannot be a string"}, {`{"use":1}`, `unknown field "use"`},
		{`{} {}`, "after its JSON object"}, {`{`, "unexpected EOF"}, {"", "application/json"},
	} {
		status, typ := 400, "bad-request"
		if c.body == "" {
			status, typ = 415, "media-type"
		}
		f.Problem(status, typ, c.part, "POST", "/api/v1/invitations", c.body)
	}
	f.Problem(413, "too-large", "bytes", "POST", "/api/v1/invitations", `{"expires":"`+strings.Repeat("x", 1<<20)+`"}`)
}

func TestResources(t *testing.T) {
	f := served.Start(t)
	at := time.Now().Add(-time.Hour)
	for i := range 5 {
		f.Site.AddResource(served.Image(fmt.Sprintf("r%d", i), engine.StateConverged, at.Add(time.Duration(i)*time.Minute)))
	}
	f.Site.AddResource(served.Image("broken", engine.StateDegraded, time.Now()))
	f.Site.AddResource(served.Image("gone", engine.StateDeleted, time.Now()))

	var got []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		v := f.Want(200, "GET", "/api/v1/resources?limit=4&cursor="+cursor, "")
		for _, i := range v["items"].([]any) {
			got = append(got, i.(map[string]any)["id"].(string))
		}
		cursor = v["next"].(string)
	}
	if s := strings.Join(got, " "); s != "broken r4 r3 r2 r1 r0" {
		t.Errorf("listed %s", s)
	}
	for query, want := range map[string]string{
		"state=degraded": "broken", "state=deleted": "gone", "q=r3": "r3", "q=img-r2": "r2", "site=toulouse": "",
		"site=nantes&state=degraded": "broken", "service=networks": "", "kind=image&q=r1": "r1",
	} {
		v := f.Want(200, "GET", "/api/v1/resources?"+query, "")
		var ids []string
		for _, i := range v["items"].([]any) {
			ids = append(ids, i.(map[string]any)["id"].(string))
		}
		if s := strings.Join(ids, " "); s != want {
			t.Errorf("%s: listed %q, want %q", query, s, want)
		}
	}
	f.Problem(422, "unknown-site", `no site "lyon"`, "GET", "/api/v1/resources?site=lyon", "")
	f.Problem(422, "unknown-service", `no service "imagez"`, "GET", "/api/v1/resources?service=imagez", "")
	f.Problem(400, "bad-request", `no kind "x"`, "GET", "/api/v1/resources?kind=x", "")
	f.Problem(400, "bad-request", "converging", "GET", "/api/v1/resources?state=fine", "")
	f.Problem(400, "bad-request", "1 to 1000", "GET", "/api/v1/resources?limit=0", "")
	f.Problem(400, "bad-request", "1 to 1000", "GET", "/api/v1/resources?limit=1001", "")
	f.Problem(400, "bad-request", "given 2 times", "GET", "/api/v1/resources?q=a&q=b", "")
	f.Problem(400, "bad-request", "cursor", "GET", "/api/v1/resources?cursor=%00", "")
	f.Problem(400, "bad-request", "4096", "GET", "/api/v1/resources?q="+strings.Repeat("x", 5000), "")
}

// A refusal tells its reason, not the way that the error took through the program.
func TestARefusalTellsItsReasonOnly(t *testing.T) {
	err := fmt.Errorf("list operations: %w: cursor \"x\" is not one of this list", engine.ErrRefused)
	if got := api.AsRefusal(fmt.Errorf("list operations: %w", err)); got.Status != 400 || got.Detail != `cursor "x" is not one of this list` {
		t.Errorf("%d %q", got.Status, got.Detail)
	}
}

// TestSuperseded asks which values were lost, and who had set them and who took their place.
func TestSuperseded(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("a", engine.StateConverged, time.Now()))
	f.Site.AddOperation(served.Operation("winner", "a", engine.StateApplied))
	lost := f.Want(200, "GET", "/api/v1/resources/a", "")["superseded"].([]any)
	if len(lost) != 1 {
		t.Fatalf("lost: %v", lost)
	}
	v := lost[0].(map[string]any)
	by, over := v["by"].(map[string]any), v["over"].(map[string]any)
	if v["path"] != "/name" || v["value"] != "old" || v["rule"] == "" || by["operation"] != "gone" || by["at"] != nil ||
		over["operation"] != "winner" || over["user"] != "ada" || over["site"] != "nantes" || over["at"] == nil {
		t.Errorf("lost: %v", v)
	}
}

func TestResource(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("a/b c", engine.StateConverging, time.Now()))
	v := f.Want(200, "GET", "/api/v1/resources/a%2Fb%20c", "")
	sites := v["sites"].(map[string]any)
	if v["id"] != "a/b c" || sites["nantes"].(map[string]any)["pending"] != 1.0 || sites["paris"].(map[string]any)["local_id"] != "img-a/b c" {
		t.Errorf("got %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/resources/img-a%2Fb%20c", ""); v["id"] != "a/b c" {
		t.Errorf("by this site's own identifier: %v", v)
	}
	f.Problem(404, "not-found", `"nope"`, "GET", "/api/v1/resources/nope", "")

	web := served.Image("web", engine.StateConverged, time.Now())
	f.Site.AddResource(web)
	web.Service, web.Kind = "networks", "network"
	f.Site.AddResource(web)
	p := f.Problem(409, "ambiguous", "?service=", "GET", "/api/v1/resources/web", "")
	if fmt.Sprint(p["candidates"]) != "[map[id:web kind:network service:networks] map[id:web kind:image service:images]]" {
		t.Errorf("candidates %v", p["candidates"])
	}
	if v := f.Want(200, "GET", "/api/v1/resources/web?service=networks", ""); v["kind"] != "network" {
		t.Errorf("picked %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/resources/web?kind=image", ""); v["service"] != "images" {
		t.Errorf("picked %v", v)
	}

	// A deleted resource is found until another one has its name.
	f.Site.AddResource(served.Image("old", engine.StateDeleted, time.Now().Add(-time.Hour)))
	if v := f.Want(200, "GET", "/api/v1/resources/old", ""); v["state"] != "deleted" {
		t.Errorf("got %v", v)
	}
	f.Site.AddResource(served.Image("old", engine.StateConverged, time.Now()))
	if v := f.Want(200, "GET", "/api/v1/resources/old", ""); v["state"] != "converged" {
		t.Errorf("got %v", v)
	}
}

func TestReplicas(t *testing.T) {
	f := served.Start(t)
	r := served.Image("x", engine.StateConverging, time.Now())
	r.Service, r.Kind = "servers", "server"
	r.Sites[served.Toulouse] = engine.ReplicaStatus{State: engine.StateConverging}
	f.Site.AddResource(r)
	f.Site.Show("paris", "servers", "x", `{"id":"x","name":"web","n":10000000000000000001,"admin_password":"one","spec":{"cpu":2,"t/a":[1,2]},"updated_at":"1"}`)
	f.Site.Show("nantes", "servers", "x", `{"id":"x","name":"web","n":10000000000000000002,"admin_password":"two","spec":{"t/a":[1,2]},"updated_at":"2"}`)
	v := f.Want(200, "GET", "/api/v1/resources/x/replicas", "")
	if v["equal"] != false {
		t.Errorf("equal: %v", v["equal"])
	}
	var paths []string
	for _, d := range v["differences"].([]any) {
		paths = append(paths, d.(map[string]any)["path"].(string))
	}
	if s := strings.Join(paths, " "); s != "/admin_password /n /spec/cpu" {
		t.Errorf("differences at %s", s)
	}
	b, _ := json.Marshal(v)
	if bytes.Contains(b, []byte(`"one"`)) || bytes.Contains(b, []byte(`"two"`)) {
		t.Errorf("sensitive values are shown: %s", b)
	}
	_, raw := f.Do("GET", "/api/v1/resources/x/replicas", "")
	if !bytes.Contains(raw, []byte("10000000000000000001")) {
		t.Errorf("a number lost its digits: %s", raw)
	}
	views := v["sites"].(map[string]any)
	if e := views["toulouse"].(map[string]any)["error"]; !strings.Contains(fmt.Sprint(e), "cannot be reached") {
		t.Errorf("toulouse: %v", e)
	}
	if i := views["paris"].(map[string]any)["ignored"].(map[string]any)["/updated_at"]; i != "1" {
		t.Errorf("ignored %v", i)
	}

	f.Site.Show("nantes", "servers", "x", "")
	if v := f.Want(200, "GET", "/api/v1/resources/x/replicas", ""); v["equal"] != nil {
		t.Errorf("one answer is compared with nothing: %v", v["equal"])
	}
	f.Site.Show("nantes", "servers", "x", `{"id":"x","name":"web","n":10000000000000000001,"admin_password":"one","spec":{"t/a":[1,2],"cpu":2},"updated_at":"9"}`)
	if v := f.Want(200, "GET", "/api/v1/resources/x/replicas", ""); v["equal"] != true {
		t.Errorf("not equal: %v", v["differences"])
	}
}

func TestReplicasDoNotWaitForASiteThatHangs(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("x", engine.StateConverging, time.Now()))
	f.Site.Show("paris", "images", "x", `{"id":"x"}`)
	f.Site.Show("nantes", "images", "x", "hang")
	v := f.Want(200, "GET", "/api/v1/resources/x/replicas", "")
	sites := v["sites"].(map[string]any)
	if e := sites["nantes"].(map[string]any)["error"]; !strings.Contains(fmt.Sprint(e), "no answer within 3s") {
		t.Errorf("nantes: %v", e)
	}
	if s := sites["paris"].(map[string]any)["status"]; s != 200.0 {
		t.Errorf("paris: %v", s)
	}
}

func TestVersionsThatDiffer(t *testing.T) {
	f := served.Start(t)
	f.Site.SetVersion("paris", "2.1")
	warned := func() bool {
		b, _ := json.Marshal(f.Want(200, "POST", "/api/v1/scope/explain", `{"scope":"paris & nantes","service":"images","method":"POST","path":"/images"}`)["warnings"])
		return strings.Contains(string(b), "the versions of the application differ: 2.1 at paris; 3.0 at nantes")
	}
	if warned() {
		t.Error("it warns of a version that nantes has not told")
	}
	f.Site.SetVersion("nantes", "3.0")
	if !warned() {
		t.Error("it does not warn")
	}
}

func TestExplain(t *testing.T) {
	f := served.Start(t)
	f.Site.Show("nantes", "networks", "flat", `{"type":"flat"}`)
	f.Site.Show("nantes", "networks", "shared", `{"type":"shared"}`)
	f.Site.AddResource(served.Image("x", engine.StateConverged, time.Now()))
	explain := func(body string) map[string]any {
		t.Helper()
		return f.Want(200, "POST", "/api/v1/scope/explain", body)
	}
	v := explain(`{"scope":"images:paris&&nantes","service":"images","method":"POST","path":"/images"}`)
	if v["canonical"] != "{images: paris & nantes}" || len(v["errors"].([]any)) != 0 {
		t.Errorf("got %v", v)
	}
	if a := fmt.Sprint(v["alternatives"]); a != "[map[mode:replicate reachable:true rtt_ms:0 sites:[paris nantes]]]" {
		t.Errorf("alternatives %s", a)
	}
	steps := v["plan"].(map[string]any)["steps"].([]any)
	if s := steps[0].(map[string]any); s["site"] != "paris" || !strings.Contains(s["does"].(string), "first") {
		t.Errorf("first %v", s)
	}
	if s := steps[1].(map[string]any); s["site"] != "nantes" || s["rtt_ms"] != 8.4 || fmt.Sprint(s["waits_for"]) != "[paris]" {
		t.Errorf("then %v", s)
	}
	if tree := fmt.Sprint(v["tree"]); tree != "[map[location:map[args:[map[site:paris] map[site:nantes]] op:&] service:images]]" {
		t.Errorf("tree %s", tree)
	}
	for _, c := range []struct{ scope, typ, part string }{
		{"images: paris &", "scope-syntax", "^"}, {"images: pariss", "unknown-site", `did you mean "paris"`},
		{"imagez: paris", "unknown-service", "images"}, {"images: paris % paris", "scope-type", "two parts"},
	} {
		b, _ := json.Marshal(map[string]string{"scope": c.scope, "service": "images"})
		e := explain(string(b))["errors"].([]any)
		if len(e) == 0 || e[0].(map[string]any)["type"] != c.typ || !strings.Contains(e[0].(map[string]any)["detail"].(string), c.part) {
			t.Errorf("%s: %v", c.scope, e)
		}
	}
	// A kind that lives at one site is refused at several, as the request would be, and with the catalog's reason.
	server := f.Site.Kind("servers", "server")
	server.Single = "each site has its own"
	for text, refused := range map[string]bool{"paris & nantes": true, "nantes % paris": true, "nantes": false} {
		e := explain(`{"scope":"` + text + `","service":"servers","method":"POST","path":"/servers"}`)["errors"].([]any)
		if is := strings.Contains(fmt.Sprint(e), "lives at one site and is not replicated: each site has its own"); is != refused {
			t.Errorf("%s of a kind that lives at one site: %v", text, e)
		}
	}
	server.Single = ""
	for _, c := range []struct{ body, want string }{
		{`{"scope":"paris & toulouse","service":"images","method":"POST","path":"/images"}`, "toulouse cannot be reached now"},
		{`{"scope":"","service":"images","method":"POST","path":"/images"}`, "The request goes to the application here"},
		{`{"scope":"nantes","service":"images","method":"POST","path":"/images"}`, "forwarded to nantes"},
		{`{"scope":"nantes","service":"images","method":"DELETE","path":"/images/x"}`, "every replica, whatever the scope says"},
		{`{"scope":"nantes & toulouse","service":"images","method":"GET","path":"/images/x"}`, "Read from nantes, the nearest"},
		{`{"scope":"","service":"images","method":"GET","path":"/images/x"}`, "Read here"},
		{`{"scope":"*","service":"images","method":"GET","path":"/images"}`, "asked for at once"},
		{`{"scope":"toulouse","service":"images","method":"GET","path":"/images"}`, "None of toulouse can be reached"},
		{`{"scope":"*","service":"images","method":"POST","path":"/nothing"}`, "no kind for /nothing"},
		{`{"scope":"nantes % paris","service":"servers","method":"POST","path":"/servers","body":{"count":5}}`, "Divided: /count 3; /count 2."},
		{`{"scope":"nantes % paris","service":"servers","method":"POST","path":"/servers","body":{"count":5}}`, "its application's answer is the answer; its share: /count 2"},
		{`{"scope":"(nantes & toulouse) % paris","service":"servers","method":"POST","path":"/servers"}`, "toulouse % paris."},
		{`{"scope":"nantes % paris","service":"servers","method":"GET","path":"/servers/s"}`, "Every part is asked at once (nantes % paris)"},
		{`{"scope":"nantes % paris"}`, "spread over nantes and paris and behaves as one"},
		{`{"scope":"images: *"}`, "a replica at each of nantes, paris and toulouse"},
		{`{"scope":"images: nantes"}`, "run at nantes"},
		{`{"scope":"paris & nantes","service":"servers","method":"POST","path":"/servers","body":{"image":"nope"}}`, "image nope (/image) is not replicated: it is not at nantes, where it will be needed"},
		{`{"scope":"*","service":"servers","method":"POST","path":"/servers","body":{"image":"x"}}`, "has no replica at toulouse"},
		{`{"scope":"toulouse ; nantes","service":"images","method":"POST","path":"/images"}`, "only while it is certain that nothing has happened at those before. In order: toulouse; nantes."},
		{`{"scope":"toulouse ; nantes","service":"images","method":"POST","path":"/images"}`, `"does":"runs the request","reachable":true,"rtt_ms":8.4,"site":"nantes"`},
		{`{"scope":"quorum(*)","service":"images","method":"POST","path":"/images"}`, "It is answered when 2 of 3 have applied it"},
		{`{"scope":"quorum(*)","service":"images","method":"GET","path":"/images/y"}`, "the answer is what 2 of them agree on"},
		{`{"scope":"sync(*)","service":"images","method":"POST","path":"/images"}`, "and 2 can be reached now: the request would be refused (503)"},
		{`{"scope":"toulouse | nantes | paris","service":"images","method":"GET","path":"/images"}`, "asked at once, and the first good answer counts"},
		{`{"scope":"toulouse | nantes | paris","service":"images","method":"POST","path":"/images"}`, "In order: paris; nantes; toulouse."},
		{`{"scope":"nantes ^ toulouse","service":"networks","method":"POST","path":"/networks","body":{"id":"n"}}`, "At exactly one of nantes and toulouse: at nantes, the nearest"},
		{`{"scope":"paris ^ toulouse","service":"networks","method":"POST","path":"/networks","body":{"id":"taken"}}`, "network taken is at nantes already: the request would be refused (409)"},
		{`{"scope":"paris ^ toulouse","service":"networks","method":"GET","path":"/networks/taken"}`, "network taken is at nantes, and the request runs there"},
		{`{"scope":"paris ^ toulouse","service":"images","method":"POST","path":"/images"}`, "The application names each image itself"},
		{`{"scope":"images: paris ^ toulouse"}`, "at exactly one of paris and toulouse"},
		{`{"scope":"servers: paris, networks: nantes","service":"servers","method":"POST","path":"/servers","body":{"image":"x","network":"flat"}}`,
			`mismatched owners: POST /servers at paris refers to network \"flat\" through /network`},
		{`{"scope":"servers: nantes, networks: nantes","service":"servers","method":"POST","path":"/servers","body":{"image":"x","network":"flat"}}`, `"errors":[]`},
		{`{"scope":"servers: paris, networks: toulouse","service":"servers","method":"POST","path":"/servers","body":{"image":"x","network":"flat"}}`,
			"whether what it refers to can be used where it runs cannot be told: toulouse cannot be asked now"},
		{`{"scope":"servers: paris, networks: nantes","service":"servers","method":"POST","path":"/servers","body":{"network":"shared"}}`,
			"network shared (/network) is not replicated: it is not at paris, where it will be relied on"},
		{`{"scope":"toulouse","service":"images","method":"PATCH","path":"/images/y"}`, "forwarded to toulouse"},
	} {
		b, _ := json.Marshal(explain(c.body))
		if !strings.Contains(string(b), c.want) {
			t.Errorf("%s: no %q in %s", c.body, c.want, b)
		}
	}
	f.Problem(422, "unknown-service", "x", "POST", "/api/v1/scope/explain", `{"scope":"paris","service":"x"}`)
	f.Problem(400, "bad-request", "absolute", "POST", "/api/v1/scope/explain", `{"scope":"paris","path":"x"}`)
}

func TestServices(t *testing.T) {
	f := served.Start(t)
	if _, b := f.Do("GET", "/api/v1/services", ""); !strings.Contains(string(b), `{"name":"images","url":"http://127.0.0.1:9701","kinds":["image"]}`) {
		t.Errorf("%s", b)
	} else if !strings.Contains(string(b), `{"name":"networks","url":"https://127.0.0.1:9702","kinds":["network"],"server_name":"networks.example.org"}`) {
		t.Errorf("whom to expect is not told: %s", b)
	}
}

func TestZones(t *testing.T) {
	f := served.Start(t)
	if v := f.Want(200, "PUT", "/api/v1/zones/west", `{"sites":["paris","nantes"]}`); fmt.Sprint(v["sites"]) != "[nantes paris]" || v["by"] != "paris" {
		t.Errorf("got %v", v)
	}
	b, _ := json.Marshal(f.Want(200, "POST", "/api/v1/scope/explain", `{"scope":"{images: west ; !west}"}`))
	if s := string(b); !strings.Contains(s, `"sites":["nantes","paris"]`) || !strings.Contains(s, `"sites":["toulouse"]`) {
		t.Errorf("got %s", s)
	}
	f.Problem(422, "unknown-site", "lyno", "PUT", "/api/v1/zones/west", `{"sites":["lyno"]}`)
	f.Problem(400, "bad-request", "cannot be the name", "PUT", "/api/v1/zones/XOR", `{"sites":["paris"]}`)
	f.Problem(400, "bad-request", "cannot be the name", "PUT", "/api/v1/zones/a%20b", `{"sites":["paris"]}`)
	f.Want(204, "DELETE", "/api/v1/zones/west", "")
	f.Problem(404, "not-found", "", "DELETE", "/api/v1/zones/west", "")
}

func TestIsolation(t *testing.T) {
	f := served.Start(t)
	if v := f.Want(200, "POST", "/api/v1/mesh/isolation", `{"isolated":true}`); v["isolated"] != true {
		t.Errorf("got %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/mesh/isolation", ""); v["isolated"] != true || !f.Site.Isolated() {
		t.Errorf("got %v", v)
	}
	f.Problem(400, "bad-request", "missing", "POST", "/api/v1/mesh/isolation", `{}`)
	if v := f.Want(200, "POST", "/api/v1/mesh/isolation", `{"isolated":false}`); v["isolated"] != false || f.Site.Isolated() {
		t.Errorf("got %v", v)
	}
}

// TestWhatACauseTellsOfIsToldOnce: what waits for a person is told by cause, and what is not well beside that by itself.
func TestWhatACauseTellsOfIsToldOnce(t *testing.T) {
	f := served.Start(t)
	for _, id := range []string{"x", "y", "z"} {
		row := served.Image(id, engine.StateDegraded, time.Now())
		f.Site.AddResource(row)
		if id != "z" {
			f.Site.AddConflict(engine.Conflict{ID: engine.ConflictID(id), Kind: engine.ConflictRefused, Document: row.Document, Resource: row.ID, Service: row.Service,
				KindName: row.Kind, Site: served.Nantes, Since: time.Now(), Reason: "quota"})
		}
	}
	v := f.Want(200, "GET", "/api/v1/summary", "")
	causes := v["causes"].([]any)
	if len(causes) != 1 || causes[0].(map[string]any)["headline"] != "nantes refused what others took, of 2 images" || causes[0].(map[string]any)["decisions"] != 2.0 {
		t.Errorf("the causes are %v", causes)
	}
	var resources []any
	for _, w := range v["worries"].([]any) {
		if w := w.(map[string]any); w["about"] == "resource" {
			resources = append(resources, w["id"])
		}
	}
	if len(resources) != 1 || resources[0] != "z" {
		t.Errorf("beside the cause there is worry over %v", resources)
	}
}

func TestSummary(t *testing.T) {
	at := time.Date(2026, 3, 1, 21, 44, 0, 0, time.UTC)
	alone := served.Serve(t, webtest.Empty())
	if v := alone.Want(200, "GET", "/api/v1/summary", ""); v["converged"] != true || v["sentence"] != "Nothing is shared between sites yet." {
		t.Errorf("got %v", v)
	}
	f := served.Start(t)
	f.Site.AddResource(served.Image("x", engine.StateConverged, time.Now()))
	f.Site.AddResource(served.Image("y", engine.StateConverged, time.Now()))
	v := f.Want(200, "GET", "/api/v1/summary", "")
	if v["converged"] != true || v["sentence"] != "All 2 resources are converged." || v["sites"] != 3.0 || v["reachable"] != 2.0 {
		t.Errorf("got %v", v)
	}
	if w := fmt.Sprint(v["worries"]); !strings.Contains(w, "toulouse") {
		t.Errorf("worries %s", w)
	}
	f.Site.SetStatus(served.Nantes, engine.SiteStatus{LastSeen: at})
	v = f.Want(200, "GET", "/api/v1/summary", "")
	if n := v["resources"].(map[string]any); v["converged"] != false || n["unknown"] != 2.0 || n["converged"] != 0.0 || !strings.HasPrefix(fmt.Sprint(v["sentence"]), "2 resources are unknown, of 2") {
		t.Errorf("while nantes is silent: %v", v)
	}
	f.Site.SetStatus(served.Nantes, engine.SiteStatus{Reachable: true, Uncompared: true, Since: at})
	for state, want := range map[string]int{"unknown": 2, "converged": 0} {
		l := f.Want(200, "GET", "/api/v1/resources?state="+state, "")["items"].([]any)
		if len(l) != want {
			t.Fatalf("%d resources are %s before nantes has been compared with", len(l), state)
		}
		for _, r := range l {
			r := r.(map[string]any)
			nantes := r["sites"].(map[string]any)["nantes"].(map[string]any)
			if r["state"] != "unknown" || r["since"] != at.Format(time.RFC3339) || r["reason"] != "converged when nantes answered last" || nantes["state"] != "unknown" {
				t.Errorf("it is told so: %v", r)
			}
		}
	}
	f.Site.SetStatus(served.Nantes, engine.SiteStatus{Reachable: true})
	f.Site.AddResource(served.Image("z", engine.StateConverging, time.Now()))
	if v := f.Want(200, "GET", "/api/v1/summary", ""); v["converged"] != false || v["sentence"] != "Converging: 1 resource is under way, of 3." {
		t.Errorf("got %v", v)
	}
	f.Site.AddOperation(served.Operation("decided", "x", engine.StateRejected))
	if v := f.Want(200, "GET", "/api/v1/summary", ""); v["sentence"] != "Converging: 1 resource is under way, of 3." || strings.Contains(fmt.Sprint(v["worries"]), "decided") {
		t.Errorf("what nobody has to settle any more is told as if: %v", v)
	}
	f.Site.AddOperation(served.Operation("o", "x", engine.StateUncertain))
	if v := f.Want(200, "GET", "/api/v1/summary", ""); v["sentence"] != "1 operation waits for someone to settle." {
		t.Errorf("got %v", v)
	}
	d := served.Image("d", engine.StateDegraded, time.Now())
	d.Reason = "rejected at nantes"
	f.Site.AddResource(d)
	v = f.Want(200, "GET", "/api/v1/summary", "")
	if v["sentence"] != "1 resource needs attention, 1 more under way, of 4." {
		t.Errorf("got %v", v["sentence"])
	}
	if w := v["worries"].([]any)[0].(map[string]any); w["id"] != "d" || w["reason"] != "rejected at nantes" {
		t.Errorf("the worst comes first: %v", w)
	}
}
