package crdt

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/automerge/automerge-go"
	"github.com/skerry/skerry/engine"
	"pgregory.net/rapid"
)

// ownWriting returns the change that Automerge itself makes of entries in a document with these chunks.
func ownWriting(tb testing.TB, a actor, chunks [][]byte, entries []engine.Entry) []byte {
	tb.Helper()
	doc := automerge.New()
	for _, c := range chunks {
		must(tb, doc.LoadIncremental(c))
	}
	must(tb, doc.SetActorID(a.String()))
	for _, e := range entries {
		m, err := doc.RootMap().Get(string(e.Map))
		must(tb, err)
		must(tb, m.Map().Set(e.Key, e.Value))
	}
	return commit(tb, doc)
}

func commit(tb testing.TB, doc *automerge.Doc) []byte {
	tb.Helper()
	h, err := doc.Commit("", automerge.CommitOptions{Time: &time.Time{}})
	must(tb, err)
	c, err := doc.Change(h)
	must(tb, err)
	return c.Save()
}

// ownReading returns what Automerge shows of a document.
func ownReading(tb testing.TB, d *document) []engine.Entry {
	tb.Helper()
	var out []engine.Entry
	for _, name := range d.about.Schema.Maps() {
		m, err := d.core.RootMap().Get(string(name))
		must(tb, err)
		values, err := m.Map().Values()
		must(tb, err)
		for k, v := range values {
			out = append(out, engine.Entry{Map: name, Key: k, Value: v.Bytes()})
		}
	}
	slices.SortFunc(out, compareEntries)
	return out
}

// TestConverge lets sites write, hear of each other's changes in any order and more than once, and start anew, from
// snapshots too; one of them is a clone of another. In the end all show the same, and what Automerge shows. Each change is, byte for
// byte, what Automerge would have written.
func TestConverge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"paris", "nantes", "brest", "paris"} // the last one is the clone
		sites := make([]*site, len(names))
		for i, name := range names {
			sites[i] = newSite(t, name, -i, newShelf())
			sites[i].every = 3
		}
		about := resource(sites...)
		var id engine.DocumentID
		for _, s := range sites {
			id = s.create(t, about)
		}
		maps := about.Schema.Maps()
		var all []engine.SignedChange
		firstChunk, _ := firstChange(about.Schema, sites[0].shelf.documents[id].About).encode()
		for step := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			i := rapid.IntRange(0, len(sites)-1).Draw(rt, "site")
			s := sites[i]
			switch rapid.SampledFrom([]string{"write", "write", "hear", "restart"}).Draw(rt, "do") {
			case "write":
				var entries []engine.Entry
				chosen := map[string]bool{}
				for range rapid.IntRange(1, 6).Draw(rt, "entries") {
					e := s.entry(rapid.SampledFrom(maps).Draw(rt, "map"),
						rapid.SampledFrom([]string{"", "a", "b", "ü"}).Draw(rt, "key"), "")
					e.Value = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "value")
					// Automerge leaves out what stands there already; we do not.
					stands := slices.ContainsFunc(s.entries(t, id), func(o engine.Entry) bool {
						return equalEntries([]engine.Entry{o}, []engine.Entry{e}) || o.Map == e.Map && o.Key == e.Key && e.Map.WriteOnce()
					})
					if k := string(e.Map) + e.Key; !stands && !chosen[k] {
						chosen[k] = true
						entries = append(entries, e)
					}
				}
				if len(entries) == 0 {
					break
				}
				chunks := [][]byte{firstChunk}
				for _, row := range s.shelf.changes[id] {
					chunks = append(chunks, row.Bytes)
				}
				c := s.write(t, id, entries...)
				if own := ownWriting(t, s.actor, chunks, entries); string(own) != string(c.Bytes) {
					rt.Fatalf("we write\n%x\nAutomerge\n%x", c.Bytes, own)
				}
				all = append(all, c)
			case "hear":
				if len(all) > 0 {
					heard := rapid.SliceOfN(rapid.SampledFrom(all), 0, 20).Draw(rt, "heard")
					if _, err := s.merge(t, id, heard...); err != nil && !errors.Is(err, engine.ErrMissing) {
						rt.Fatal(err)
					}
				}
			case "restart":
				before := s.entries(t, id)
				sites[i] = newSite(t, names[i], step*len(names)+i+1, s.shelf)
				sites[i].every = 3
				sameAsReplayed(t, sites[i], id)
				if !equalEntries(before, sites[i].entries(t, id)) {
					rt.Fatal("a restart changed the document")
				}
			}
		}
		for i, s := range sites {
			order := rapid.Permutation(all).Draw(rt, fmt.Sprint("order at ", i))
			if _, err := s.merge(t, id, order...); err != nil {
				rt.Fatal(err)
			}
			if got, want := s.entries(t, id), sites[0].entries(t, id); !equalEntries(got, want) {
				rt.Fatalf("site %d shows %v, site 0 %v", i, got, want)
			}
			if s.heads(t, id) != sites[0].heads(t, id) {
				rt.Fatalf("site %d has other heads", i)
			}
			s.open(t, id, func(d *document) {
				got := s.history(d)
				if want := ownReading(t, d); !equalEntries(got, want) {
					rt.Fatalf("we read %v, Automerge %v", got, want)
				}
			})
		}
	})
}

// history returns the entries of d in the order of ownReading.
func (s *site) history(d *document) []engine.Entry {
	out := d.history.entries()
	slices.SortFunc(out, compareEntries)
	return out
}
