package intercept

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// fails answers as an application that has failed, or that does not have what is asked for.
func (c *crowd) fails(status int, body string) func(context.Context) (*http.Response, error) {
	return func(context.Context) (*http.Response, error) { return c.response(status, "text/plain", body), nil }
}

func (c *crowd) agentFails(status int) func(context.Context) (*http.Response, error) {
	return func(context.Context) (*http.Response, error) {
		return c.response(status, "application/problem+json", `{"type":"/problems/unreachable"}`), nil
	}
}

func TestReadOfAlternatives(t *testing.T) {
	second := time.Second
	for _, x := range []struct {
		name, scope string
		set         func(*crowd)
		status      int
		site, body  string
		took        time.Duration
		asked       []string
	}{
		{"the first", "b ; a", func(*crowd) {}, 200, "b", `[{"id":"b"}]`, 0, []string{"b 0s"}},
		{"the first has failed", "b ; a", func(c *crowd) { c.answers["b"] = c.fails(500, "no") }, 200, "a", `[{"id":"a"}]`, 0, []string{"b 0s", "a 0s"}},
		{"the first cannot be reached", "b ; a", func(c *crowd) { c.back["b"] = time.Now().Add(time.Hour) }, 200, "a", `[{"id":"a"}]`, 0, []string{"a 0s"}},
		{"the first is silent", "b ; a", func(c *crowd) { c.answers["b"] = silent }, 200, "a", `[{"id":"a"}]`, 5 * second, []string{"b 0s", "a 5s"}},
		{"the first does not have it", "b ; a", func(c *crowd) { c.answers["b"] = c.fails(404, "none") }, 404, "b", "none", 0, []string{"b 0s"}},
		{"the first is slow", "b ; a", func(c *crowd) { c.answers["b"] = c.says(4*second, "b") }, 200, "b", `[{"id":"b"}]`, 4 * second, []string{"b 0s"}},
		{"an application tells more than an agent", "b ; a", func(c *crowd) {
			c.answers["b"], c.answers["a"] = c.fails(500, "no"), c.agentFails(503)
		}, 500, "b", "no", 0, []string{"b 0s", "a 0s"}},
		{"the last may be silent for long", "b ; a", func(c *crowd) {
			c.answers["b"], c.answers["a"] = c.agentFails(503), c.says(20*second, "a")
		}, 200, "a", `[{"id":"a"}]`, 20 * second, []string{"b 0s", "a 0s"}},
		{"replicas, then one", "b & c ; a", func(c *crowd) {
			c.answers["b"], c.answers["c"] = c.agentFails(503), c.agentFails(503)
		}, 200, "a", `[{"id":"a"}]`, 0, []string{"b 0s", "c 0s", "a 0s"}},

		{"equals are asked at once", "a | b | c", func(c *crowd) {
			c.answers["a"], c.answers["b"] = c.says(3*second, "a"), c.says(2*second, "b")
			c.answers["c"] = c.says(second, "c")
		}, 200, "c", `[{"id":"c"}]`, second, []string{"a 0s", "b 0s", "c 0s"}},
		{"a failure does not win", "a | b", func(c *crowd) {
			c.answers["a"], c.answers["b"] = c.fails(503, "no"), c.says(second, "b")
		}, 200, "b", `[{"id":"b"}]`, second, []string{"a 0s", "b 0s"}},
		{"what one does not have another may", "a | b", func(c *crowd) {
			c.answers["a"], c.answers["b"] = c.fails(404, "none"), c.says(second, "b")
		}, 200, "b", `[{"id":"b"}]`, second, []string{"a 0s", "b 0s"}},
		{"nobody has it", "a | b", func(c *crowd) {
			c.answers["a"], c.answers["b"] = c.fails(404, "none"), c.fails(404, "none")
		}, 404, "a", "none", 0, []string{"a 0s", "b 0s"}},
		{"nobody knows whether one has it", "a | b", func(c *crowd) {
			c.answers["a"], c.answers["b"] = c.fails(404, "none"), c.agentFails(503)
		}, 503, "b", `{"type":"/problems/unreachable"}`, 0, []string{"a 0s", "b 0s"}},
		{"equals fail, then another", "a | b ; c", func(c *crowd) {
			c.answers["a"], c.answers["b"] = c.fails(500, "no"), c.agentFails(503)
		}, 200, "c", `[{"id":"c"}]`, 0, []string{"a 0s", "b 0s", "c 0s"}},
		{"equals are silent, then another", "a | b ; c", func(c *crowd) { c.answers["a"], c.answers["b"] = silent, silent },
			200, "c", `[{"id":"c"}]`, 5 * second, []string{"a 0s", "b 0s", "c 5s"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCrowd(t, "a", "b", "c")
				x.set(c)
				a, took := c.do("GET", "/images/M", x.scope)
				slices.Sort(c.asked) // at one moment in any order
				slices.Sort(x.asked)
				c.wasAsked(x.asked...)
				if a.want(t, x.status, "Skerry-Site: "+x.site); a.body != x.body || took != x.took {
					t.Errorf("after %v: %s", took, a.body)
				}
			})
		})
	}
}

