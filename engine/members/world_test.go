package members

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// noon is when tests begin.
var noon = time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)

func must(tb interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// disk is a store of records and events in memory.
type disk struct {
	records map[diskKey]engine.SignedRecord
	numbers map[diskKey]uint64
	events  []engine.Event
	commits int
	// fail, unless nil, is what the next commits get: nothing of them is done.
	fail error
	// during, unless nil, is called while the disk is written.
	during func()
}

type diskKey struct {
	author engine.SiteID
	key    engine.RecordKey
}

func newDisk() *disk {
	return &disk{records: map[diskKey]engine.SignedRecord{}, numbers: map[diskKey]uint64{}}
}

func (d *disk) Commit(_ context.Context, b *engine.Batch) error {
	if d.fail != nil {
		return d.fail
	}
	if d.during != nil {
		d.during()
	}
	d.commits++
	for _, raw := range b.Mesh {
		var r engine.MeshRecord
		if err := engine.Decode(raw.Record, &r); err != nil {
			return err
		}
		if k := (diskKey{raw.Author, r.Key}); r.Number >= d.numbers[k] {
			d.records[k], d.numbers[k] = raw, r.Number
		}
	}
	for _, raw := range b.MeshDropped {
		var r engine.MeshRecord
		if err := engine.Decode(raw.Record, &r); err != nil {
			return err
		}
		delete(d.records, diskKey{raw.Author, r.Key})
		delete(d.numbers, diskKey{raw.Author, r.Key})
	}
	d.events = append(d.events, b.Events...)
	return nil
}

func (d *disk) Mesh(context.Context) ([]engine.SignedRecord, error) {
	return slices.SortedFunc(maps.Values(d.records), func(a, b engine.SignedRecord) int { return cmp.Compare(a.Author, b.Author) }), nil
}

// copy is what a backup has of the disk.
func (d *disk) copy() *disk {
	return &disk{records: maps.Clone(d.records), numbers: maps.Clone(d.numbers), events: slices.Clone(d.events)}
}

func (d *disk) count(event string) (n int) {
	for _, e := range d.events {
		if e.Type == event {
			n++
		}
	}
	return n
}

// key signs for one site, whose identifier is the public key in hex.
type key ed25519.PrivateKey

func (k key) site() engine.SiteID {
	return engine.SiteID(hex.EncodeToString(ed25519.PrivateKey(k).Public().(ed25519.PublicKey)))
}

func (k key) Sign(message []byte) []byte { return ed25519.Sign(ed25519.PrivateKey(k), message) }

func (k key) Verify(site engine.SiteID, message, signature []byte) error {
	public, err := hex.DecodeString(string(site))
	if err != nil || len(public) != ed25519.PublicKeySize || !ed25519.Verify(public, message, signature) {
		return fmt.Errorf("verify: %w", engine.ErrRefused)
	}
	return nil
}

func keyOf(name string) key {
	var seed [ed25519.SeedSize]byte
	copy(seed[:], name)
	return key(ed25519.NewKeyFromSeed(seed[:]))
}

// world is some sites and the ways between them.
type world struct {
	tb    testing.TB
	now   time.Time
	count uint64 // of what is random or has to be new
	sites []*site
	mail  []mail
	// cut tells between whom nothing goes.
	cut  map[[2]string]bool
	sent int
}

type mail struct {
	from, to engine.SiteID
	letter   *engine.Letter
}

func newWorld(tb testing.TB) *world {
	return &world{tb: tb, now: noon, cut: map[[2]string]bool{}}
}

// site is one run of an agent.
type site struct {
	*Members
	w        *world
	name     string
	key      key
	disk     *disk
	news     []mesh.News
	rejoined int
}

// start starts an agent on a disk.
func (w *world) start(name string, d *disk) *site {
	w.tb.Helper()
	s := &site{w: w, name: name, key: keyOf(name), disk: d}
	m, err := New(w.tb.Context(), Config{Self: s.key.site(), Documents: s.key, Store: d, Log: slog.New(slog.DiscardHandler),
		Now:   func() time.Time { return w.now },
		NewID: func() string { w.count++; return fmt.Sprint("id-", w.count) },
		Random: func(b []byte) {
			w.count++
			for i, x := range binary.BigEndian.AppendUint64(nil, w.count*0x9E3779B97F4A7C15) {
				if i < len(b) {
					b[i] = x
				}
			}
		},
		Changed:  func(n mesh.News) { s.news = append(s.news, n) },
		Rejoined: func() { s.rejoined++ },
	})
	must(w.tb, err)
	s.Members = m
	m.Attach(s)
	w.sites = append(w.sites, s)
	return s
}

func (w *world) stop(s *site) {
	w.sites = slices.DeleteFunc(w.sites, func(o *site) bool { return o == s })
}

// restart starts the agent anew, on this disk.
func (s *site) restart(d *disk) *site {
	s.w.stop(s)
	return s.w.start(s.name, d)
}

// found starts the first site of a mesh.
func (w *world) found(name string) *site {
	s := w.start(name, newDisk())
	must(w.tb, s.Found(w.tb.Context(), engine.SiteRecord{Name: engine.SiteName(name)}))
	return s
}

// join starts a site that another lets in.
func (w *world) join(by *site, name string) *site {
	w.tb.Helper()
	s := w.start(name, newDisk())
	s.enter(by)
	return s
}

func (s *site) enter(by *site) {
	tb := s.w.tb
	tb.Helper()
	i, secret, err := by.Invite(tb.Context(), time.Hour, 1, 0)
	must(tb, err)
	record := engine.SiteRecord{Name: engine.SiteName(s.name)}
	records, err := by.Admit(tb.Context(), engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: s.Self(), Record: record})
	must(tb, err)
	must(tb, s.Adopt(tb.Context(), by.MeshID(), by.Founder(), records))
	must(tb, s.Announce(tb.Context(), record))
	s.w.deliver()
}

