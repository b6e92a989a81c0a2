package crdt

import (
	"errors"
	"maps"
	"testing"

	"github.com/skerry/skerry/engine"
)

// A change counts only when its author has a part in the document, and that is asked when all is here that it builds on:
// what gives the author its part may come along with it.
func TestOnlyWhoHasAPartWrites(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	id := paris.create(t, resource(paris))
	nantes.create(t, resource(paris))
	a := paris.write(t, id, paris.entry(engine.MapOperations, "1", "adds nantes"))
	_, err := nantes.merge(t, id, a)
	must(t, err)
	b := nantes.write(t, id, nantes.entry(engine.MapReplicas, "", "here"))

	other := newSite(t, "toulouse", 0, newShelf())
	other.create(t, resource(paris))
	stranger := func(s engine.SiteID) bool { return s != nantes.id }
	if _, _, err := other.Merge(t.Context(), id, []engine.SignedChange{b}, stranger); !errors.Is(err, engine.ErrMissing) || errors.Is(err, engine.ErrRefused) {
		t.Errorf("before it is known what it builds on, its author is not judged: %v", err)
	}
	rows, _, err := other.Merge(t.Context(), id, []engine.SignedChange{b, a}, stranger)
	if !errors.Is(err, engine.ErrRefused) || len(rows) != 1 || rows[0].Author != paris.id {
		t.Errorf("of what a stranger wrote too, %d changes were taken: %v", len(rows), err)
	}
	rows, _, err = other.Merge(t.Context(), id, []engine.SignedChange{b, a}, anyone)
	if err != nil || len(rows) != 1 || rows[0].Author != nantes.id {
		t.Errorf("once its author has a part, %d changes were taken: %v", len(rows), err)
	}
}

// What a document was to the author of an entry stays the same, whatever comes after, and is what that author has itself.
func TestWrittenAt(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	id := paris.create(t, resource(paris, nantes))
	nantes.create(t, resource(paris, nantes))
	_, err := nantes.merge(t, id, paris.write(t, id, paris.entry(engine.MapOperations, "1", "one")))
	must(t, err)
	paris.write(t, id, paris.entry(engine.MapOperations, "2", "two"))
	nantes.write(t, id, nantes.entry(engine.MapReplicas, "", "first"))
	nantes = newSite(t, "nantes", 1, nantes.shelf) // its last change is another actor's
	nantes.write(t, id, nantes.entry(engine.MapReplicas, "", "left"))
	own, err := nantes.shelf.Version(t.Context(), id)
	must(t, err)
	all, _, err := nantes.shelf.Changes(t.Context(), id, nil, 0)
	must(t, err)
	for _, c := range all {
		_, err = paris.merge(t, id, c.SignedChange)
		must(t, err)
	}
	paris.write(t, id, paris.entry(engine.MapOperations, "3", "three"))
	for range 2 {
		heads, have, err := paris.WrittenAt(t.Context(), id, engine.MapReplicas, string(nantes.id))
		must(t, err)
		if want := nantes.heads(t, id); heads != want {
			t.Errorf("paris takes %x for the heads of nantes, which are %x", heads, want)
		}
		if !maps.Equal(have, own) {
			t.Errorf("paris says that nantes had %v, and it has %v", have, own)
		}
		paris = newSite(t, "paris", 1, paris.shelf)
	}
	if _, _, err := paris.WrittenAt(t.Context(), id, engine.MapReplicas, "nobody"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("an entry that is not there: %v", err)
	}
}