// Those that have not won are given up: nobody works for nothing.
func TestEqualsThatLoseAreGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrowd(t, "a", "b", "c")
		c.answers["a"], c.answers["b"] = silent, silent
		a, _ := c.do("GET", item, "a | b | c")
		a.want(t, 200, "Skerry-Site: c")
		if gone := slices.Sorted(slices.Values(c.gone)); !slices.Equal(gone, []engine.SiteID{"a", "b"}) {
			t.Errorf("given up were %v", gone)
		}
	})
}

func TestReadHereOtherwiseElsewhere(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	s.do("GET", "/images", "", "Scope: paris ; nantes").want(t, 200, "Skerry-Site: paris")
	s.app.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	s.do("GET", "/images", "", "Scope: paris ; nantes").want(t, 200, "Skerry-Site: nantes")
	s.do("GET", "/about", "", "Scope: lyon | paris").want(t, 200, "Skerry-Site: lyon") // of no kind
	s.cut(nantes)
	s.do("GET", "/images", "", "Scope: paris ; nantes").want(t, 500, "Skerry-Site: paris")
}

func placements(all []engine.Alternative) string {
	var list [][]engine.SiteID
	for _, a := range all {
		list = append(list, a.Placement)
	}
	return fmt.Sprint(list)
}

func TestWritesGoToTheEngineWithAllAlternatives(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	for scope, want := range map[string]string{
		"nantes ; paris":          "[[QmNantes] [QmParis]]",
		"lyon | nantes":           "[[QmNantes] [QmLyon]]", // the nearest first
		"lyon | nantes | paris":   "[[QmParis] [QmNantes] [QmLyon]]",
		"lyon & nantes ; paris":   "[[QmLyon QmNantes] [QmParis]]",
		"lyon ; nantes | paris":   "[[QmLyon] [QmParis] [QmNantes]]",
		"nantes & paris | nantes": "[[QmNantes QmParis] [QmNantes]]",
	} {
		s.do("POST", "/images", `{"name":"x"}`, "Scope: "+scope).want(t, 201)
		all := s.operations()
		if got := placements(all[len(all)-1].Alternatives); got != want {
			t.Errorf("%s: the engine got %s, want %s", scope, got, want)
		}
	}
	s.cut(nantes)
	s.do("POST", "/images", `{"name":"x"}`, "Scope: nantes | lyon").want(t, 201)
	all := s.operations()
	if got := placements(all[len(all)-1].Alternatives); got != "[[QmLyon] [QmNantes]]" {
		t.Errorf("what cannot be reached comes last: %s", got)
	}
}

// What is of no kind goes to the first that can be reached, and on while nothing of it was sent. A large body of a kind goes
// where the engine says, like any.
func TestLargeWriteOfAlternatives(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	large := strings.Repeat("x", 80<<10)
	s.do("POST", "/reports", large, "Scope: nantes ; lyon").want(t, 200, "Skerry-Site: nantes")
	s.cut(nantes)
	s.do("POST", "/reports", large, "Scope: nantes ; lyon").want(t, 200, "Skerry-Site: lyon")
	s.do("POST", "/images", large, "Scope: nantes ; lyon").want(t, 201)
	all := s.operations()
	if last := all[len(all)-1]; last.Large == nil || s.large != large || placements(last.Alternatives) != "[[QmNantes] [QmLyon]]" {
		t.Errorf("the engine got %+v", last)
	}
	s.cut(lyon)
	s.do("POST", "/reports", large, "Scope: nantes ; lyon").problem(t, 503, "unreachable")

	s = m.sites[lyon]
	s.mu.Lock()
	s.broken[nantes] = true // not known yet
	s.mu.Unlock()
	s.do("POST", "/reports", large, "Scope: nantes ; lyon").want(t, 200, "Skerry-Site: lyon")
	if sent := s.app.asked(); len(sent) == 0 || sent[len(sent)-1].body != large {
		t.Error("the body did not arrive whole")
	}
}

