package crdt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/automerge/automerge-go"
	"github.com/skerry/skerry/engine"
)

func TestFirstChangeIsTheSameEverywhere(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	founder := engine.About{Schema: engine.SchemaMesh, Key: "7b1c", Placement: []engine.SiteID{paris.id}}
	// These identifiers are in the databases of every site: they must never change.
	for want, about := range map[engine.DocumentID]engine.About{
		"0af159c8f8137c69": resource(paris, nantes),
		"5a7e465f3f652661": founder,
	} {
		a, b := paris.create(t, about), nantes.create(t, about)
		if a != b || a[:16] != want {
			t.Errorf("document %s at paris, %s at nantes, want %s…", a, b, want)
		}
		paris.open(t, a, func(d *document) {
			changes, err := d.core.Changes()
			must(t, err)
			if len(changes) != 1 || documentID(hash(changes[0].Hash())) != a {
				t.Errorf("Automerge holds %v", changes)
			}
		})
	}
}

// TestFirstChangeIsAutomerges compares the first change with one that Automerge makes itself.
func TestFirstChangeIsAutomerges(t *testing.T) {
	about := []byte("about")
	doc := automerge.New()
	must(t, doc.SetActorID(firstActor.String()))
	for _, m := range engine.SchemaResource.Maps() {
		must(t, doc.RootMap().Set(string(m), automerge.NewMap()))
	}
	must(t, doc.RootMap().Set(keyAbout, about))
	want := commit(t, doc)
	if got, _ := firstChange(engine.SchemaResource, about).encode(); string(got) != string(want) {
		t.Errorf("we write\n%x\nAutomerge\n%x", got, want)
	}
}

