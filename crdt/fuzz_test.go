package crdt

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/automerge/automerge-go"
	"github.com/skerry/skerry/engine"
)

// arena is a document at paris with some history, and what nantes, a hostile member, can make of it. One hash of the
// history is not in the document.
type arena struct {
	author  *site
	id      engine.DocumentID
	about   []byte
	changes []engine.SignedChange
	actors  []actor
	hashes  []hash
	honest  []*change
}

func newArena(tb testing.TB) *arena {
	paris, nantes, clone := newSite(tb, "paris", 0, newShelf()), newSite(tb, "nantes", 1, newShelf()),
		newSite(tb, "nantes", 2, newShelf())
	about := resource(paris, nantes)
	a := &arena{author: nantes, id: paris.create(tb, about)}
	a.about = paris.shelf.about()
	nantes.create(tb, about)
	clone.create(tb, about)
	a.changes = []engine.SignedChange{
		nantes.write(tb, a.id, nantes.entry(engine.MapOperations, "1", "create"), nantes.entry(engine.MapReplicas, "", "1")),
		paris.write(tb, a.id, paris.entry(engine.MapReplicas, "", "2")),
		clone.write(tb, a.id, clone.entry(engine.MapReplicas, "", ""), clone.entry(engine.MapReplicas, "b", "3")),
	}
	for _, s := range []*site{nantes, paris, clone} {
		_, err := s.merge(tb, a.id, a.changes...)
		must(tb, err)
	}
	a.changes = append(a.changes, clone.write(tb, a.id, clone.entry(engine.MapReplicas, "b", "4")))
	a.actors = []actor{nantes.actor, clone.actor, paris.actor, firstActor}
	_, first := firstChange(about.Schema, a.about).encode()
	a.hashes = []hash{first, {1}}
	for _, c := range a.changes {
		h, err := hashOf(c.Bytes)
		must(tb, err)
		a.hashes = append(a.hashes, h)
	}
	compose := func(s *site, entries ...engine.Entry) {
		s.open(tb, a.id, func(d *document) {
			c, err := s.compose(d.history, entries)
			must(tb, err)
			a.honest = append(a.honest, c)
		})
	}
	for _, s := range []*site{nantes, clone} {
		compose(s, s.entry(engine.MapReplicas, "", "5"))
		compose(s, s.entry(engine.MapReplicas, "", "5"), s.entry(engine.MapReplicas, "b", "6"))
		compose(s, s.entry(engine.MapOperations, "2", "5"), s.entry(engine.MapReplicas, "c", "6"),
			s.entry(engine.MapOutcomes, "2", "5"), s.entry(engine.MapOutcomes, "c", string(make([]byte, 300))))
	}
	return a
}

// try sends a chunk, signed, to a document with the history of the arena. What the gate lets through, the core must
// take, show as we do, save and load again. It reports whether the gate did.
func (a *arena) try(t *testing.T, chunk []byte) bool {
	about, err := decodeAbout(a.about)
	must(t, err)
	d := newDocument(about, a.about)
	must(t, d.wake())
	_, _, err = d.merge(a.changes, anyone)
	must(t, err)
	signature, err := a.author.key.Sign(signed(seal2(chunk)))
	must(t, err)
	rows, _, err := d.merge([]engine.SignedChange{{Author: a.author.id, Signature: signature, Bytes: chunk}}, anyone)
	if err != nil && !errors.Is(err, engine.ErrRefused) && !errors.Is(err, engine.ErrMissing) {
		t.Fatalf("the gate let something through that the core does not take: %v", err)
	}
	if len(rows) == 0 {
		return false
	}
	entries := d.history.entries()
	slices.SortFunc(entries, compareEntries)
	if own := ownReading(t, d); !equalEntries(entries, own) {
		t.Fatalf("we read %v, Automerge %v", entries, own)
	}
	again, err := automerge.Load(d.core.Save())
	if err != nil {
		t.Fatalf("the document saves what does not load: %v", err)
	}
	heads, want := again.Heads(), d.core.Heads()
	compare := func(x, y automerge.ChangeHash) int { return bytes.Compare(x[:], y[:]) }
	slices.SortFunc(heads, compare)
	slices.SortFunc(want, compare)
	if !slices.Equal(heads, want) {
		t.Fatalf("loaded again it has heads %v, not %v", heads, want)
	}
	// It must be possible to go on from there.
	must(t, again.SetActorID("ff"))
	must(t, again.RootMap().Set("more", []byte("x")))
	if _, err := again.Commit("more"); err != nil {
		t.Fatal(err)
	}
	if _, err := automerge.Load(again.Save()); err != nil {
		t.Fatal(err)
	}
	return true
}

