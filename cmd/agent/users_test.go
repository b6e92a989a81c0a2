package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestWithTheRightsOfUsers runs two agents whose applications take the agent's word, in a header, for who asks. Nantes does what paris asks
// for with the rights of who asked there: what nobody is known to have asked for waits, what the user may not do there is not done, and
// nothing of it is ever done with the agent's rights alone. Clients cannot say in the header who they are.
func TestWithTheRightsOfUsers(t *testing.T) {
	application := func() *shelf { return &shelf{things: map[string]map[string]any{}} }
	atParis, atNantes := application(), application()
	atNantes.denied = "mallory"
	paris, _ := startWith(t, t.TempDir(), "paris", atParis, "", ", user_header: {name: x-remote-user}, trusted_proxies: [192.0.2.0/24]", "")
	invitation, secret, err := paris.core.Mesh.Invite(t.Context(), time.Hour, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	nantes, _ := startWith(t, t.TempDir(), "nantes", atNantes, fmt.Sprintf(", join: %q", paris.token(invitation, secret)), ", user_header: {name: X-Remote-User}",
		"accept: [{from: paris, as: user}]")
	self := nantes.core.Mesh.Self()
	within(t, "the sites meet", func() bool {
		return paris.network.Status()[self].Reachable && nantes.network.Status()[paris.core.Mesh.Self()].Reachable
	})
	kind := paris.client.Kind("shelf", "thing")
	by := func(user string) string { return "X-Remote-User: " + user }
	create := func(headers ...string) (id, operation string) {
		resp := paris.request(t, "POST", "/things", `{"name":"a"}`, append(headers, "Scope: {shelf: paris & nantes}")...)
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("created with %d", resp.StatusCode)
		}
		return resp.Header.Get("Skerry-Resource"), resp.Header.Get("Skerry-Operation")
	}
	name := func(id string) any {
		row, _ := nantes.core.Traffic().Lookup(t.Context(), kind, id)
		atNantes.mu.Lock()
		defer atNantes.mu.Unlock()
		return atNantes.things[string(row.Local)]["name"]
	}
	held := func(operation string) *engine.Conflict {
		list, _, _ := nantes.store.Conflicts(t.Context(), engine.ConflictFilter{Kind: engine.ConflictNotAccepted, Site: self})
		i := slices.IndexFunc(list, func(c engine.Conflict) bool { return string(c.Operation) == operation })
		if i < 0 {
			return nil
		}
		return &list[i]
	}

	id, operation := create(by("alice"))
	within(t, "nantes makes it for alice", func() bool { return name(id) == "a" })
	if got := atNantes.seen("X-Remote-User"); !slices.Equal(got, []string{"alice"}) {
		t.Errorf("asked for %v", got)
	}
	api := func(a *Agent, method, path, body string) string {
		r := httptest.NewRequest(method, "http://"+a.cfg.API.Listen+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, r)
		return w.Body.String()
	}
	if b := api(nantes, "GET", "/api/v1/operations/"+operation, ""); !strings.Contains(b, `"as":"user"`) || !strings.Contains(b, `"user":"alice"`) {
		t.Errorf("nantes tells %s", b)
	}

	// Mallory may change it at paris, and not at nantes.
	paris.request(t, "PATCH", "/things/"+id, `{"name":"hers"}`, by("mallory"))
	within(t, "nantes asks for mallory", func() bool { return slices.Contains(atNantes.seen("X-Remote-User"), "mallory") })
	within(t, "and says that its application does not let that be done", func() bool {
		row, _ := nantes.core.Traffic().Lookup(t.Context(), kind, id)
		return row.Sites[self].State != engine.StateConverged && row.Sites[self].State != engine.StatePending
	})
	if name(id) != "a" {
		t.Error("mallory has changed it at nantes")
	}

	// Nobody is known to have asked for what has no header, or one that somebody else than the proxy has set.
	id, operation = create()
	within(t, "nantes holds what nobody is known to have asked for", func() bool { return held(operation) != nil })
	if c := held(operation); !strings.Contains(c.Reason, "nobody knows who did") || !strings.Contains(c.Reason, "as user") {
		t.Errorf("it says %q", c.Reason)
	}
	if name(id) != nil {
		t.Error("nantes has made it")
	}
	var e struct {
		Plan struct {
			Steps []struct{ Site, Accepts, As string }
		}
	}
	if err := json.Unmarshal([]byte(api(paris, "POST", "/api/v1/scope/explain", `{"service":"shelf","scope":"{shelf: paris & nantes}","method":"POST","path":"/things"}`)), &e); err != nil {
		t.Fatal(err)
	}
	if s := e.Plan.Steps; len(s) != 2 || s[1].Site != "nantes" || s[1].Accepts != "yes" || s[1].As != "user" {
		t.Errorf("the plan is %+v", s)
	}
	if b := api(nantes, "POST", "/api/v1/conflicts/"+string(held(operation).ID)+"/resolve", `{"action":"accept"}`); strings.Contains(b, "/problems/") {
		t.Fatal(b)
	}
	within(t, "what a person has let in is done", func() bool { return name(id) == "a" })

	// What paris' people decide for nantes would be done with the rights of its agent.
	if status, b := called(t, paris, nantes, "POST", "/api/v1/resources/"+id+"/restore", `{"path":"/name"}`); status != http.StatusForbidden || !strings.Contains(b, "not-accepted") {
		t.Errorf("%d %s", status, b)
	}

	before := len(atNantes.seen("X-Remote-User"))
	for _, h := range []string{"X-Remote-User: alice", "x_remote_user: alice"} {
		r := httptest.NewRequest("POST", "/things", strings.NewReader(`{"name":"own"}`))
		header, value, _ := strings.Cut(h, ": ")
		r.Header[header] = []string{value}
		nantes.handlers["shelf"].ServeHTTP(httptest.NewRecorder(), r)
		r = httptest.NewRequest("POST", "http://"+nantes.cfg.API.Listen+"/api/v1/requests", strings.NewReader(fmt.Sprintf(
			`{"service":"shelf","method":"POST","path":"/things","headers":{%q:%q},"body":{"name":"own"}}`, header, value)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		nantes.server.ServeHTTP(w, r)
	}
	if got := atNantes.seen("X-Remote-User"); len(got) != before || len(atNantes.seen("x_remote_user")) != 0 {
		t.Errorf("clients of nantes have said who they are: %v", got[before:])
	}
}
