package mesh

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
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
		key, first, err := paris.adoptExisting(t.Context(), q)
		if err != nil || first == "" || (string(key) == id) != keeps {
			t.Fatalf("%s is adopted as %q by %q, %v", id, key, first, err)
		}
		shows(t, m, nantes, `{"name":"n","size":1}`)
		if again, nothing, err := paris.adoptExisting(t.Context(), q); err != nil || again != key || nothing != "" {
			t.Errorf("adopted again: %q %q, %v", again, nothing, err)
		}
		if names := placement(t, paris, key); !slices.Equal(names, []engine.SiteName{paris.Name, nantes.Name}) {
			t.Errorf("it lives at %v", names)
		}
		// It is a resource like any other.
		must(t, 200)(submit(t.Context(), nantes, &ignoring, "PATCH", string(key), `{"size":2}`))
		shows(t, m, paris, `{"name":"n","seen":7,"size":2}`)
		if _, _, err := paris.adoptExisting(t.Context(), engine.AdoptRequest{Kind: &ignoring, ID: "none", Sites: ids(paris, nantes)}); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("an object that is not there: %v", err)
		}
	}
}

// TestAdoptedTwiceAtOnce has one object adopted by several requests at a time: it becomes one resource.
func TestAdoptedTwiceAtOnce(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	paris.App.Put("17", map[string]any{"name": "n"})
	var asked []*pending[engine.ResourceID]
	for range 4 {
		asked = append(asked, begin(paris, func(p *world.Process) (engine.ResourceID, error) {
			id, _, err := p.Front.AdoptExisting(t.Context(), engine.AdoptRequest{Kind: Image, ID: "17", Sites: ids(m.Sites...)})
			return id, err
		}))
	}
	adopted := 0
	for _, each := range asked {
		_, err := finish(m, each)
		var refusal *engine.Refusal
		switch {
		case err == nil:
			adopted++
		case !errors.As(err, &refusal) || refusal.Type != "in-progress":
			t.Errorf("adopt: %v", err)
		}
	}
	rows, _, err := paris.Disk.Resources(t.Context(), engine.ResourceFilter{Limit: 10})
	if adopted == 0 || err != nil || len(rows) != 1 {
		t.Errorf("%d were told that it is adopted, there are %d resources, %v", adopted, len(rows), err)
	}
}

// TestWhatIsBeingMadeIsNotAdopted changes, with a scope, an object of a name whose create is under way: it is one resource, and no other one
// has its name when it is deleted.
func TestWhatIsBeingMadeIsNotAdopted(t *testing.T) {
	m := open(t, natural, 2)
	paris := m.Sites[0]
	arrived, release := paris.App.Hold()
	made := paris.ask(t.Context(), request(natural, "PUT", "web", `{"size":1}`, m.Sites...))
	arrives(t, m, arrived)
	hurried, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := submit(hurried, paris, natural, "PATCH", "web", `{"size":2}`, m.Sites...); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a change while it is being made is answered with %v", err)
	}
	release()
	must(t, 201)(finish(m, made))
	must(t, 200)(submit(t.Context(), paris, natural, "PATCH", "web", `{"size":2}`, m.Sites...))
	must(t, 204)(submit(t.Context(), paris, natural, "DELETE", "web", ""))
	if got := converge(t, m, m.Sites...); len(got) != 0 {
		t.Errorf("the sites show %v", got)
	}
}

// adoptExisting makes a resource of an object that the site's application has.
func (s *Site) adoptExisting(ctx context.Context, q engine.AdoptRequest) (id engine.ResourceID, op engine.OperationID, err error) {
	err = s.do(func(p *world.Process) (err error) {
		id, op, err = p.Front.AdoptExisting(ctx, q)
		return err
	})
	return id, op, err
}
