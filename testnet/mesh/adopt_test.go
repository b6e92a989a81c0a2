package mesh

import (
	"errors"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAnExistingObjectIsAdopted makes resources of objects that one site has: the other sites make them. An identifier that is free is
// kept; a number is not one, since it means another object at the next site.
func TestAnExistingObjectIsAdopted(t *testing.T) {
	ignoring := *withFile
	ignoring.Ignore = []engine.Pointer{"/seen"}
	for id, keeps := range map[string]bool{"debian": true, "17": false} {
		m := open(t, &ignoring, 3)
		paris, nantes := m.Sites[0], m.Sites[1]
		paris.App.Put(id, map[string]any{"name": "n", "size": 1, "seen": 7})
		nantes.App.Put("17", map[string]any{"name": "other"})
		q := engine.AdoptRequest{Kind: &ignoring, ID: engine.LocalID(id), Sites: ids(paris, nantes)}
		key, first, err := paris.AdoptExisting(t.Context(), q)
		if err != nil || first == "" || (string(key) == id) != keeps {
			t.Fatalf("%s is adopted as %q by %q, %v", id, key, first, err)
		}
		shows(t, m, nantes, `{"name":"n","size":1}`)
		if again, nothing, err := paris.AdoptExisting(t.Context(), q); err != nil || again != key || nothing != "" {
			t.Errorf("adopted again: %q %q, %v", again, nothing, err)
		}
		if names := placement(t, paris, key); !slices.Equal(names, []engine.SiteName{paris.Name, nantes.Name}) {
			t.Errorf("it lives at %v", names)
		}
		// It is a resource like any other.
		must(t, 200)(submit(t.Context(), nantes, &ignoring, "PATCH", string(key), `{"size":2}`))
		shows(t, m, paris, `{"name":"n","seen":7,"size":2}`)
		if _, _, err := paris.AdoptExisting(t.Context(), engine.AdoptRequest{Kind: &ignoring, ID: "none", Sites: ids(paris, nantes)}); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("an object that is not there: %v", err)
		}
	}
}

// TestAdoptedTwiceAtOnce has one object adopted by several requests at a time: it becomes one resource.
func TestAdoptedTwiceAtOnce(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	paris.App.Put("17", map[string]any{"name": "n"})
	done := make(chan error)
	for range 4 {
		go func() {
			_, _, err := paris.AdoptExisting(t.Context(), engine.AdoptRequest{Kind: Image, ID: "17", Sites: ids(m.Sites...)})
			done <- err
		}()
	}
	adopted := 0
	for range 4 {
		err := <-done
		var refusal *engine.Refusal
		switch {
		case err == nil:
			adopted++
		case !errors.As(err, &refusal) || refusal.Type != "in-progress":
			t.Errorf("adopt: %v", err)
		}
	}
	rows, _, err := paris.store.Resources(t.Context(), engine.ResourceFilter{Limit: 10})
	if adopted == 0 || err != nil || len(rows) != 1 {
		t.Errorf("%d were told that it is adopted, there are %d resources, %v", adopted, len(rows), err)
	}
}
