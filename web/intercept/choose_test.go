package intercept

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
			c.answers["a"], c.answers["b"] = c.fails(404, "none"), c.agentFails(503)
		}, 404, "a", "none", 0, []string{"a 0s", "b 0s"}},
		{"equals fail, then another", "a | b ; c", func(c *crowd) {
			c.answers["a"], c.answers["b"] = c.fails(500, "no"), c.agentFails(503)
		}, 200, "c", `[{"id":"c"}]`, 0, []string{"a 0s", "b 0s", "c 0s"}},
		{"equals are silent, then another", "a | b ; c", func(c *crowd) { c.answers["a"], c.answers["b"] = silent, silent },
			200, "c", `[{"id":"c"}]`, 5 * second, []string{"a 0s", "b 0s", "c 5s"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
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

func TestWritesGoToTheEngineWithAllAlternatives(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	for scope, want := range map[string]string{
		"nantes ; paris":          "[{[QmNantes]} {[QmParis]}]",
		"lyon | nantes":           "[{[QmNantes]} {[QmLyon]}]", // the nearest first
		"lyon | nantes | paris":   "[{[QmParis]} {[QmNantes]} {[QmLyon]}]",
		"lyon & nantes ; paris":   "[{[QmLyon QmNantes]} {[QmParis]}]",
		"lyon ; nantes | paris":   "[{[QmLyon]} {[QmParis]} {[QmNantes]}]",
		"nantes & paris | nantes": "[{[QmNantes QmParis]} {[QmNantes]}]",
	} {
		s.do("POST", "/images", `{"name":"x"}`, "Scope: "+scope).want(t, 201)
		all := s.operations()
		if got := fmt.Sprint(all[len(all)-1].Alternatives); got != want {
			t.Errorf("%s: the engine got %s, want %s", scope, got, want)
		}
	}
	s.cut(nantes)
	s.do("POST", "/images", `{"name":"x"}`, "Scope: nantes | lyon").want(t, 201)
	all := s.operations()
	if got := fmt.Sprint(all[len(all)-1].Alternatives); got != "[{[QmLyon]} {[QmNantes]}]" {
		t.Errorf("what cannot be reached comes last: %s", got)
	}
}

// A body that is not held goes to the first that can be reached, and on while nothing of it was sent.
func TestLargeWriteOfAlternatives(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	large := `{"name":"` + strings.Repeat("x", 80<<10) + `"}`
	s.do("POST", "/images", large, "Scope: nantes ; lyon").want(t, 200, "Skerry-Site: nantes")
	s.cut(nantes)
	s.do("POST", "/images", large, "Scope: nantes ; lyon").want(t, 200, "Skerry-Site: lyon")
	s.do("POST", "/reports", "text", "Scope: nantes ; lyon").want(t, 200, "Skerry-Site: lyon") // of no kind
	s.cut(lyon)
	s.do("POST", "/images", large, "Scope: nantes ; lyon").problem(t, 503, "unreachable")

	s = m.sites[lyon]
	s.mu.Lock()
	s.broken[nantes] = true // not known yet
	s.mu.Unlock()
	s.do("POST", "/images", large, "Scope: nantes ; lyon").want(t, 200, "Skerry-Site: lyon")
	if sent := s.app.asked(); len(sent) == 0 || sent[len(sent)-1].body != large {
		t.Error("the body did not arrive whole")
	}
}
