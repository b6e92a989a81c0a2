package crdt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestCreatedDocumentOutlivesAStoreThatFails(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	b, id, err := paris.Encode(resource(paris))
	must(t, err)
	_, err = paris.Create(id, b)
	must(t, err)
	paris.shelf.fault = engine.ErrStorage
	if _, err := paris.Entries(t.Context(), id); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("got %v", err)
	}
	paris.shelf.fault = nil
	paris.write(t, id, paris.entry(engine.MapReplicas, "", "one"))
}

// TestCacheKeepsWhatIsNotStored opens more documents than the cache is for, some of which have a change that the store
// does not have.
func TestCacheKeepsWhatIsNotStored(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	paris.cache.size = 3
	var ids []engine.DocumentID
	var rows []engine.ChangeRow
	for i := range 10 {
		about := resource(paris)
		about.Key = engine.ResourceID(fmt.Sprint(i))
		b, id, err := paris.Encode(about)
		must(t, err)
		_, err = paris.Create(id, b)
		must(t, err)
		row, err := paris.Write(t.Context(), id, []engine.Entry{paris.entry(engine.MapReplicas, "", fmt.Sprint(i))})
		must(t, err)
		ids, rows = append(ids, id), append(rows, row)
		if i%2 == 0 {
			paris.shelf.store(id, b, row)
		}
	}
	about := resource(paris)
	about.Key = "empty"
	empty, emptyID, err := paris.Encode(about)
	must(t, err)
	_, err = paris.Create(emptyID, empty)
	must(t, err)
	for range 3 {
		for i, id := range ids {
			if got := paris.entries(t, id); len(got) != 1 || string(got[0].Value) != fmt.Sprint(i) {
				t.Errorf("document %d: %v", i, got)
			}
		}
		if got := paris.entries(t, emptyID); len(got) != 0 {
			t.Errorf("the document without a change: %v", got)
		}
	}
	if n := paris.cache.used.Len(); n < 6 || n > 9 {
		t.Errorf("%d open documents, of which 6 are not stored", n)
	}
	paris.Forget(emptyID)
	for i, id := range ids {
		if i%2 == 1 {
			b, _, err := paris.Encode(engine.About{Schema: engine.SchemaResource, Service: "images", Kind: "image",
				Collaboration: "replication", Key: engine.ResourceID(fmt.Sprint(i)), Placement: []engine.SiteID{paris.id}})
			must(t, err)
			paris.shelf.store(id, b, rows[i])
		}
	}
	for range 3 {
		for i, id := range ids {
			if got := paris.entries(t, id); len(got) != 1 || string(got[0].Value) != fmt.Sprint(i) {
				t.Errorf("document %d, stored: %v", i, got)
			}
		}
	}
	if n := paris.cache.used.Len(); n != 3 {
		t.Errorf("%d open documents once all are stored, want 3", n)
	}
}

func TestForgetDropsWhatWasNotStored(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	about := resource(paris, nantes)
	id := paris.create(t, about)
	nantes.create(t, about)
	kept := paris.write(t, id, paris.entry(engine.MapReplicas, "", "kept"))
	if _, err := paris.Write(t.Context(), id, []engine.Entry{paris.entry(engine.MapReplicas, "", "lost")}); err != nil {
		t.Fatal(err)
	}
	paris.Forget(id)
	if got := paris.entries(t, id); len(got) != 1 || string(got[0].Value) != "kept" {
		t.Fatalf("after the store failed: %v", got)
	}
	// The number of the lost change is given again, and nobody minds.
	again := paris.write(t, id, paris.entry(engine.MapReplicas, "", "again"))
	if _, err := nantes.merge(t, id, kept, again); err != nil {
		t.Fatal(err)
	}
}

func TestDocumentsInParallel(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	paris.cache.size = 2
	var wg sync.WaitGroup
	for i := range 8 {
		about := resource(paris)
		about.Key = engine.ResourceID(fmt.Sprint(i))
		id := paris.create(t, about)
		wg.Go(func() {
			for n := range 20 {
				row, err := paris.Write(context.Background(), id, []engine.Entry{paris.entry(engine.MapOperations, fmt.Sprint(n), "x")})
				if err != nil {
					t.Error(err)
					return
				}
				paris.shelf.mu.Lock()
				paris.shelf.changes[id] = append(paris.shelf.changes[id], row)
				paris.shelf.mu.Unlock()
			}
			if got, err := paris.Entries(context.Background(), id); err != nil || len(got) != 20 {
				t.Errorf("%d entries, %v", len(got), err)
			}
		})
	}
	wg.Wait()
}

func TestDamageOnDiskIsAnError(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	id := paris.create(t, resource(paris))
	paris.write(t, id, paris.entry(engine.MapReplicas, "", "value"))
	row := &paris.shelf.changes[id][0]
	whole := row.Bytes
	for i := range whole {
		row.Bytes = slices.Clone(whole)
		row.Bytes[i] ^= 0x10
		if _, err := newSite(t, "paris", 1, paris.shelf).Entries(t.Context(), id); err == nil {
			t.Fatalf("a damaged byte %d went unseen", i)
		}
	}
}

func TestSwappedRowsAreAnError(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	id := paris.create(t, resource(paris))
	paris.write(t, id, paris.entry(engine.MapReplicas, "", "one"))
	paris.write(t, id, paris.entry(engine.MapReplicas, "", "two"))
	rows := paris.shelf.changes[id]
	rows[0].Hash, rows[1].Hash = rows[1].Hash, rows[0].Hash
	if _, err := newSite(t, "paris", 1, paris.shelf).Entries(t.Context(), id); err == nil {
		t.Error("rows under each other's hash went unseen")
	}
}

func TestCreateOfAStoredDocumentLosesNothing(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	about := resource(paris)
	id := paris.create(t, about)
	paris.write(t, id, paris.entry(engine.MapReplicas, "", "kept"))
	paris.Forget(id)
	if _, err := paris.Create(id, paris.shelf.about()); err != nil {
		t.Fatal(err)
	}
	if got := paris.entries(t, id); len(got) != 1 {
		t.Fatalf("got %v", got)
	}
}

// TestCoreThatGoesItsOwnWay feeds the core what the history knows nothing of, as if it had misread a change.
func TestCoreThatGoesItsOwnWay(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	id := paris.create(t, resource(paris))
	paris.open(t, id, func(d *document) {
		c, err := paris.compose(d.history, []engine.Entry{paris.entry(engine.MapReplicas, "", "one")})
		must(t, err)
		chunk, _ := c.encode()
		if err := d.feed(chunk); err == nil {
			t.Error("other heads went unseen")
		}
	})
}
