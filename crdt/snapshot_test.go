package crdt

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

// sameAsReplayed checks that the site has of a document, however it opened it, what its stored changes alone say.
func sameAsReplayed(tb testing.TB, s *site, id engine.DocumentID) {
	tb.Helper()
	replayed := newDocument(mustAbout(tb, s, id), s.shelf.documents[id].About)
	must(tb, replayed.catchUp(tb.Context(), s.shelf))
	s.open(tb, id, func(d *document) {
		for _, h := range []*history{d.history, replayed.history} {
			for _, k := range h.cells {
				for i := range k.puts {
					if len(k.puts[i].value) == 0 {
						k.puts[i].value = nil // empty or nil, it is all the same
					}
				}
			}
		}
		if !reflect.DeepEqual(d.history, replayed.history) {
			tb.Fatalf("opened it is\n%+v\nreplayed\n%+v", d.history, replayed.history)
		}
		if got, want := ownReading(tb, d), s.history(d); !equalEntries(got, want) {
			tb.Fatalf("Automerge shows %v, we %v", got, want)
		}
	})
}

func mustAbout(tb testing.TB, s *site, id engine.DocumentID) engine.About {
	tb.Helper()
	about, err := decodeAbout(s.shelf.documents[id].About)
	must(tb, err)
	return about
}

// talked returns paris with a document of about n changes by two sites that heard of each other now and then, and nantes.
func talked(tb testing.TB, n int) (paris, nantes *site, id engine.DocumentID) {
	tb.Helper()
	paris, nantes = newSite(tb, "paris", 0, newShelf()), newSite(tb, "nantes", 0, newShelf())
	about := resource(paris, nantes)
	id = paris.create(tb, about)
	nantes.create(tb, about)
	for i := range n / 2 {
		a := paris.write(tb, id, paris.entry(engine.MapOperations, fmt.Sprint(i), fmt.Sprint("operation ", i)), paris.entry(engine.MapReplicas, "", fmt.Sprint(i)))
		b := nantes.write(tb, id, nantes.entry(engine.MapReplicas, "", fmt.Sprint(i)), nantes.entry(engine.MapOutcomes, fmt.Sprint(i%7), ""))
		_, err := paris.merge(tb, id, b)
		must(tb, err)
		_, err = nantes.merge(tb, id, a)
		must(tb, err)
	}
	return paris, nantes, id
}

// goOn writes at the site, and lets another one that knows the document hear of it.
func goOn(tb testing.TB, s, other *site, id engine.DocumentID) {
	tb.Helper()
	c := s.write(tb, id, s.entry(engine.MapReplicas, "", "on"))
	if entries, err := other.merge(tb, id, c); err != nil || len(entries) != 1 || string(entries[0].Value) != "on" {
		tb.Fatalf("elsewhere: %v, %v", entries, err)
	}
}

func TestSnapshotSparesReplaying(t *testing.T) {
	paris, nantes, id := talked(t, 250)
	if n := paris.shelf.saves; n != 2 {
		t.Errorf("%d snapshots of 250 changes", n)
	}
	paris.shelf.given = 0
	again := newSite(t, "paris", 1, paris.shelf)
	sameAsReplayed(t, again, id)
	if n := paris.shelf.given; n <= 250 || n > 250+snapshotEvery { // sameAsReplayed asked for all of them
		t.Errorf("%d changes replayed", n-250)
	}
	again.Forget(id)
	paris.shelf.given = 0
	if got, want := again.heads(t, id), nantes.heads(t, id); got != want {
		t.Error("other heads than at the other site")
	}
	if n := paris.shelf.given; n == 0 || n > snapshotEvery {
		t.Errorf("%d changes replayed", n)
	}
	goOn(t, again, nantes, id)
	sameAsReplayed(t, again, id)
}

// TestSnapshotAfterReplaying opens a document whose snapshot was lost.
func TestSnapshotAfterReplaying(t *testing.T) {
	paris, _, id := talked(t, 250)
	clear(paris.shelf.snapshots)
	newSite(t, "paris", 1, paris.shelf).entries(t, id)
	paris.shelf.given = 0
	newSite(t, "paris", 2, paris.shelf).entries(t, id)
	if n := paris.shelf.given; n != 0 {
		t.Errorf("%d changes replayed after a snapshot of all", n)
	}
}

func TestSnapshotOfWhatIsStoredOnly(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	id := paris.create(t, resource(paris))
	for range snapshotEvery + 5 {
		_, err := paris.Write(t.Context(), id, []engine.Entry{paris.entry(engine.MapReplicas, "", "x")})
		must(t, err)
	}
	if n := paris.shelf.saves; n != 0 {
		t.Errorf("%d snapshots of changes that are not stored", n)
	}
}

