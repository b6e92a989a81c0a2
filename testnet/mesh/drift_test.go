package mesh

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// awaitStates reconciles until every site says of the one resource what ok asks for.
func awaitStates(t *testing.T, m *Mesh, what string, ok func(*Site, engine.ResourceRow) bool) {
	t.Helper()
	until(t, m, func() string {
		all := true
		var said []string
		for _, s := range m.Sites {
			rows, _, err := s.Disk.Resources(t.Context(), engine.ResourceFilter{})
			if err != nil || len(rows) != 1 {
				t.Fatal(rows, err)
			}
			all = all && ok(s, rows[0])
			said = append(said, fmt.Sprintf("%s says %s: %s", s.Name, rows[0].State, rows[0].Reason))
		}
		if all {
			return ""
		}
		return fmt.Sprintf("not %s: %s", what, strings.Join(said, "; "))
	})
}

// local is what the application of a site calls the one resource.
func local(t *testing.T, s *Site) string {
	t.Helper()
	rows, _, err := s.Disk.Resources(t.Context(), engine.ResourceFilter{})
	if err != nil || len(rows) != 1 || rows[0].Local == "" {
		t.Fatal(rows, err)
	}
	return string(rows[0].Local)
}

// TestDriftIsSeen changes a replica behind the agent: a set field, one that nobody has set, and the whole object. Every site
// says where and why, until the application shows again what it did.
func TestDriftIsSeen(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n","size":1}`, m.Sites...))
	converge(t, m, m.Sites...)
	events := eventsOf(t, paris, "resource.drifted")
	for _, c := range []struct {
		name   string
		value  any
		before any
		reason string
	}{
		{"size", 2, 1, "site1: changed behind the agent: shows another /size than was set, unlike site0"},
		{"mood", "bad", nil, "site1: changed behind the agent: shows something else, unlike site0"},
	} {
		nantes.App.Change(local(t, nantes), c.name, c.value)
		if err := paris.Check(t.Context(), documentOf(t, paris)); err != nil {
			t.Fatal(err)
		}
		awaitStates(t, m, "degraded", func(s *Site, r engine.ResourceRow) bool {
			return r.State == engine.StateDegraded && r.Reason == c.reason && r.Sites[nantes.ID].Drifted && !r.Sites[paris.ID].Drifted
		})
		if c.before == nil {
			delete(nantes.App.objects[local(t, nantes)], c.name)
		} else {
			nantes.App.Change(local(t, nantes), c.name, c.before)
		}
		m.rest(2*lookEvery + time.Minute)
		converge(t, m, m.Sites...) // without being asked: a site looks again now and then
	}
	if n := eventsOf(t, paris, "resource.drifted") - events; n != 2 {
		t.Errorf("paris has told of drift %d times, want 2", n)
	}
}

// TestAnApplicationMayNormalise lets every application write names small: all show the same, which is not what was set.
// When only one has that habit, the sites differ.
func TestAnApplicationMayNormalise(t *testing.T) {
	small := func(o map[string]any) { o["name"] = strings.ToLower(o["name"].(string)) }
	for _, one := range []bool{false, true} {
		m := open(t, Image, 2)
		paris, nantes := m.Sites[0], m.Sites[1]
		nantes.App.Habit(small)
		if !one {
			paris.App.Habit(small)
		}
		must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"Debian"}`, m.Sites...))
		if !one {
			if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"debian"}`}) {
				t.Errorf("the sites show %v", got)
			}
			continue
		}
		awaitStates(t, m, "degraded", func(_ *Site, r engine.ResourceRow) bool {
			return r.State == engine.StateDegraded && r.Reason == "site1: shows another /name than was set, unlike site0"
		})
	}
}

// TestNobodyConvergesUnseen keeps one application from being read: the resource is not converged before every site has
// looked, and it is said why. After a restart the look that was due is taken up.
func TestNobodyConvergesUnseen(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Blind(true)
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	awaitStates(t, m, "under way", func(s *Site, r engine.ResourceRow) bool {
		why := r.Sites[nantes.ID].Reason
		return r.State == engine.StateConverging && strings.HasPrefix(why, "not looked at yet") && (s != nantes || strings.Contains(why, "it answered 503"))
	})
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	nantes.App.Blind(false)
	converge(t, m, m.Sites...)
}

