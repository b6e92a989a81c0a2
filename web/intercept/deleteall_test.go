package intercept

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// shelf is an application that lists what it has, and deletes what it lists.
type shelf struct {
	app  *app
	ids  []string
	done []string // requests that deleted, in order
}

func (m *mesh) shelf(id engine.SiteID, items ...string) *shelf {
	s := &shelf{app: m.sites[id].app, ids: items}
	s.app.set(func(w http.ResponseWriter, r *http.Request) {
		s.app.mu.Lock()
		defer s.app.mu.Unlock()
		if r.Method == http.MethodDelete {
			s.done = append(s.done, r.URL.RequestURI())
			s.ids = nil
			w.WriteHeader(http.StatusAccepted)
			return
		}
		list := []map[string]string{}
		for _, id := range s.ids {
			if n := r.URL.Query().Get("name"); n == "" || n == id {
				list = append(list, map[string]string{"id": id})
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	return s
}

// deletes has the engine under test delete what it is asked to delete at the shelf of its site.
func (m *mesh) deletes(id engine.SiteID, s *shelf, refuse string) {
	site := m.sites[id]
	site.submit = func(r engine.Request) (engine.Answer, error) {
		row := site.resources[r.Target]
		if r.Target == refuse {
			return engine.Answer{}, &engine.Refusal{Status: 409, Type: "settled", Detail: "not now"}
		}
		s.app.mu.Lock()
		defer s.app.mu.Unlock()
		s.ids = slices.DeleteFunc(s.ids, func(i string) bool { return i == string(row.Local) })
		return engine.Answer{Status: 204, Operation: "op", Resource: row.ID, Site: id}, nil
	}
}

func TestADeleteOfACollectionIsOneOperationPerItem(t *testing.T) {
	m := newMesh(t)
	m.list = &glue.List{Deletes: true}
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	m.replicate("N", map[engine.SiteID]engine.LocalID{paris: "7", nantes: "43"})
	s := m.sites[paris]
	here := m.shelf(paris, "own", "6", "7")
	m.deletes(paris, here, "")
	targets := func() (list []string) {
		for _, r := range s.operations() {
			list = append(list, fmt.Sprint(r.Type, " ", r.Target, " ", r.Key))
		}
		return list
	}
	// What a query selects; nothing else is left, so the application is not asked.
	s.do("DELETE", "/images?name=6", "", "Idempotency-Key: k").want(t, 204, "Skerry-Site: paris")
	if got := targets(); !slices.Equal(got, []string{"delete M "}) || len(here.done) != 0 {
		t.Errorf("operations %q, the application deleted %q", got, here.done)
	}
	// What is replicated first, then the rest as it was asked for.
	s.do("DELETE", "/images?x=1", "").want(t, 202)
	if got := targets(); !slices.Equal(got, []string{"delete M ", "delete N "}) || !slices.Equal(here.done, []string{"/images?x=1"}) {
		t.Errorf("operations %q, the application deleted %q", got, here.done)
	}
}

func TestADeleteOfACollectionStopsAtWhatIsRefused(t *testing.T) {
	m := newMesh(t)
	m.list = &glue.List{Deletes: true}
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6"})
	m.replicate("N", map[engine.SiteID]engine.LocalID{paris: "7"})
	s := m.sites[paris]
	here := m.shelf(paris, "6", "7", "own")
	m.deletes(paris, here, "N")
	a := s.do("DELETE", "/images", "")
	a.problem(t, 409, "settled")
	if w := a.header.Get("Warning"); !strings.Contains(w, "1 of /images were deleted before N was refused") {
		t.Errorf("warns of %q", w)
	}
	if len(here.done) != 0 || !slices.Equal(here.ids, []string{"7", "own"}) {
		t.Errorf("the application was asked %q and has %q", here.done, here.ids)
	}
	// Others rely on one.
	m.deletes(paris, here, "")
	s.relying = map[string][]engine.ResourceRow{"N": {{ID: "S", Service: "servers", Kind: "server"}}}
	s.do("DELETE", "/images", "").problem(t, 409, "relied-on")
	s.do("DELETE", "/images", "", "Skerry-Force: relied-on").want(t, 202)
	// The list cannot be read.
	s.app.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	s.do("DELETE", "/images", "").problem(t, 502, "upstream")
}

func TestADeleteOfACollectionAtSeveralSites(t *testing.T) {
	m := newMesh(t)
	m.list = &glue.List{Deletes: true}
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	here, there := m.shelf(paris, "6", "own"), m.shelf(nantes, "42")
	m.deletes(paris, here, "")
	m.deletes(nantes, there, "")
	s.cut(nantes)
	s.do("DELETE", "/images", "", "Scope: paris & nantes").problem(t, 503, "unreachable")
	s.do("DELETE", "/images", "", "Scope: nantes").problem(t, 503, "unreachable")
	if len(s.operations())+len(here.done) != 0 {
		t.Error("something has happened")
	}
	s.down = map[engine.SiteID]bool{}
	s.do("DELETE", "/images", "", "Scope: paris & nantes").want(t, 204, "Skerry-Site: paris, nantes")
	if len(here.ids)+len(there.ids) != 0 || !slices.Equal(here.done, []string{"/images"}) || len(there.done) != 0 {
		t.Errorf("paris has %q after %q, nantes %q after %q", here.ids, here.done, there.ids, there.done)
	}
	there.ids = []string{"own"}
	s.do("DELETE", "/images", "", "Scope: nantes").want(t, 202)
	if !slices.Equal(there.done, []string{"/images"}) {
		t.Errorf("nantes was asked %q", there.done)
	}
}

// Without anything replicated it is the application's own affair.
func TestADeleteOfALocalCollectionPasses(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.do("DELETE", "/images?a", "").want(t, 200, "Skerry-Site: -")
	if got := s.app.asked(); len(got) != 1 || got[0].uri != "/images?a" {
		t.Errorf("asked %+v", got)
	}
}

// Nothing waits for a list that never ends: of one site it streams, of several it is refused.
func TestWatches(t *testing.T) {
	m := newMesh(t)
	m.list = &glue.List{Watch: "watch"}
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6"}) // so that answers are translated
	s := m.sites[paris]
	for _, site := range m.sites {
		site.app.set(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "true" || r.Header.Get("Accept") == "text/event-stream" || r.URL.Query().Has("tail") {
				w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "text/event-stream"}[r.URL.Query().Has("watch")])
				_, _ = w.Write([]byte("data: 1\n\n"))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				return
			}
			_, _ = w.Write([]byte("[]"))
		})
	}
	for _, c := range []struct{ path, header string }{{"/images?watch=true", "X: 1"}, {"/images", "Accept: application/json;q=0.5, text/event-stream"}, {"/images?tail", "X: 1"}} {
		s.do("GET", c.path, "", "Scope: paris & nantes", c.header).problem(t, 501, "watch")
		s.do("GET", c.path, "", "Scope: sync(nantes & lyon)", c.header).problem(t, 501, "watch")
	}
	s.do("GET", "/images?watch=false", "", "Scope: paris & nantes").want(t, 200)
	for _, scope := range []string{"", "paris", "nantes", "nantes ; paris"} {
		for _, path := range []string{"/images?watch=true", "/images?tail"} {
			r, _ := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
			r.Header.Set("Scope", scope)
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 9)
			if n, err := resp.Body.Read(b); err != nil || string(b[:n]) != "data: 1\n\n" {
				t.Errorf("%s %s: %q, %v", scope, path, b[:n], err)
			}
			resp.Body.Close()
		}
	}
}