func TestSnapshotThatCannotBeSaved(t *testing.T) {
	paris := newSite(t, "paris", 0, newShelf())
	paris.shelf.full = engine.ErrStorage
	id := paris.create(t, resource(paris))
	for i := range 2*snapshotEvery + 10 {
		paris.write(t, id, paris.entry(engine.MapReplicas, "", fmt.Sprint(i)))
	}
	if n := paris.shelf.saves; n != 2 {
		t.Errorf("%d tries", n)
	}
	paris.shelf.full = nil
	again := newSite(t, "paris", 1, paris.shelf)
	sameAsReplayed(t, again, id)
	if len(paris.shelf.snapshots) != 1 {
		t.Error("no snapshot once there is room")
	}
}

// parts takes a snapshot apart.
func parts(b []byte) (first, core, changes []byte) {
	r := &reader{b: b[snapshotHeader:]}
	return r.take(32), r.take(r.uint()), r.b
}

func join(first, core, changes []byte) []byte {
	return sealSnapshot(snapshotFormat, slices.Concat(first, appendString(nil, string(core)), changes))
}

// TestWrongSnapshot opens a document beside whatever may lie there in place of its snapshot. Nobody notices.
func TestWrongSnapshot(t *testing.T) {
	paris, nantes, id := talked(t, 2*snapshotEvery+20)
	good := paris.shelf.snapshots[id]
	first, core, changes := parts(good)
	if !bytes.Equal(join(first, core, changes), good) {
		t.Fatal("taken apart and joined it is another one")
	}
	earlier := newDocument(mustAbout(t, paris, id), paris.shelf.documents[id].About)
	must(t, earlier.wake())
	other, _, otherID := talked(t, 2)
	other.shelf.documents[otherID] = paris.shelf.documents[id]
	flipped := func(at int) []byte { b := slices.Clone(good); b[at] ^= 0x10; return b }

	wrong := map[string][]byte{
		"nothing":                   {},
		"one byte":                  {snapshotFormat},
		"a byte more":               append(slices.Clone(good), 0),
		"another format":            sealSnapshot(snapshotFormat+1, good[snapshotHeader:]),
		"the document of another":   join(slices.Repeat([]byte{7}, 32), core, changes),
		"no core":                   join(first, nil, changes),
		"a core that is none":       join(first, []byte("core"), changes),
		"a core of the beginning":   join(first, earlier.core.Save(), changes),
		"a core of half its length": join(first, core[:len(core)/2], changes),
		"a long core":               sealSnapshot(snapshotFormat, append(slices.Clone(first), 0xff, 0xff, 0xff, 0xff, 0x7f)),
		"no history":                join(first, core, nil),
		"half a history":            join(first, core, changes[:len(changes)/2]),
		"a history of noise":        join(first, core, slices.Repeat([]byte("0"), 500)),
	}
	for _, at := range []int{0, 1, 20, 33, 64, 65, 100, len(good) / 2, len(good) - 1} {
		wrong[fmt.Sprint("byte ", at)] = flipped(at)
		wrong[fmt.Sprint("cut at ", at)] = good[:at]
	}
	start := 0
	for name, b := range wrong {
		t.Run(name, func(t *testing.T) {
			start++
			paris.shelf.snapshots[id] = b
			again := newSite(t, "paris", start, paris.shelf)
			if got, want := again.heads(t, id), nantes.heads(t, id); got != want {
				t.Fatal("other heads than at the other site")
			}
			goOn(t, again, nantes, id)
			sameAsReplayed(t, again, id)
			if bytes.Equal(paris.shelf.snapshots[id], b) {
				t.Error("it is still there")
			}
		})
	}
}

// TestSnapshotNewerThanTheLog loses stored changes that a snapshot covers. What counts is what is stored.
func TestSnapshotNewerThanTheLog(t *testing.T) {
	paris, nantes, id := talked(t, snapshotEvery+10)
	lost := len(paris.shelf.changes[id]) - 30
	paris.shelf.changes[id] = paris.shelf.changes[id][:lost]
	again := newSite(t, "paris", 1, paris.shelf)
	sameAsReplayed(t, again, id)
	if again.heads(t, id) == nantes.heads(t, id) {
		t.Fatal("the lost changes are still shown")
	}
	var all []engine.SignedChange
	for _, row := range nantes.shelf.changes[id] {
		all = append(all, row.SignedChange)
	}
	if _, err := again.merge(t, id, all...); err != nil {
		t.Fatal(err)
	}
	sameAsReplayed(t, again, id)
	goOn(t, again, nantes, id)
}

// FuzzSnapshot restores documents from histories of any bytes. What it takes it writes again as something that says the
// same.
func FuzzSnapshot(f *testing.F) {
	paris, _, id := talked(f, 6)
	about, b := mustAbout(f, paris, id), paris.shelf.documents[id].About
	paris.open(f, id, func(d *document) { f.Add(d.history.appendTo(nil)) })
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, changes []byte) {
		d := newDocument(about, b)
		first := d.history.names()[0]
		if d.restore(join(first[:], nil, changes)) != nil {
			return
		}
		d.history.entries()
		d.history.digest()
		d.history.version()
	})
}
