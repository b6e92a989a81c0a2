package crdt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/automerge/automerge-go"
	"github.com/libp2p/go-libp2p/core/crypto"

	"github.com/skerry/skerry/engine"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// noise yields bytes that depend on its seed alone.
type noise struct {
	seed string
	n    int
}

func (n *noise) Read(b []byte) (int, error) {
	for i := range b {
		sum := sha256.Sum256([]byte(fmt.Sprint(n.seed, n.n)))
		b[i] = sum[0]
		n.n++
	}
	return len(b), nil
}

// newSite makes the site of this name, which has the same key each time.
func newSite(tb testing.TB, name string) *Documents {
	tb.Helper()
	key, _, err := crypto.GenerateEd25519Key(&noise{seed: name})
	must(tb, err)
	d, err := New(key)
	must(tb, err)
	return d
}

// replicated is an About of a resource at sites.
func replicated(sites ...*Documents) engine.About {
	about := engine.About{Service: "images", Kind: "image", Collaboration: engine.Replication, Key: "debian"}
	for _, s := range sites {
		about.Placement = append(about.Placement, s.Self())
	}
	slices.Sort(about.Placement)
	return about
}

// document is an epoch's document with the lines of some authors, as everybody sees it who has heard of all.
type document struct {
	about engine.About
	raw   []byte
	id    engine.DocumentID
	epoch uint64
	first []byte
	lines map[engine.Line][]*engine.Change
}

// lineOf is the one line of a site.
func lineOf(by *Documents) engine.Line { return engine.LineOf(by.Self(), "1") }

func newDocument(tb testing.TB, by *Documents, about engine.About, epoch uint64) *document {
	tb.Helper()
	raw, id, err := by.Identify(about)
	must(tb, err)
	first, _, _ := firstChange(nil, about.Collaboration, raw, epoch)
	return &document{about, raw, id, epoch, first, map[engine.Line][]*engine.Change{}}
}

func (d *document) tip(by *Documents) engine.Tip {
	if line := d.lines[lineOf(by)]; len(line) > 0 {
		return line[len(line)-1].Tip()
	}
	return by.First(d.about, d.id, d.epoch)
}

func (d *document) write(tb testing.TB, by *Documents, entries ...engine.Entry) *engine.Change {
	tb.Helper()
	c, err := by.Write(d.about, d.id, d.epoch, lineOf(by), d.tip(by), entries)
	must(tb, err)
	by.SignChanges([]*engine.Change{c})
	d.lines[lineOf(by)] = append(d.lines[lineOf(by)], c)
	return c
}

// core loads chunks into an Automerge core.
func core(tb testing.TB, chunks ...[]byte) *automerge.Doc {
	tb.Helper()
	doc := automerge.New()
	for _, c := range chunks {
		must(tb, doc.LoadIncremental(c))
	}
	return doc
}

// commit returns the change that a core makes of what was set.
func commit(tb testing.TB, doc *automerge.Doc) []byte {
	tb.Helper()
	h, err := doc.Commit("", automerge.CommitOptions{Time: &time.Time{}})
	must(tb, err)
	c, err := doc.Change(h)
	must(tb, err)
	return c.Save()
}

// coreWrites returns the change that Automerge itself makes of entries after the line of an author, whose next change it is.
func (d *document) coreWrites(tb testing.TB, by engine.Line, line []*engine.Change, entries []engine.Entry) []byte {
	tb.Helper()
	chunks := [][]byte{d.first}
	for _, c := range line {
		chunks = append(chunks, c.Bytes)
	}
	doc := core(tb, chunks...)
	sum := sha256.Sum256([]byte(by))
	must(tb, doc.SetActorID(hex.EncodeToString(sum[:16])))
	for i, e := range entries {
		m, err := doc.RootMap().Get(string(e.Map))
		must(tb, err)
		must(tb, m.Map().Set(fmt.Sprintf("%s/%d/%d", by, len(line)+1, i), e.Value))
	}
	return commit(tb, doc)
}

// coreReads returns what a core shows, by map and key.
func coreReads(tb testing.TB, doc *automerge.Doc, maps []engine.MapName) map[string]string {
	tb.Helper()
	out := map[string]string{}
	for _, name := range maps {
		m, err := doc.RootMap().Get(string(name))
		must(tb, err)
		values, err := m.Map().Values()
		must(tb, err)
		for k, v := range values {
			out[string(name)+" "+k] = string(v.Bytes())
		}
	}
	return out
}

// shows is what a core has to show of changes.
func shows(changes ...*engine.Change) map[string]string {
	out := map[string]string{}
	for _, c := range changes {
		for i, e := range c.Entries {
			out[fmt.Sprintf("%s %s/%d/%d", e.Map, c.Line, c.Number, i)] = string(e.Value)
		}
	}
	return out
}

// heads returns those of a core in hex, sorted.
func heads(doc *automerge.Doc) []string {
	var out []string
	for _, h := range doc.Heads() {
		out = append(out, h.String())
	}
	slices.Sort(out)
	return out
}

func hexes(hashes ...hash) []string {
	var out []string
	for _, h := range hashes {
		out = append(out, hex.EncodeToString(h[:]))
	}
	slices.Sort(out)
	return out
}
