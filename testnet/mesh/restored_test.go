package mesh

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestRestoredFromABackup restores a site's data directory, with its application and without, after the site has done all
// sorts of things that other sites know of. It takes them back, nothing runs twice, nothing is lost, and a person is asked
// about the action.
func TestRestoredFromABackup(t *testing.T) {
	for _, application := range []bool{false, true} {
		t.Run(fmt.Sprintf("application too %v", application), func(t *testing.T) {
			m := open(t, Image, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			post := func(s *Site, body string) string {
				return string(must(t, 201)(submit(t.Context(), s, Image, "POST", "", body, paris, nantes)).Resource)
			}
			changed, deleted, started := post(paris, `{"n":1,"kept":1}`), post(nantes, `{"n":2}`), post(nantes, `{"n":3}`)
			converge(t, m, paris, nantes)
			b, err := nantes.Backup(t.Context(), filepath.Join(t.TempDir(), "backup"))
			if err != nil {
				t.Fatal(err)
			}
			must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", changed, `{"n":"own"}`))
			must(t, 200)(submit(t.Context(), paris, Image, "PATCH", changed, `{"other":true}`))
			must(t, 204)(submit(t.Context(), nantes, Image, "DELETE", deleted, ""))
			action := must(t, 200)(submit(t.Context(), nantes, Image, "START", started, "")).Operation
			post(nantes, `{"made":"at nantes"}`)
			post(paris, `{"made":"at paris"}`)
			converge(t, m, paris, nantes)
			want := paris.App.Objects()
			posts := nantes.App.Count("POST")
			if application { // two creates are sent again, for its application has lost what they made
				posts += 2
			}

			if err := nantes.SetBack(t.Context(), b, application); err != nil {
				t.Fatal(err)
			}
			st := await(t, m, nantes, action, engine.StateUncertain)
			if st.Error == "" {
				t.Error("it is not said why the action is uncertain")
			}
			eventually(t, m, "paris knows that the action is uncertain at nantes", func() error {
				row, err := paris.store.Operation(t.Context(), action)
				if err == nil && row.Sites[nantes.ID].State != engine.StateUncertain {
					err = fmt.Errorf("it says %+v", row.Sites[nantes.ID])
				}
				return err
			})
			if err := nantes.Done(t.Context(), action); err != nil {
				t.Fatal(err)
			}
			converge(t, m, paris, nantes)
			sameObjects(t, want, nantes.App.Objects())
			sameObjects(t, want, paris.App.Objects())
			if n := nantes.App.Count("POST"); n != posts {
				t.Errorf("nantes was posted to %d times, want %d", n, posts)
			}
			if n := eventTypes(t, nantes)["site.restored"]; n != 1 {
				t.Errorf("%d events tell of the restoration", n)
			}
			for _, s := range paris.Members() {
				if s.ID == nantes.ID && s.Restored.IsZero() {
					t.Error("paris does not know that nantes was restored")
				}
			}
			// What the site does now travels, and is numbered anew.
			must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", changed, `{"n":"after"}`))
			converge(t, m, paris, nantes)
			if err := nantes.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			converge(t, m, paris, nantes)
			sameObjects(t, paris.App.Objects(), nantes.App.Objects())
			if n := nantes.App.Count("POST"); n != posts {
				t.Errorf("after a restart nantes was posted to %d times, want %d", n, posts)
			}
		})
	}
}

// TestRestoredWhileCutOff serves clients before it hears that it has lost anything.
func TestRestoredWhileCutOff(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	id := string(must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes)).Resource)
	converge(t, m, paris, nantes)
	b, err := nantes.Backup(t.Context(), filepath.Join(t.TempDir(), "backup"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", id, `{"lost":1}`))
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", id, `{"theirs":1}`))
	converge(t, m, paris, nantes)
	m.Cut(nantes, true)
	if err := nantes.SetBack(t.Context(), b, true); err != nil {
		t.Fatal(err)
	}
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", id, `{"new":1}`))
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", id, `{"meanwhile":1}`))
	m.Cut(nantes, false)
	converge(t, m, paris, nantes)
	for _, s := range m.Sites {
		sameObjects(t, []string{`{"lost":1,"meanwhile":1,"n":1,"new":1,"theirs":1}`}, s.App.Objects())
	}
}

// TestAnEmptiedSiteDeletesNothing loses all that a site's agent knew, its key included or not, and lets it join anew.
func TestAnEmptiedSiteDeletesNothing(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		t.Run(fmt.Sprintf("keeps its key %v", keeps), func(t *testing.T) {
			m := open(t, Image, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			for i := range 3 {
				must(t, 201)(submit(t.Context(), paris, Image, "POST", "", fmt.Sprintf(`{"n":%d}`, i), paris, nantes))
			}
			converge(t, m, paris, nantes)
			posts := nantes.App.Count("POST")
			if err := nantes.Rejoin(t.Context(), keeps); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if err := m.Reconcile(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if keeps {
				converge(t, m, paris, nantes)
			}
			if p, n := len(paris.App.Objects()), len(nantes.App.Objects()); p != 3 || n != 3 {
				t.Errorf("paris shows %d, nantes %d", p, n)
			}
			if n := paris.App.Count("DELETE") + nantes.App.Count("DELETE"); n != 0 {
				t.Errorf("%d were deleted", n)
			}
			if n := nantes.App.Count("POST"); n != posts {
				t.Errorf("nantes was posted to %d times, want %d", n, posts)
			}
		})
	}
}

// TestCloned starts two agents from one data directory: both find out, through another site, and stop writing. When one of
// them has gone, the other goes on after a restart.
func TestCloned(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	id := string(must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes)).Resource)
	converge(t, m, paris, nantes)
	clone, err := nantes.Clone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	both := []*Site{nantes, clone}
	exchange := func() {
		for _, s := range both { // the two have one name on the network: they meet at paris only
			for _, err := range []error{paris.pull(t.Context(), s), s.pull(t.Context(), paris)} {
				if err != nil && !errors.Is(err, engine.ErrCloned) {
					t.Fatal(err)
				}
			}
		}
	}
	for range 5 {
		exchange()
	}
	for i, s := range both {
		var refusal *engine.Refusal
		if _, err := submit(t.Context(), s, Image, "PATCH", id, `{"n":2}`); !errors.As(err, &refusal) || refusal.Type != "cloned" || refusal.Status != 503 {
			t.Errorf("agent %d goes on writing: %v", i, err)
		}
		if s.Writable() == nil {
			t.Errorf("agent %d says that it may write", i)
		}
		if n := eventTypes(t, s)["site.cloned"]; n != 1 {
			t.Errorf("agent %d has %d events of it", i, n)
		}
	}
	for _, s := range paris.Members() {
		if s.ID == nantes.ID && !s.Cloned {
			t.Error("paris does not know that nantes was cloned")
		}
	}
	both = both[:1]
	m.Sites = m.Sites[:2]
	clone.stop()
	if err := errors.Join(clone.store.Close(), os.RemoveAll(clone.dir)); err != nil {
		t.Fatal(err)
	}
	if err := nantes.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", id, `{"n":3}`))
	converge(t, m, paris, nantes)
	for _, s := range paris.Members() {
		if s.ID == nantes.ID && s.Cloned {
			t.Error("paris still says that nantes is cloned")
		}
	}
}

// sameObjects checks that two applications hold the same objects.
func sameObjects(t *testing.T, want, got []string) {
	t.Helper()
	w, g := slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))
	if !slices.Equal(w, g) {
		t.Errorf("the application holds %v, want %v", g, w)
	}
}