// three starts a mesh of three sites that know of each other. Nantes and paris are its authorities, in this order.
func three(tb testing.TB) (w *world, paris, nantes, lyon *site) {
	tb.Helper()
	w = newWorld(tb)
	paris = w.found("paris")
	nantes = w.join(paris, "nantes")
	must(tb, paris.AddAuthority(tb.Context(), nantes.Self(), true))
	w.deliver()
	lyon = w.join(nantes, "lyon")
	return w, paris, nantes, lyon
}

// deliver brings all letters that are under way.
func (w *world) deliver() {
	w.tb.Helper()
	for len(w.mail) > 0 {
		m := w.mail[0]
		w.mail = w.mail[1:]
		w.sent++
		for _, s := range w.sites {
			if s.Self() == m.to {
				w.allow(s.Take(w.tb.Context(), m.from, m.letter.Records, m.letter.Sent))
			}
		}
	}
}

// allow lets pass what honest sites may answer to each other.
func (w *world) allow(err error) {
	w.tb.Helper()
	if err != nil && !errors.Is(err, ErrCloned) && !errors.Is(err, engine.ErrStorage) && !errors.Is(err, engine.ErrMissing) {
		w.tb.Fatal(err)
	}
}

// compare gives two sites what the other has.
func (w *world) compare(a, b *site) {
	w.tb.Helper()
	w.allow(a.Take(w.tb.Context(), b.Self(), b.Records(), nil))
	w.allow(b.Take(w.tb.Context(), a.Self(), a.Records(), nil))
}

func (w *world) isCut(a, b string) bool { return w.cut[[2]string{a, b}] || w.cut[[2]string{b, a}] }

// Send implements engine.Network.
func (s *site) Send(to []engine.SiteID, l *engine.Letter) {
	for _, id := range to {
		if s.Status()[id].Reachable {
			s.w.mail = append(s.w.mail, mail{s.Self(), id, l})
		}
	}
}

// Status implements engine.Network.
func (s *site) Status() map[engine.SiteID]engine.SiteStatus {
	status := map[engine.SiteID]engine.SiteStatus{}
	for _, o := range s.w.sites {
		if o.Self() != s.Self() {
			status[o.Self()] = engine.SiteStatus{Reachable: !s.w.isCut(s.name, o.name), RTT: time.Millisecond}
		}
	}
	return status
}

// Fetch implements engine.Network: there are no blobs here.
func (s *site) Fetch(context.Context, engine.SiteID, engine.DocumentID, engine.BlobRef, engine.Incoming) error {
	return engine.ErrNotFound
}

// signed is a record as a site would sign it.
func (k key) signed(number uint64, kind engine.RecordKind, about string, body any) engine.SignedRecord {
	r := engine.MeshRecord{Key: engine.RecordKey{Kind: kind, About: about}, Number: number, Body: engine.Encode(body)}
	if kind == engine.RecordZone || kind == engine.RecordRemoval || kind == engine.RecordCertificate {
		r.Mesh = "id-2" // what three and found make
	}
	b := engine.Encode(r)
	return engine.SignedRecord{Author: k.site(), Record: b, Signature: k.Sign(mesh.Message(b))}
}

func names(s *site) string {
	var list []engine.SiteName
	for _, m := range s.Members.Members() {
		list = append(list, m.Name)
	}
	return fmt.Sprint(list)
}

// of is what a site knows of another.
func (s *site) of(o *site) engine.Member {
	members := s.Members.Members()
	i := slices.IndexFunc(members, func(m engine.Member) bool { return m.ID == o.Self() })
	if i < 0 {
		s.w.tb.Fatalf("%s does not know %s", s.name, o.name)
	}
	return members[i]
}
