package crdt

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/automerge/automerge-go"
	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// TestFirstChange compares the first change of a document with what Automerge writes.
func TestFirstChange(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	cross := replicated(paris, nantes)
	cross.Collaboration, cross.Parts = engine.Cross, engine.Parts{{nantes.Self()}, {paris.Self()}}
	name := replicated(paris, nantes)
	name.Collaboration = engine.ExactlyOne
	for _, about := range []engine.About{replicated(paris), replicated(paris, nantes), cross, name} {
		for _, epoch := range []uint64{0, 1, 127, 128, 1 << 40} {
			d := newDocument(t, paris, about, epoch)
			doc := automerge.New()
			must(t, doc.SetActorID(strings.Repeat("0", 32)))
			for _, m := range about.Collaboration.Maps() {
				must(t, doc.RootMap().Set(string(m), automerge.NewMap()))
			}
			must(t, doc.RootMap().Set("about", d.raw))
			if epoch > 0 {
				must(t, doc.RootMap().Set("epoch", epoch))
			}
			if own := commit(t, doc); !bytes.Equal(own, d.first) {
				t.Errorf("%s, epoch %d: Automerge writes\n%x, we\n%x", about.Collaboration, epoch, own, d.first)
			}
			tip := paris.First(about, d.id, epoch)
			if got := heads(core(t, d.first)); !slices.Equal(got, hexes(tip.Hash)) || tip.Number != 0 || tip.Last != firstLast(about.Collaboration.Maps(), epoch) {
				t.Errorf("%s, epoch %d: First is %+v, Automerge has the heads %s", about.Collaboration, epoch, tip, got)
			}
			if epoch == 0 && string(d.id) != hexes(tip.Hash)[0] {
				t.Errorf("document %s begins with %x", d.id, tip.Hash)
			}
		}
	}
}

// drawEntries draws what one change puts, with values of lengths around those where encodings change.
func drawEntries(t *rapid.T, c engine.Collaboration) []engine.Entry {
	n := rapid.SampledFrom([]int{1, 1, 2, 3, 64, 130}).Draw(t, "entries")
	entries := make([]engine.Entry, n)
	for i := range entries {
		size := rapid.SampledFrom([]int{0, 1, 2, 7, 8, 500, 1024, 70_000 / n}).Draw(t, "size")
		entries[i] = engine.Entry{Map: rapid.SampledFrom(c.Maps()).Draw(t, "map"), Value: bytes.Repeat([]byte{byte(size), byte(i)}, (size+1)/2)[:size]}
	}
	return entries
}

func sameEntry(a, b engine.Entry) bool { return a.Map == b.Map && bytes.Equal(a.Value, b.Value) }

func same(a, b *engine.Change) bool {
	return a.Line == b.Line && bytes.Equal(a.Signature, b.Signature) && bytes.Equal(a.Bytes, b.Bytes) &&
		a.Document == b.Document && a.Epoch == b.Epoch && a.Number == b.Number && a.Hash == b.Hash &&
		a.Previous == b.Previous && a.Begins == b.Begins && slices.EqualFunc(a.Entries, b.Entries, sameEntry)
}

