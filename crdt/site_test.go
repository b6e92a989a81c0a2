package crdt

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/skerry/skerry/engine"
)

// shelf is a Loader in memory.
type shelf struct {
	mu        sync.Mutex
	documents map[engine.DocumentID]engine.DocumentRow
	changes   map[engine.DocumentID][]engine.ChangeRow
	snapshots map[engine.DocumentID][]byte
	fault     error // what Document fails with, unless nil
	full      error // what SaveSnapshot fails with, unless nil
	saves     int   // how often SaveSnapshot was called
	given     int   // how many changes Changes has given
}

func newShelf() *shelf {
	return &shelf{documents: map[engine.DocumentID]engine.DocumentRow{}, changes: map[engine.DocumentID][]engine.ChangeRow{},
		snapshots: map[engine.DocumentID][]byte{}}
}

func (s *shelf) store(id engine.DocumentID, about []byte, rows ...engine.ChangeRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.documents[id] = engine.DocumentRow{ID: id, About: about}
	s.changes[id] = append(s.changes[id], rows...)
}

func (s *shelf) Document(_ context.Context, id engine.DocumentID) (engine.DocumentRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.documents[id]
	if !ok {
		return row, cmp.Or(s.fault, engine.ErrNotFound)
	}
	return row, s.fault
}

func (s *shelf) Version(_ context.Context, id engine.DocumentID) (engine.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := engine.Version{}
	for _, row := range s.changes[id] {
		v[row.Actor] = max(v[row.Actor], row.Seq)
	}
	return v, nil
}

func (s *shelf) Changes(_ context.Context, id engine.DocumentID, have engine.Version, limit int) ([]engine.ChangeRow, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []engine.ChangeRow
	size := 0
	for _, row := range s.changes[id] {
		if row.Seq <= have[row.Actor] {
			continue
		}
		if limit > 0 && len(out) > 0 && size+len(row.Bytes) > limit {
			return out, true, nil
		}
		size += len(row.Bytes)
		out = append(out, row)
		s.given++
	}
	return out, false, nil
}

func (s *shelf) Snapshot(_ context.Context, id engine.DocumentID) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.snapshots[id]
	if !ok {
		return nil, engine.ErrNotFound
	}
	return b, nil
}

func (s *shelf) SaveSnapshot(_ context.Context, id engine.DocumentID, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.full == nil {
		s.snapshots[id] = slices.Clone(b)
	}
	return s.full
}

// site is one author with its documents and what it has stored.
type site struct {
	*Set
	id    engine.SiteID
	key   crypto.PrivKey
	shelf *shelf
}

// noise yields bytes that depend on its seed alone.
type noise struct {
	seed string
	n    int
}

func (n *noise) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = sha256sum(fmt.Sprint(n.seed, n.n))
		n.n++
	}
	return len(b), nil
}

func sha256sum(s string) byte { sum := sha256.Sum256([]byte(s)); return sum[0] }

func siteKey(tb testing.TB, name string) (engine.SiteID, crypto.PrivKey) {
	tb.Helper()
	key, _, err := crypto.GenerateEd25519Key(&noise{seed: name})
	must(tb, err)
	id, err := peer.IDFromPrivateKey(key)
	must(tb, err)
	return engine.SiteID(id.String()), key
}

// newSite makes the site called name in its process number start, on what is on shelf.
func newSite(tb testing.TB, name string, start int, on *shelf) *site {
	tb.Helper()
	id, key := siteKey(tb, name)
	set, err := New(id, key, &noise{seed: fmt.Sprint(name, " start ", start)}, on, 16)
	must(tb, err)
	return &site{Set: set, id: id, key: key, shelf: on}
}

// resource is an About of a resource at sites.
func resource(sites ...*site) engine.About {
	var placement []engine.SiteID
	for _, s := range sites {
		placement = append(placement, s.id)
	}
	slices.Sort(placement)
	return engine.About{Schema: engine.SchemaResource, Service: "images", Kind: "image", Collaboration: "replication",
		Key: "debian", Placement: slices.Compact(placement)}
}

// create makes the document at the site and stores it.
func (s *site) create(tb testing.TB, about engine.About) engine.DocumentID {
	tb.Helper()
	b, id, err := s.Encode(about)
	must(tb, err)
	_, err = s.Create(id, b)
	must(tb, err)
	s.shelf.store(id, b)
	return id
}

// write writes entries and stores the change.
func (s *site) write(tb testing.TB, id engine.DocumentID, entries ...engine.Entry) engine.SignedChange {
	tb.Helper()
	row, err := s.Write(tb.Context(), id, entries)
	must(tb, err)
	s.shelf.store(id, s.shelf.documents[id].About, row)
	return row.SignedChange
}

// merge merges changes and stores what was applied.
func (s *site) merge(tb testing.TB, id engine.DocumentID, changes ...engine.SignedChange) ([]engine.Entry, error) {
	rows, entries, err := s.Merge(tb.Context(), id, changes, anyone)
	s.shelf.store(id, s.shelf.documents[id].About, rows...)
	return entries, err
}

func (s *site) entry(m engine.MapName, sub, value string) engine.Entry {
	key := string(s.id)
	if sub != "" {
		key += "/" + sub
	}
	return engine.Entry{Map: m, Key: key, Value: []byte(value)}
}

func (s *site) entries(tb testing.TB, id engine.DocumentID) []engine.Entry {
	tb.Helper()
	out, err := s.Entries(tb.Context(), id)
	must(tb, err)
	return out
}

func (s *site) heads(tb testing.TB, id engine.DocumentID) [32]byte {
	tb.Helper()
	out, err := s.Heads(tb.Context(), id)
	must(tb, err)
	return out
}

// open hands out the document as it is open at the site, awake.
func (s *site) open(tb testing.TB, id engine.DocumentID, f func(*document)) {
	tb.Helper()
	must(tb, s.use(tb.Context(), id, func(d *document) (bool, error) {
		must(tb, d.wake())
		f(d)
		return false, nil
	}))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func equalEntries(a, b []engine.Entry) bool {
	return slices.EqualFunc(a, b, func(x, y engine.Entry) bool {
		return x.Map == y.Map && x.Key == y.Key && bytes.Equal(x.Value, y.Value)
	})
}

func compareEntries(a, b engine.Entry) int {
	return cmp.Or(cmp.Compare(a.Map, b.Map), cmp.Compare(a.Key, b.Key))
}

// anyone may write.
func anyone(engine.SiteID) bool { return true }
