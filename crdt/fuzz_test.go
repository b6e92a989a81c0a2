package crdt

import (
	"bytes"
	"crypto/ed25519"
	"maps"
	"slices"
	"testing"

	"github.com/automerge/automerge-go"

	"github.com/skerry/skerry/engine"
)

// arena is a document of paris and nantes with some changes, and what nantes, a hostile member, may send next.
type arena struct {
	*document
	paris, nantes *Documents
	before        []*engine.Change
}

func newArena(tb testing.TB) *arena {
	paris, nantes := newSite(tb, "paris"), newSite(tb, "nantes")
	a := &arena{document: newDocument(tb, paris, replicated(paris, nantes), 0), paris: paris, nantes: nantes}
	op := func(m engine.MapName, v string) engine.Entry { return engine.Entry{Map: m, Value: []byte(v)} }
	a.before = []*engine.Change{
		a.write(tb, nantes, op(engine.MapOperations, "create"), op(engine.MapReplicas, "1")),
		a.write(tb, paris, op(engine.MapReplicas, "2")),
		a.write(tb, nantes, op(engine.MapOperations, "patch")),
	}
	return a
}

// honest are bodies of changes that nantes may send.
func (a *arena) honest() [][]byte {
	var bodies [][]byte
	for _, entries := range [][]engine.Entry{
		{{Map: engine.MapOperations, Value: []byte("one")}},
		{{Map: engine.MapReplicas}},
		{{Map: engine.MapOperations, Value: []byte("one")}, {Map: engine.MapOperations, Value: []byte("two")}, {Map: engine.MapFacts, Value: make([]byte, 300)}},
		{{Map: engine.MapFacts}, {Map: engine.MapDecisions, Value: []byte("x")}},
	} {
		f := newForgery(a.document, a.nantes)
		f.entries = entries
		bodies = append(bodies, bodyOf(f.send().Bytes))
	}
	return bodies
}

// try sends a chunk, signed. What passes and follows, an Automerge core must take, show as we do, save and load again, and go
// on from. It reports whether it passed.
func (a *arena) try(t *testing.T, chunk []byte) bool {
	h, err := hashOf(chunk)
	sent := engine.SignedChange{Line: lineOf(a.nantes), Bytes: chunk, Signature: ed25519.Sign(a.nantes.key, append([]byte(changeDomain), statement(a.id, 0, h)...))}
	if err == nil {
		_, _ = a.paris.Read(a.about, a.id, 0, sent, true) // whatever a disk has become, it must not panic
	}
	c, err := a.paris.Read(a.about, a.id, 0, sent, false)
	if err != nil || !a.tip(a.nantes).Follows(c) {
		return false
	}
	chunks := [][]byte{a.first}
	for _, c := range a.before {
		chunks = append(chunks, c.Bytes)
	}
	doc := core(t, append(chunks, chunk)...)
	if got, want := coreReads(t, doc, a.about.Collaboration.Maps()), shows(append(slices.Clone(a.before), c)...); !maps.Equal(got, want) {
		t.Fatalf("Automerge shows %v, we %v", got, want)
	}
	want := hexes(c.Hash, a.lines[lineOf(a.paris)][0].Hash)
	if got := heads(doc); !slices.Equal(got, want) {
		t.Fatalf("Automerge has the heads %v, not %v", got, want)
	}
	again, err := automerge.Load(doc.Save())
	if err != nil {
		t.Fatalf("the document saves what does not load: %v", err)
	}
	if got := heads(again); !slices.Equal(got, want) {
		t.Fatalf("loaded again it has the heads %v, not %v", got, want)
	}
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

// TestArena makes sure that the fuzz targets begin with what passes.
func TestArena(t *testing.T) {
	a := newArena(t)
	for i, body := range a.honest() {
		if !a.try(t, wrap(body)) {
			t.Errorf("honest change %d does not pass", i)
		}
	}
}

// FuzzGate sends mutated changes with the right checksum and signature.
func FuzzGate(f *testing.F) {
	a := newArena(f)
	for _, body := range a.honest() {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { a.try(t, wrap(body)) })
}

// FuzzForgery sends well-formed changes that may say something else than an honest site would.
func FuzzForgery(f *testing.F) {
	a := newArena(f)
	f.Add(uint64(0), uint64(0), byte(0), byte(0), byte(1), uint16(5), []byte("v"))
	f.Add(uint64(1), uint64(1), byte(1), byte(1), byte(200), uint16(500), []byte{})
	f.Fuzz(func(t *testing.T, number, begins uint64, previous, by, entries byte, size uint16, maps []byte) {
		g := newForgery(a.document, a.nantes)
		g.number += number
		g.begins += begins
		g.previous[0] += previous
		if by == 1 {
			g.line, g.actor = lineOf(a.paris), actorOf(lineOf(a.paris))
		}
		g.entries = make([]engine.Entry, max(1, int(entries)))
		for i := range g.entries {
			g.entries[i].Value = make([]byte, int(size)>>(i%8))
			if m := append(maps, 0)[i%(len(maps)+1)] % 5; m < 4 {
				g.entries[i].Map = g.maps[m]
			}
		}
		a.try(t, g.send().Bytes)
	})
}

// FuzzAbout decodes Abouts from any bytes. What is taken is written the same way again, and begins a document that Automerge
// takes.
func FuzzAbout(f *testing.F) {
	paris, nantes := newSite(f, "paris"), newSite(f, "nantes")
	cross := replicated(paris, nantes)
	cross.Collaboration, cross.Parts, cross.Incarnation = engine.Cross, engine.Parts{{nantes.Self()}, {paris.Self()}}, 3
	name := replicated(paris, nantes)
	name.Collaboration = engine.ExactlyOne
	for _, about := range []engine.About{replicated(paris), cross, name} {
		b, _, err := paris.Identify(about)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		about, id, err := paris.Decode(b)
		if err != nil {
			return
		}
		if again, same, err := paris.Identify(about); err != nil || same != id || !bytes.Equal(again, b) {
			t.Fatalf("%x is written as %x: %v", b, again, err)
		}
		chunk, _, _ := firstChange(nil, about.Collaboration, b, 0)
		if got := heads(core(t, chunk)); !slices.Equal(got, []string{string(id)}) {
			t.Fatalf("document %s has the heads %v", id, got)
		}
	})
}