// TestConverge has sites write in one document. Each change is, byte for byte, what Automerge would have written after its author's line;
// it passes the gate as what was written; and in whatever order the lines come together, the core shows all entries, and its heads are
// the ends of the lines.
func TestConverge(t *testing.T) {
	sites := []*Documents{newSite(t, "paris"), newSite(t, "nantes"), newSite(t, "brest")}
	rapid.Check(t, func(rt *rapid.T) {
		about := replicated(sites...)
		about.Collaboration = rapid.SampledFrom([]engine.Collaboration{engine.Replication, engine.Cross, engine.ExactlyOne}).Draw(rt, "collaboration")
		if about.Collaboration == engine.Cross {
			about.Parts = engine.Parts{about.Placement[:2], about.Placement[2:]}
		}
		d := newDocument(t, sites[0], about, rapid.SampledFrom([]uint64{0, 1, 300}).Draw(rt, "epoch"))
		for range rapid.IntRange(1, 12).Draw(rt, "changes") {
			by := sites[rapid.IntRange(0, len(sites)-1).Draw(rt, "by")]
			line, entries := d.lines[lineOf(by)], drawEntries(rt, about.Collaboration)
			c := d.write(t, by, entries...)
			if own := d.coreWrites(t, lineOf(by), line, entries); !bytes.Equal(own, c.Bytes) {
				rt.Fatalf("change %d: Automerge writes\n%x, we\n%x", c.Number, own, c.Bytes)
			}
			for _, trusted := range []bool{false, true} {
				read, err := sites[0].Read(about, d.id, d.epoch, c.SignedChange, trusted)
				if err != nil || !same(read, c) {
					rt.Fatalf("written %+v, read (trusted %t) %+v: %v", c, trusted, read, err)
				}
			}
			if !slices.EqualFunc(c.Entries, entries, sameEntry) {
				rt.Fatalf("of %v it says %v", entries, c.Entries)
			}
		}
		next, all := map[engine.Line]int{}, [][]byte{d.first}
		var changes []*engine.Change
		for remain := slices.Sorted(maps.Keys(d.lines)); len(remain) > 0; { // the lines, mixed
			i := rapid.IntRange(0, len(remain)-1).Draw(rt, "whose")
			line := d.lines[remain[i]]
			c := line[next[remain[i]]]
			changes, all = append(changes, c), append(all, c.Bytes)
			if next[remain[i]]++; next[remain[i]] == len(line) {
				remain = slices.Delete(remain, i, i+1)
			}
		}
		doc := core(t, all...)
		if got, want := coreReads(t, doc, about.Collaboration.Maps()), shows(changes...); !maps.Equal(got, want) {
			rt.Fatalf("Automerge shows %v, we %v", got, want)
		}
		var ends []hash
		for _, line := range d.lines {
			ends = append(ends, line[len(line)-1].Hash)
		}
		if got, want := heads(doc), hexes(ends...); !slices.Equal(got, want) {
			rt.Fatalf("Automerge has the heads %v, the lines end in %v", got, want)
		}
	})
}

// TestWriteRefuses what would be refused elsewhere.
func TestWriteRefuses(t *testing.T) {
	paris := newSite(t, "paris")
	about := replicated(paris)
	_, id, err := paris.Identify(about)
	must(t, err)
	big := make([]byte, engine.MaxEntry)
	op := func(value []byte) engine.Entry { return engine.Entry{Map: engine.MapOperations, Value: value} }
	for name, c := range map[string]struct {
		entries []engine.Entry
		tip     engine.Tip
		says    string
	}{
		"nothing":         {nil, paris.First(about, id, 0), "no entries"},
		"too many":        {make([]engine.Entry, engine.MaxEntries+1), paris.First(about, id, 0), "too large: 4097 entries"},
		"an unknown map":  {[]engine.Entry{{Map: engine.MapContents}}, paris.First(about, id, 0), `no map "contents"`},
		"a large entry":   {[]engine.Entry{op(make([]byte, engine.MaxEntry+1))}, paris.First(about, id, 0), "too large: an entry of 1572865 bytes"},
		"a large change":  {[]engine.Entry{op(big), op(big)}, paris.First(about, id, 0), "too large: 3145"},
		"too long a line": {[]engine.Entry{op(nil)}, engine.Tip{Number: maxNumber, Last: 1 << 30}, "too large: change 524289"},
	} {
		if _, err := paris.Write(about, id, 0, lineOf(paris), c.tip, c.entries); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	most := slices.Repeat([]engine.Entry{op([]byte("x"))}, engine.MaxEntries)
	for name, entries := range map[string][]engine.Entry{"the most entries": most, "the largest": {op(big)}} {
		c, err := paris.Write(about, id, 0, lineOf(paris), paris.First(about, id, 0), entries)
		must(t, err)
		paris.SignChanges([]*engine.Change{c})
		if _, err := paris.Read(about, id, 0, c.SignedChange, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWriteKeepsNoBuffer: what the caller does to its values afterwards changes nothing.
func TestWriteKeepsNoBuffer(t *testing.T) {
	paris := newSite(t, "paris")
	d := newDocument(t, paris, replicated(paris), 0)
	value := []byte("as it was")
	c := d.write(t, paris, engine.Entry{Map: engine.MapOperations, Value: value}, engine.Entry{Map: engine.MapReplicas, Value: []byte("next")})
	copy(value, "changed!!")
	if got := fmt.Sprintf("%s %s", c.Entries[0].Value, c.Entries[1].Value); got != "as it was next" {
		t.Errorf("it has become %s", got)
	}
	if more := append(c.Entries[0].Value, '!'); string(c.Entries[1].Value) != "next" {
		t.Errorf("appending to an entry, %s, has changed the next", more)
	}
}