// TestAVanishedObjectIsMadeAnew deletes a replica behind the agent: a change finds it gone, or a look does. The object is made
// anew from the fold, as every site can tell.
func TestAVanishedObjectIsMadeAnew(t *testing.T) {
	for _, kind := range []*engine.Kind{Image, natural} {
		m := open(t, kind, 2)
		paris, nantes := m.Sites[0], m.Sites[1]
		method, id := "POST", ""
		if kind == natural {
			method, id = "PUT", "x"
		}
		a := must(t, 201)(submit(t.Context(), paris, kind, method, id, `{"name":"n","size":1}`, m.Sites...))
		must(t, 200)(submit(t.Context(), paris, kind, "PATCH", string(a.Resource), `{"size":2}`))
		converge(t, m, m.Sites...)
		want := []string{`{"name":"n","size":2}`}
		nantes.App.Put(local(t, nantes), nil)
		if err := paris.Check(t.Context(), documentOf(t, paris)); err != nil {
			t.Fatal(err)
		}
		awaitStates(t, m, "made anew", func(_ *Site, r engine.ResourceRow) bool {
			return r.State == engine.StateConverged && slices.Equal(shown(nantes), want)
		})
		nantes.App.Put(local(t, nantes), nil)
		b := must(t, 200)(submit(t.Context(), paris, kind, "PATCH", string(a.Resource), `{"size":3}`))
		want[0] = `{"name":"n","size":3}`
		if got := converge(t, m, m.Sites...); !slices.Equal(got, want) {
			t.Errorf("the sites show %v, want %v", got, want)
		}
		await(t, m, nantes, b.Operation, engine.StateApplied)
		// The site whose own client asks finds out as well.
		paris.App.Put(local(t, paris), nil)
		must(t, 404)(submit(t.Context(), paris, kind, "PATCH", string(a.Resource), `{"size":4}`))
		awaitStates(t, m, "made anew", func(_ *Site, r engine.ResourceRow) bool {
			return r.State == engine.StateConverged && slices.Equal(shown(paris), want)
		})
	}
}

// TestARepairThatDoesNotLastIsContention deletes an object again and again: after three repairs the site leaves it and says
// so, also over a restart, until a person decides.
func TestARepairThatDoesNotLastIsContention(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"name":"n"}`, m.Sites...))
	for range 3 {
		converge(t, m, m.Sites...)
		nantes.App.Put("x", nil)
		if err := nantes.Check(t.Context(), documentOf(t, nantes)); err != nil {
			t.Fatal(err)
		}
		awaitStates(t, m, "made anew", func(*Site, engine.ResourceRow) bool { return len(shown(nantes)) == 1 })
	}
	converge(t, m, m.Sites...)
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	nantes.App.Put("x", nil)
	if err := nantes.Check(t.Context(), documentOf(t, nantes)); err != nil {
		t.Fatal(err)
	}
	contended := func(_ *Site, r engine.ResourceRow) bool {
		return r.State == engine.StateConflict && strings.HasPrefix(r.Reason, "site1: it was made anew 3 times within 10m0s and was gone")
	}
	awaitStates(t, m, "contended", contended)
	must(t, 200)(submit(t.Context(), paris, natural, "PATCH", "x", `{"size":1}`)) // and what comes then changes nothing of that
	awaitStates(t, m, "contended", contended)
	if n := nantes.App.Count("PUT"); n != 4 || len(shown(nantes)) != 0 {
		t.Errorf("nantes was asked %d times for the object and has %v", n, shown(nantes))
	}
	if _, err := paris.Keep(t.Context(), documentOf(t, paris), ""); err != nil {
		t.Fatal(err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n","size":1}`}) {
		t.Errorf("the sites show %v", got)
	}
}

