package mesh

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// questions lists what a site asks a person, by resource; more than one about a resource is an error.
func questions(t *testing.T, s *Site) map[engine.DocumentID]engine.Conflict {
	t.Helper()
	list, _, err := s.Disk.Conflicts(t.Context(), engine.ConflictFilter{Site: s.ID})
	if err != nil {
		t.Fatal(err)
	}
	asked := map[engine.DocumentID]engine.Conflict{}
	for _, c := range list {
		if before, ok := asked[c.Document]; ok {
			t.Errorf("%s asks twice about %s: %+v and %+v", s.Name, c.Resource, before, c)
		}
		asked[c.Document] = c
	}
	return asked
}

// TestInvariantRejoinRunsNothingAgain puts a site's disk back, with its application and without, after the site has done all sorts of
// things that other sites know of. Nothing of that runs by itself where it may have run before, nothing of it is lost, and a person is asked
// once about a resource of which nobody can tell: one on which an action has run.
func TestInvariantRejoinRunsNothingAgain(t *testing.T) {
	for _, application := range []bool{false, true} {
		t.Run(fmt.Sprintf("application too %v", application), func(t *testing.T) {
			m := open(t, Image, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			post := func(s *Site, body string) string {
				return string(must(t, 201)(submit(t.Context(), s, Image, "POST", "", body, paris, nantes)).Resource)
			}
			changed, deleted, started := post(paris, `{"n":1,"kept":1}`), post(nantes, `{"n":2}`), post(nantes, `{"n":3}`)
			converge(t, m, paris, nantes)
			b := nantes.Backup()
			must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", changed, `{"n":"own"}`))
			must(t, 200)(submit(t.Context(), paris, Image, "PATCH", changed, `{"other":true}`))
			must(t, 204)(submit(t.Context(), nantes, Image, "DELETE", deleted, ""))
			action := must(t, 200)(submit(t.Context(), nantes, Image, "START", started, "")).Operation
			post(nantes, `{"made":"at nantes"}`)
			post(paris, `{"made":"at paris"}`)
			converge(t, m, paris, nantes)
			want := paris.App.Objects()
			posts, ran := nantes.App.Count("POST"), len(nantes.App.actions)
			if application { // it has lost what two creates had made, as a look at where that was tells
				posts += 2
			}

			if err := nantes.SetBack(b, application); err != nil {
				t.Fatal(err)
			}
			m.rest(lookEvery)
			if n := len(nantes.App.actions); n != ran {
				t.Errorf("nantes ran %v", nantes.App.actions)
			}
			if n := nantes.App.Count("POST"); n != posts {
				t.Errorf("nantes was posted to %d times, want %d", n, posts)
			}
			sameObjects(t, want, paris.App.Objects())
			asked := questions(t, nantes)
			if len(asked) > 1 || len(asked) == 0 {
				t.Errorf("a person is asked %+v", asked)
			}
			for id, c := range asked {
				if !slices.Contains(c.Actions, engine.ActionRetry) && !slices.Contains(c.Actions, engine.ActionAdopt) && !slices.Contains(c.Actions, engine.ActionDone) {
					t.Errorf("about %s a person can decide nothing: %+v", id, c)
				}
				decide, local := engine.ActionRetry, engine.LocalID("")
				if c.Operation == action || c.Type == engine.TypeAction {
					decide = engine.ActionDone
				}
				if err := nantes.Resolve(t.Context(), c.ID, decide, local); err != nil {
					t.Errorf("%s %+v: %v", decide, c, err)
				}
			}
			converge(t, m, paris, nantes)
			sameObjects(t, want, nantes.App.Objects())
			sameObjects(t, want, paris.App.Objects())
			if n := eventTypes(t, nantes)["site.restored"]; n != 1 {
				t.Errorf("%d events tell of it", n)
			}
			// What the site does now travels, and is numbered on.
			must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", changed, `{"n":"after"}`))
			converge(t, m, paris, nantes)
			if err := nantes.Restart(); err != nil {
				t.Fatal(err)
			}
			if got := converge(t, m, paris, nantes); !slices.Contains(got, `{"kept":1,"n":"after","other":true}`) {
				t.Errorf("the sites show %v", got)
			}
		})
	}
}

// TestInvariantRejoinLosesNothing has a site whose disk was set back serve clients before it hears that it has lost anything.
func TestInvariantRejoinLosesNothing(t *testing.T) {
	for _, heard := range []string{"it hears first", "the others hear first"} {
		t.Run(heard, func(t *testing.T) {
			m := open(t, Image, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			id := string(must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes)).Resource)
			converge(t, m, paris, nantes)
			b := nantes.Backup()
			must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", id, `{"lost":1}`))
			must(t, 200)(submit(t.Context(), paris, Image, "PATCH", id, `{"theirs":1}`))
			converge(t, m, paris, nantes)
			m.Cut(nantes, true)
			if err := nantes.SetBack(b, false); err != nil {
				t.Fatal(err)
			}
			must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", id, `{"new":1}`))
			must(t, 200)(submit(t.Context(), paris, Image, "PATCH", id, `{"meanwhile":1}`))
			m.Cut(nantes, false)
			m.Lose()
			if heard == "it hears first" {
				nantes.pull(paris)
			} else {
				paris.pull(nantes)
			}
			converge(t, m, paris, nantes)
			for _, s := range m.Sites {
				sameObjects(t, []string{`{"lost":1,"meanwhile":1,"n":1,"new":1,"theirs":1}`}, s.App.Objects())
			}
		})
	}
}

// TestAnEmptiedSiteDeletesNothing loses all that a site's agent knew but its key, and lets it join anew.
func TestAnEmptiedSiteDeletesNothing(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	for i := range 3 {
		must(t, 201)(submit(t.Context(), paris, Image, "POST", "", fmt.Sprintf(`{"n":%d}`, i), paris, nantes))
	}
	converge(t, m, paris, nantes)
	posts := nantes.App.Count("POST")
	if err := nantes.Rejoin(); err != nil {
		t.Fatal(err)
	}
	converge(t, m, paris, nantes)
	if p, n := len(paris.App.Objects()), len(nantes.App.Objects()); p != 3 || n != 3 {
		t.Errorf("paris shows %d, nantes %d", p, n)
	}
	if n := paris.App.Count("DELETE") + nantes.App.Count("DELETE"); n != 0 {
		t.Errorf("%d were deleted", n)
	}
	if n := nantes.App.Count("POST"); n != posts {
		t.Errorf("nantes was posted to %d times, want %d", n, posts)
	}
}
