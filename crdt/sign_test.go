package crdt

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// together are changes of as many documents, signed together.
func together(tb testing.TB, d *document, by *Documents, n int) []*engine.Change {
	tb.Helper()
	var list []*engine.Change
	for i := range n {
		c, err := by.Write(d.about, d.id, 0, lineOf(by), by.First(d.about, d.id, 0), []engine.Entry{{Map: engine.MapOperations, Value: fmt.Append(nil, "change ", i)}})
		must(tb, err)
		list = append(list, c)
	}
	by.SignChanges(list)
	return list
}

// counting counts what is signed and verified.
type counting struct{ signed, verified *int }

func (c counting) Sign(key ed25519.PrivateKey, m []byte) []byte {
	*c.signed++
	return Ed25519{}.Sign(key, m)
}

func (c counting) Verify(key ed25519.PublicKey, m, signature []byte) bool {
	*c.verified++
	return Ed25519{}.Verify(key, m, signature)
}

// TestChangesSignedTogether: they have one signature, which is checked once, and each can be read alone.
func TestChangesSignedTogether(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	n := counting{new(int), new(int)}
	paris.scheme, nantes.scheme = n, n
	d := newDocument(t, paris, replicated(paris, nantes), 0)
	for size := 1; size <= 20; size++ {
		*n.signed, *n.verified = 0, 0
		list := together(t, d, paris, size)
		slices.Reverse(list)
		for _, c := range list {
			_, err := nantes.Read(d.about, d.id, 0, c.SignedChange, false)
			must(t, err)
		}
		if *n.signed != 1 || *n.verified != 1 {
			t.Errorf("%d changes: %d signatures were made, %d checked", size, *n.signed, *n.verified)
		}
	}
	if *n.signed = 0; len(together(t, d, paris, engine.MaxBatch+1)) == 0 || *n.signed != 2 {
		t.Errorf("%d signatures for more than go together", *n.signed)
	}
}

func TestForgedChangesTogether(t *testing.T) {
	paris, nantes := newSite(t, "paris"), newSite(t, "nantes")
	d := newDocument(t, paris, replicated(paris, nantes), 0)
	list := together(t, d, paris, 5)
	_, err := nantes.Read(d.about, d.id, 0, list[0].SignedChange, false)
	must(t, err)
	statuses := paris.SignStatuses([][]byte{statement(d.id, 0, list[2].Hash), statement(d.id, 0, list[3].Hash)})
	for name, spoil := range map[string]func(s []byte) []byte{
		"nothing but its place":  func(s []byte) []byte { return s[:68] },
		"no place":               func(s []byte) []byte { return s[:64] },
		"half a place":           func(s []byte) []byte { return s[:66] },
		"another place":          func(s []byte) []byte { s[65]++; return s },
		"beyond the last place":  func(s []byte) []byte { s[65] = 5; return s },
		"another number of them": func(s []byte) []byte { s[67]--; return s },
		"none of them":           func(s []byte) []byte { s[67] = 0; return s },
		"one of one":             func(s []byte) []byte { return append(s[:64], 0, 0, 0, 1) },
		"a short path":           func(s []byte) []byte { return s[:len(s)-1] },
		"a long path":            func(s []byte) []byte { return append(s, 0) },
		"another path":           func(s []byte) []byte { s[70] ^= 1; return s },
		"a signature over statuses": func([]byte) []byte {
			return append(append(statuses.Signature, 0, 0, 0, 2), newTree(statuses.Statuses).path(0)...)
		},
	} {
		c := list[2].SignedChange
		c.Signature = spoil(bytes.Clone(c.Signature))
		if _, err := nantes.Read(d.about, d.id, 0, c, false); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	about := d.about
	about.Key = "another"
	if other := newDocument(t, nantes, about, 0); other.id == d.id {
		t.Error("two documents have one identifier")
	} else if _, err := nantes.Read(about, other.id, 0, list[2].SignedChange, false); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("in another document: %v", err)
	}
	if _, err := nantes.Read(d.about, d.id, 0, list[2].SignedChange, false); err != nil {
		t.Errorf("as it is: %v", err)
	}
}