// TestKeepASite keeps what one application shows, of the site that drifted or of another: all show it then, fields that no
// client has set too. What is repaired again and again is refused, until it is forced.
func TestKeepASite(t *testing.T) {
	patching := *Image
	patching.MergePatch = true
	for _, kind := range []*engine.Kind{Image, &patching} {
		m := open(t, kind, 2)
		paris, nantes := m.Sites[0], m.Sites[1]
		a := must(t, 201)(submit(t.Context(), paris, kind, "POST", "", `{"name":"n","size":1,"old":true}`, m.Sites...))
		converge(t, m, m.Sites...)
		document := documentOf(t, paris)
		drift := func() {
			t.Helper()
			if err := paris.Check(t.Context(), document); err != nil {
				t.Fatal(err)
			}
			awaitStates(t, m, "degraded", func(_ *Site, r engine.ResourceRow) bool {
				return r.State == engine.StateDegraded || r.State == engine.StateConflict
			})
		}
		nantes.App.Put(local(t, nantes), map[string]any{"name": "n", "size": 2, "mood": "good"})
		drift()
		if c := conflictAt(t, m, paris, engine.ConflictDrift); c.Site != nantes.ID || !strings.Contains(c.Reason, "/old, /size") {
			t.Errorf("paris lists %+v", c)
		}
		if _, err := nantes.Keep(t.Context(), document, "alice"); err != nil {
			t.Fatal(err)
		}
		if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"mood":"good","name":"n","size":2}`}) {
			t.Errorf("the sites show %v, want what nantes showed", got)
		}
		nantes.App.Change(local(t, nantes), "size", 3)
		drift()
		must(t, 200)(submit(t.Context(), nantes, kind, "PATCH", string(a.Resource), `{"tag":1}`))
		if _, err := paris.Keep(t.Context(), document, ""); err != nil {
			t.Fatal(err)
		}
		if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"mood":"good","name":"n","size":2,"tag":1}`}) {
			t.Errorf("the sites show %v, want what paris showed", got)
		}
		for range 2 {
			nantes.App.Change(local(t, nantes), "size", 4)
			drift()
			if _, err := paris.Keep(t.Context(), document, ""); err != nil {
				var refusal *engine.Refusal
				if !errors.As(err, &refusal) || refusal.Type != "contention" {
					t.Fatal(err)
				}
				break
			}
			converge(t, m, m.Sites...)
		}
		awaitStates(t, m, "contended", func(_ *Site, r engine.ResourceRow) bool {
			return r.State == engine.StateConflict && strings.HasPrefix(r.Reason, "site1: it was repaired 3 times within 10m0s")
		})
		if err := paris.Resolve(t.Context(), conflictAt(t, m, paris, engine.ConflictContention).ID, engine.ActionKeep, ""); err != nil {
			t.Fatal(err)
		}
		noConflict(t, m, m.Sites...)
		converge(t, m, m.Sites...)
	}
}

// TestWhatADeleteHasTakenAwayHasNotVanished loses the answer to a delete. What it has taken away is not made anew, and it counts
// everywhere once a look has told that it has happened.
func TestWhatADeleteHasTakenAwayHasNotVanished(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	awaitStates(t, m, "converged", func(_ *Site, row engine.ResourceRow) bool { return row.State == engine.StateConverged })
	id := document(t, paris, a.Resource)
	paris.App.Inject(append([]Fault{DoesAndFails}, slices.Repeat([]Fault{Fails}, 20)...)...)
	_, err := submit(t.Context(), paris, Image, "DELETE", string(a.Resource), "")
	refusal := wantRefusal(t, err, http.StatusGatewayTimeout)
	if err := paris.Check(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	await(t, m, paris, refusal.Operation, engine.StateApplied)
	m.rest(2*lookEvery + time.Minute)
	if got := converge(t, m, m.Sites...); len(got) != 0 || paris.App.Count("POST") != 1 {
		t.Errorf("the sites show %v, made %d times", got, paris.App.Count("POST"))
	}
}