func TestReadsThatSitesAgreeOn(t *testing.T) {
	second := time.Second
	for _, x := range []struct {
		name, scope string
		set         func(*crowd)
		status      int
		body        string
		took        time.Duration
	}{
		{"a majority", "quorum(a & b & c)", func(c *crowd) { c.answers["b"] = c.says(0, "other") }, 200, `[{"id":"a"}]`, second},
		{"all", "sync(a & b & c)", func(*crowd) {}, 200, `[{"id":"a"}]`, second},
		{"not all", "sync(a & b & c)", func(c *crowd) { c.answers["b"] = c.says(0, "other") }, 503, "", second},
		{"no two", "quorum(a & b & c)", func(c *crowd) { c.answers["b"], c.answers["c"] = c.says(0, "b"), c.says(0, "c") }, 503, "", 0},
		{"the third is not waited for", "quorum(a & b & c)", func(c *crowd) { c.answers["b"] = c.says(20*second, "a") }, 200, `[{"id":"a"}]`, second},
		{"a failure is no answer", "quorum(a & b & c)", func(c *crowd) { c.answers["a"], c.answers["b"] = c.fails(500, "no"), c.fails(500, "no") }, 503, "", second},
		{"not there", "quorum(a & b & c)", func(c *crowd) { c.answers["a"], c.answers["b"] = c.fails(404, "no"), c.fails(404, "nothing") }, 404, "no", 0},
		{"too few can be reached", "quorum(a & b & c)", func(c *crowd) {
			c.back["a"], c.back["b"] = time.Now().Add(time.Hour), time.Now().Add(time.Hour)
		}, 503, "", 0},
		{"one is enough for one", "quorum(a)", func(*crowd) {}, 200, `[{"id":"a"}]`, 0},
		{"no majority, then another", "quorum(b & c) ; a", func(c *crowd) { c.answers["b"] = unreachable }, 200, `[{"id":"a"}]`, second},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCrowd(t, "a", "b", "c")
				c.answers["b"], c.answers["c"] = c.says(0, "a"), c.says(second, "a")
				x.set(c)
				a, took := c.do("GET", "/images/M", x.scope)
				if a.want(t, x.status); x.status == 200 && a.body != x.body || took > x.took {
					t.Errorf("after %v: %s", took, a.body)
				}
				if x.status == 503 {
					a.problem(t, 503, "unreachable")
				}
			})
		})
	}
}

// Identifiers and ignored fields may differ.
func TestAgreementIsOnWhatReplicasShare(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	for id, body := range map[engine.SiteID]string{paris: `{"id":"1","size":1.0}`, nantes: `{"size":1, "id":"2"}`, lyon: `{"id":"3","size":2}`} {
		m.sites[id].app.set(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		})
	}
	a := s.do("GET", "/images/x", "", "Scope: quorum(*)")
	if a.want(t, 200); !strings.Contains(a.body, "1") {
		t.Errorf("%s", a.body)
	}
	s.do("GET", "/images/x", "", "Scope: sync(*)").problem(t, 503, "unreachable")
	s.do("POST", "/images", `{}`, "Scope: sync(nantes & paris)", "Prefer: wait=3").want(t, 201)
	if got := s.operations()[0]; got.Agreement != engine.AgreeSync || got.Wait != 3*time.Second {
		t.Errorf("the engine got %+v", got)
	}
}

func TestListsThatEnoughSitesGive(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	for _, site := range m.sites {
		site.app.set(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[{"id":"x"}]`)) })
	}
	s.do("GET", "/images", "", "Scope: sync(*)").want(t, 200)
	s.cut(lyon)
	s.do("GET", "/images", "", "Scope: quorum(*)").want(t, 200, "Skerry-Missing: lyon")
	s.do("GET", "/images", "", "Scope: sync(*)").problem(t, 503, "unreachable")
}

func TestZonesAndNeighbourhoodsInScopes(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	for scope, want := range map[string]string{
		"west ; lyon":         "[[QmNantes QmParis] [QmLyon]]",
		"around(paris, 5ms)":  "[[QmParis] [QmNantes]]",
		"around(paris, 10ms)": "[[QmParis] [QmNantes] [QmLyon]]",
		"around(nantes, 1s)":  "[[QmNantes] [QmLyon]]", // 30 ms from each other; how far paris is from there nobody has told
	} {
		s.do("POST", "/images", `{"name":"x"}`, "Scope: "+scope).want(t, 201)
		all := s.operations()
		if got := placements(all[len(all)-1].Alternatives); got != want {
			t.Errorf("%s: the engine got %s, want %s", scope, got, want)
		}
	}
}
