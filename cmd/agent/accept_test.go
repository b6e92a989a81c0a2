package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// called has the agent of one site make a call to another's, as no honest one would.
func called(t *testing.T, from, to *Agent, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+string(to.core.Mesh.Self())+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := from.network.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestWhatASiteAccepts runs two agents. Nantes lets paris create and read, and nothing else: what paris changes and deletes is held at nantes,
// told at both sites, and never reaches its application; the calls that would go round that are refused. A person at nantes, and nobody
// else, lets one in. With other rules at its next start nantes lets the other in.
func TestWhatASiteAccepts(t *testing.T) {
	paris, _ := startSite(t, "paris", "")
	invitation, secret, err := paris.core.Mesh.Invite(t.Context(), time.Hour, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	join, folder := fmt.Sprintf(", join: %q", paris.token(invitation, secret)), t.TempDir()
	application := &shelf{things: map[string]map[string]any{}}
	nantes, stop := startIn(t, folder, "nantes", application, join, "accept: [{from: paris, operations: [create, read]}]")
	self := nantes.core.Mesh.Self()
	within(t, "the sites meet", func() bool {
		return paris.network.Status()[self].Reachable && nantes.network.Status()[paris.core.Mesh.Self()].Reachable
	})

	kind := paris.client.Kind("shelf", "thing")
	var ids, operations []string
	for _, name := range []string{"a", "b"} {
		resp := paris.request(t, "POST", "/things", fmt.Sprintf(`{"name":%q}`, name), "Scope: {shelf: paris & nantes}")
		if ids = append(ids, resp.Header.Get("Skerry-Resource")); resp.StatusCode != http.StatusCreated {
			t.Fatalf("created with %d", resp.StatusCode)
		}
		within(t, "nantes has made it", func() bool {
			row, _ := nantes.core.Traffic().Lookup(t.Context(), kind, ids[len(ids)-1])
			return row.Local != ""
		})
	}
	change := func(i int, method, body string) {
		resp := paris.request(t, method, "/things/"+ids[i], body)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s at paris: %d", method, resp.StatusCode)
		}
		operations = append(operations, resp.Header.Get("Skerry-Operation"))
	}
	change(0, "PATCH", `{"name":"changed"}`)
	change(1, "PATCH", `{"name":"changed"}`)
	conflicts := func(a *Agent) (list []engine.Conflict) {
		list, _, _ = a.store.Conflicts(t.Context(), engine.ConflictFilter{Kind: engine.ConflictNotAccepted, Site: self})
		return list
	}
	within(t, "both sites tell what nantes does not accept", func() bool { return len(conflicts(paris)) == 2 && len(conflicts(nantes)) == 2 })
	of := func(a *Agent, i int) engine.Conflict {
		for _, c := range conflicts(a) {
			if string(c.Operation) == operations[i] {
				return c
			}
		}
		return engine.Conflict{}
	}
	if c := of(paris, 0); !strings.Contains(c.Reason, "nantes does not accept change of shelf/thing (replication) from paris: accept, rule 1") {
		t.Errorf("paris is told %q", c.Reason)
	}
	row, err := nantes.core.Traffic().Lookup(t.Context(), kind, ids[0])
	if err != nil || row.Sites[self].State != engine.StateDegraded {
		t.Errorf("%+v, %v", row.Sites, err)
	}

	// What would go round the rules is refused; a request that is passed on, by paris' client and by paris' agent itself.
	if resp := paris.request(t, "DELETE", "/things/own", "", "Scope: {shelf: nantes}"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a delete at nantes: %d", resp.StatusCode)
	} else if b, _ := io.ReadAll(resp.Body); !bytes.Contains(b, []byte("/problems/not-accepted")) || !bytes.Contains(b, []byte("rule 1")) {
		t.Errorf("refused with %s", b)
	}
	for _, c := range engine.PeerCalls {
		method, path, ok := strings.Cut(c.Name, " /api/")
		if !ok || c.Does != engine.ActChange {
			continue
		}
		id := ids[0]
		switch c.In {
		case engine.InOperation:
			id = operations[0]
		case engine.InConflict:
			id = string(of(nantes, 0).ID)
		}
		path = "/api/" + strings.ReplaceAll(path, ":id", id)
		body := map[bool]string{true: `{"action":"accept"}`, false: `{"site":"nantes","path":"/name"}`}[c.In == engine.InConflict]
		if status, b := called(t, paris, nantes, method, path, body); status != http.StatusForbidden || !strings.Contains(b, "/problems/not-accepted") {
			t.Errorf("%s: %d %s", c.Name, status, b)
		}
	}
	post := func(a *Agent, path, body string) (int, string) {
		r := httptest.NewRequest("POST", "http://"+a.cfg.API.Listen+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	resolve := func(a *Agent, c engine.Conflict) (int, string) {
		return post(a, "/api/v1/conflicts/"+string(c.ID)+"/resolve", `{"action":"accept"}`)
	}
	// The dry run tells it before anything is done.
	for _, c := range []struct {
		request string
		want    []string // site, what it says, as whom
	}{
		{`"scope":"{shelf: paris & nantes}","method":"POST","path":"/things"`, []string{"paris yes caller", "nantes yes agent"}},
		{`"scope":"{shelf: nantes}","method":"GET","path":"/things/x"`, []string{"nantes yes caller"}},
		{`"scope":"{shelf: nantes}","method":"DELETE","path":"/things/x"`, []string{"nantes no caller"}},
		{`"scope":"{}","method":"PATCH","path":"/things/` + ids[1] + `"`, []string{"paris yes caller", "nantes no agent"}},
	} {
		status, b := post(paris, "/api/v1/scope/explain", `{"service":"shelf",`+c.request+`}`)
		var e struct {
			Plan struct {
				Steps []struct{ Site, Accepts, As, Why string }
			}
			Warnings []string
		}
		if err := json.Unmarshal([]byte(b), &e); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.request, status, b)
		}
		var got []string
		for _, s := range e.Plan.Steps {
			got = append(got, s.Site+" "+s.Accepts+" "+s.As)
		}
		if !slices.Equal(got, c.want) || strings.Contains(b, `"no"`) != strings.Contains(strings.Join(e.Warnings, "\n"), "accept, rule 1") {
			t.Errorf("%s: %v, want %v: %s", c.request, got, c.want, b)
		}
	}
	if status, b := resolve(paris, of(paris, 0)); status != http.StatusForbidden {
		t.Errorf("paris lets itself in: %d %s", status, b)
	}
	name := func(i int) any {
		row, _ := nantes.core.Traffic().Lookup(t.Context(), kind, ids[i])
		application.mu.Lock()
		defer application.mu.Unlock()
		return application.things[string(row.Local)]["name"]
	}
	if name(0) != "a" || name(1) != "b" {
		t.Errorf("nantes' application has %v and %v", name(0), name(1))
	}
	if status, b := resolve(nantes, of(nantes, 0)); status != http.StatusOK {
		t.Fatalf("a person at nantes lets it in: %d %s", status, b)
	}
	within(t, "what was let in is done", func() bool { return name(0) == "changed" })
	if name(1) != "b" {
		t.Error("the other one was let in along")
	}
	stop()

	nantes, _ = startIn(t, folder, "nantes", application, "", "accept: [{from: paris, operations: [create, change]}]")
	within(t, "other rules let the other one in", func() bool { return name(1) == "changed" && len(conflicts(nantes)) == 0 && len(conflicts(paris)) == 0 })
}