// seal2 returns the hash that chunk has once its checksum is right.
func seal2(chunk []byte) hash {
	if len(chunk) < 9 {
		return hash{}
	}
	h, _ := hashOf(seal(chunk))
	return h
}

// FuzzGate sends mutated chunks with the right checksum and signature.
func FuzzGate(f *testing.F) {
	a := newArena(f)
	for _, c := range a.honest {
		chunk, _ := c.encode()
		body := &reader{b: chunk[9:]}
		body.uint()
		f.Add(body.b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		chunk, _ := sealChunk(body)
		a.try(t, chunk)
	})
}

// FuzzForgery sends well-formed changes that say something else than an honest site would: one put, or a second
// one beside it, with fields of the fuzzer's choice.
func FuzzForgery(f *testing.F) {
	a := newArena(f)
	for i := range a.honest {
		f.Add(byte(i), byte(0), byte(0), uint64(0), uint64(0), byte(0), uint64(0), byte(0), []byte("v"))
	}
	f.Add(byte(1), byte(4), byte(0), uint64(1), uint64(1), byte(1), uint64(6), byte(1), []byte("v"))
	f.Fuzz(func(t *testing.T, which, deps, by byte, seq, start uint64, object byte, pred uint64, predBy byte, value []byte) {
		if len(value) > 1000 {
			return
		}
		c := *a.honest[int(which)%len(a.honest)]
		c.puts = slices.Clone(c.puts)
		if deps != 0 {
			c.deps = nil
			for i, h := range a.hashes {
				if deps&(1<<i) != 0 {
					c.deps = append(c.deps, h)
				}
			}
			slices.SortFunc(c.deps, compareHashes)
		}
		if by != 0 {
			c.actor = a.actors[int(by)%len(a.actors)]
		}
		c.seq += seq
		c.startOp += start
		p := &c.puts[0]
		p.object = (p.object + uint64(object)) % 8
		p.value = value
		if pred != 0 {
			p.preds = append(slices.Clone(p.preds), opID{pred, a.actors[int(predBy)%len(a.actors)]})
			if predBy&0x80 != 0 {
				p.preds = p.preds[len(p.preds)-1:]
			}
		}
		chunk, _ := c.encode()
		a.try(t, chunk)
	})
}

// TestArena makes sure that the fuzz targets begin with something that passes.
func TestArena(t *testing.T) {
	a := newArena(t)
	for i, c := range a.honest {
		if chunk, _ := c.encode(); !a.try(t, chunk) {
			t.Errorf("honest change %d does not pass", i)
		}
	}
}

// FuzzAbout creates documents from any bytes. What is taken begins the document that its bytes say, and is written
// the same way again.
func FuzzAbout(f *testing.F) {
	paris := newSite(f, "paris", 0, newShelf())
	for _, about := range []engine.About{resource(paris), {Schema: engine.SchemaMesh, Key: "m", Placement: []engine.SiteID{paris.id}}} {
		b, _, err := paris.Encode(about)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, h := firstChange(engine.SchemaResource, b).encode()
		if bytes.Contains(b, []byte(`"schema":"mesh"`)) {
			_, h = firstChange(engine.SchemaMesh, b).encode()
		}
		about, err := paris.Create(documentID(h), b)
		if err != nil {
			if !errors.Is(err, engine.ErrRefused) {
				t.Fatal(err)
			}
			return
		}
		if again, id, err := paris.Encode(about); err != nil || id != documentID(h) || !bytes.Equal(again, b) {
			t.Fatalf("%s is written as %s: %v", b, again, err)
		}
		paris.open(t, documentID(h), func(*document) {}) // the core takes it too
		paris.Forget(documentID(h))
	})
}
