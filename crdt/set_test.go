package crdt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/automerge/automerge-go"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/skerry/skerry/engine"
)

func TestFirstChangeIsTheSameEverywhere(t *testing.T) {
	paris, nantes := newSite(t, "paris", 0, newShelf()), newSite(t, "nantes", 0, newShelf())
	founder := engine.About{Schema: engine.SchemaMesh, Key: "7b1c", Placement: []engine.SiteID{paris.id}}
	// These identifiers are in the databases of every site: they must never change.
	for want, about := range map[engine.DocumentID]engine.About{
		"d0452e06c842d6e3": resource(paris, nantes),
		"8c5069a64c8d49d0": founder,
		"c443e87962ed9bad": {Schema: engine.SchemaChoice, Service: "images", Kind: "image", Collaboration: engine.ExactlyOne, Key: "x", Placement: resource(paris, nantes).Placement},
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
	other, err := peer.Decode(second)
	must(t, err)
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
		"a site in another form":    {second, peer.ToCid(other).String()},
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
	own := grow(&change{deps: []hash{h}, actor: earlier, seq: 1, startOp: 5, puts: []put{{object: 2, key: slotKey}}})
	grow(&change{deps: []hash{own}, actor: actor{1}, seq: 1, startOp: 6, puts: []put{{object: 1, key: "x"}}})
	for i := range maxDeps + 10 {
		grow(&change{deps: []hash{h}, actor: actor{2, byte(i), byte(i >> 8)}, seq: 1, startOp: 5, puts: []put{{object: 1, key: fmt.Sprint(i)}}})
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