func TestCreateRefuses(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	good := resource(paris, nantes)
	b, id, err := paris.Encode(good)
	must(t, err)
	first, second := string(good.Placement[0]), string(good.Placement[1])
	for name, edit := range map[string][2]string{
		"another document":          {"debian", "ubuntu"},
		"a space":                   {`,"kind"`, `, "kind"`},
		"an unknown member":         {`"schema"`, `"more":1,"schema"`},
		"a member twice":            {`"schema":"resource",`, `"schema":"resource","schema":"resource",`},
		"another spelling":          {`"schema"`, `"Schema"`},
		"an unknown schema":         {`"resource"`, `"zones"`},
		"an unknown collaboration":  {"replication", "duplication"},
		"no kind":                   {`"kind":"image",`, ""},
		"no placement":              {`"` + first + `","` + second + `"`, ""},
		"a placement not sorted":    {first + `","` + second, second + `","` + first},
		"a site twice":              {second, first},
		"a site that is no peer id": {first, "paris"},
		"a site in another form":    {first, "bafzaajaiaejca" + first},
		"an empty key":              {"debian", ""},
		"a key that is too long":    {"debian", strings.Repeat("x", maxResource+1)},
		"a second value":            {`}`, `}{}`},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(string(b), edit[0], edit[1], 1)
			if bad == string(b) {
				t.Fatal("nothing was edited")
			}
			if _, err := paris.Create(id, []byte(bad)); !errors.Is(err, engine.ErrRefused) {
				t.Errorf("got %v, want a refusal", err)
			}
			_, h := firstChange(engine.SchemaResource, []byte(bad)).encode()
			if name != "another document" {
				if _, err := paris.Create(documentID(h), []byte(bad)); !errors.Is(err, engine.ErrRefused) {
					t.Errorf("under its own identifier: got %v, want a refusal", err)
				}
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	id := paris.create(t, resource(paris, nantes))
	large := make([]byte, engine.MaxEntry)
	var many []engine.Entry
	for i := range 5 {
		many = append(many, paris.entry(engine.MapOutcomes, fmt.Sprint(i), string(large)))
	}
	for name, tt := range map[string]struct {
		entries []engine.Entry
		want    error
	}{
		"nothing":           {nil, nil},
		"a foreign key":     {[]engine.Entry{nantes.entry(engine.MapReplicas, "", "x")}, nil},
		"an unknown map":    {[]engine.Entry{paris.entry(engine.MapMembers, "", "x")}, nil},
		"a key no text":     {[]engine.Entry{paris.entry(engine.MapReplicas, "\xff", "x")}, nil},
		"a large value":     {[]engine.Entry{paris.entry(engine.MapReplicas, "", string(large)+"x")}, engine.ErrTooLarge},
		"much together":     {many, engine.ErrTooLarge},
		"a key that is too": {[]engine.Entry{paris.entry(engine.MapReplicas, strings.Repeat("x", 256), "x")}, engine.ErrTooLarge},
	} {
		before := paris.heads(t, id)
		_, err := paris.Write(t.Context(), id, tt.entries)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want an error %v", name, err, tt.want)
		}
		if paris.heads(t, id) != before {
			t.Errorf("%s: changed the document", name)
		}
	}
	paris.write(t, id, many[:3]...) // and as much as fits is no problem
}

func TestWriteTakesTheLastOfTwo(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	id := paris.create(t, resource(paris))
	paris.write(t, id, paris.entry(engine.MapReplicas, "", "first"), paris.entry(engine.MapReplicas, "", "second"))
	if got := paris.entries(t, id); len(got) != 1 || string(got[0].Value) != "second" {
		t.Errorf("got %v", got)
	}
}

func TestUnknownDocument(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	if _, err := paris.Entries(t.Context(), "00"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestMergeOutOfOrder(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	about := resource(paris, nantes)
	id := paris.create(t, about)
	nantes.create(t, about)
	var changes []engine.SignedChange
	for i := range 4 {
		changes = append(changes, nantes.write(t, id, nantes.entry(engine.MapReplicas, "", fmt.Sprint(i))))
	}
	entries, err := paris.merge(t, id, changes[3], changes[1])
	if !errors.Is(err, engine.ErrMissing) || errors.Is(err, engine.ErrRefused) || len(entries) != 0 {
		t.Fatalf("with a gap: %v, %v", entries, err)
	}
	forged := changes[2]
	forged.Signature = changes[1].Signature
	entries, err = paris.merge(t, id, changes[3], forged, changes[1], changes[0])
	if !errors.Is(err, engine.ErrRefused) || errors.Is(err, engine.ErrMissing) {
		t.Errorf("what builds on a refused change: %v", err)
	}
	if len(entries) != 1 || string(entries[0].Value) != "1" {
		t.Errorf("applied before the refused one: %v", entries)
	}
	if entries, err = paris.merge(t, id, changes[3], changes[2], changes[0]); err != nil || len(entries) != 1 || string(entries[0].Value) != "3" {
		t.Errorf("in the end: %v, %v", entries, err)
	}
	if entries, err = paris.merge(t, id, changes...); err != nil || len(entries) != 0 {
		t.Errorf("once more: %v, %v", entries, err)
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
	for i, id := range ids {
		if got := paris.entries(t, id); len(got) != 1 || string(got[0].Value) != fmt.Sprint(i) {
			t.Errorf("document %d: %v", i, got)
		}
	}
	if n := paris.cache.used.Len(); n < 5 || n > 8 {
		t.Errorf("%d open documents, of which 5 are not stored", n)
	}
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

// TestMoreHeadsThanDependencies floods a document with changes that build on nothing but the first, as a hostile
// member can. Others must be able to go on.
func TestMoreHeadsThanDependencies(t *testing.T) {
	paris := newSite(t, "paris", 7, newShelf())
	earlier, err := actorOf(paris.id, &noise{seed: "earlier"})
	must(t, err)
	first := firstChange(engine.SchemaResource, nil)
	_, h := first.encode()
	hist := newHistory(engine.SchemaResource, first, h)
	grow := func(c *change) hash {
		_, name := c.encode()
		hist.add(c, name)
		return name
	}
	slotKey := string(paris.id)
	own := grow(&change{deps: []hash{h}, actor: earlier, seq: 1, startOp: 6, puts: []put{{object: 3, key: slotKey}}})
	grow(&change{deps: []hash{own}, actor: actor{1}, seq: 1, startOp: 7, puts: []put{{object: 1, key: "x"}}})
	for i := range maxDeps + 10 {
		grow(&change{deps: []hash{h}, actor: actor{2, byte(i), byte(i >> 8)}, seq: 1, startOp: 6, puts: []put{{object: 1, key: fmt.Sprint(i)}}})
	}
	c, err := paris.compose(hist, []engine.Entry{paris.entry(engine.MapReplicas, "", "new")})
	must(t, err)
	if len(c.deps) != maxDeps {
		t.Errorf("%d dependencies", len(c.deps))
	}
	if err := hist.check(c, paris.id); err != nil {
		t.Errorf("its own gate refuses it: %v", err)
	}
	if len(c.puts[0].preds) != 1 {
		t.Errorf("predecessors %v", c.puts[0].preds)
	}
}
