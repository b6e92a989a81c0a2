package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// A loop is tested with a store, a network and an application that keep everything in memory and write down, in one list, what is
// asked of them.

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var boxes = &engine.Kind{Service: "store", Name: "box", Collection: "/boxes", Item: "/boxes/{id}", ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}

// world is the loop of a site with all that is around it.
type world struct {
	*Site
	t      *testing.T
	self   engine.SiteID
	limits Limits
	now    time.Time
	ids    int
	// did is what was asked of the world outside, in this order.
	did []string
	// struck has the next identifier strike the loop as a defect of its own would.
	struck bool
	// looked is how often the loop has asked which sites can be reached.
	looked int
	// ill has the application fail; cut says that nantes cannot be reached; hurries has an hour pass whenever the time is looked at, for a while.
	ill, cut, hurries bool
	store             *memory
	letters           []*engine.Letter
	to                [][]engine.SiteID
	objects           map[engine.LocalID]bool
}

// newWorld returns that of paris.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, "paris", Limits{})
}

func newWorldOf(t *testing.T, self engine.SiteID, limits Limits) *world {
	t.Helper()
	w := &world{t: t, self: self, limits: limits, now: began, objects: map[engine.LocalID]bool{}}
	w.store = &memory{w: w, records: map[engine.DocumentID]engine.Record{}, changes: map[engine.DocumentID][]engine.StoredChange{},
		operations: map[engine.OperationID]engine.OperationRow{}}
	w.start()
	return w
}

// start begins a process of the site, on what is stored.
func (w *world) start() {
	w.t.Helper()
	s, err := New(w.t.Context(), Config{Self: w.self, Limits: w.limits, Kinds: []*engine.Kind{boxes}, Documents: plain{}, Statuses: unsigned{}, Store: w.store,
		Blobs: noBlobs{}, App: application{w: w}, Catalog: catalog{}, Members: members{}, Log: slog.New(slog.DiscardHandler),
		Now: w.clock, NewID: w.newID, Random: func() float64 { return 0.5 }, Inline: true, Await: w.await})
	if err != nil {
		w.t.Fatal(err)
	}
	s.Attach(network{w: w}, nil)
	w.Site = s
}

func (w *world) clock() time.Time {
	if w.hurries && len(w.did) < 1000 {
		w.now = w.now.Add(time.Hour)
	}
	return w.now
}

func (w *world) newID() string {
	if w.struck {
		panic("struck")
	}
	w.ids++
	return fmt.Sprintf("%08d-0000-7000-8000-000000000000", w.ids)
}

// await takes turns until something is ready.
func (w *world) await(ready func() bool) {
	for turn := 0; !ready(); turn++ {
		if !w.Step(w.t.Context()) || turn > 100 {
			w.t.Fatalf("it does not come to an end: %s", w.did)
		}
	}
}

// settle takes turns as long as there is something to do now.
func (w *world) settle() {
	for w.Step(w.t.Context()) {
	}
}

func (w *world) note(format string, args ...any) { w.did = append(w.did, fmt.Sprintf(format, args...)) }

func (w *world) trace() string { return strings.Join(w.did, "; ") }

// document is that of a box at paris and nantes.
func document(name string) (engine.About, engine.DocumentID) {
	about := engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: engine.ResourceID(name), Placement: []engine.SiteID{"nantes", "paris"}}
	_, id, _ := plain{}.Identify(about)
	return about, id
}

// ask puts in a request that makes a box. It is told what came of it.
func (w *world) ask(name string) *replica.Given {
	about, id := document(name)
	given := &replica.Given{Err: errors.New("no answer")}
	a := &replica.Ask{Operation: engine.OperationID(w.newID()), Creates: true, Request: engine.Request{Kind: boxes, Type: engine.TypeCreate, Method: "PUT",
		Path: "/boxes/{id}", Target: name, Body: []byte(`{"name":"` + name + `"}`)}}
	a.Done = func(g replica.Given) {
		*given = g
		w.note("answer %s", name)
	}
	if _, err := w.give(id, &about, a); err != nil {
		w.t.Fatal(err)
	}
	return given
}

// plain are documents without a signature, whose changes are their entries.
type plain struct{}

type plainChange struct {
	Number, Begins uint64
	Previous       [32]byte
	Entries        []engine.Entry
}

func (plain) Identify(about engine.About) ([]byte, engine.DocumentID, error) {
	b := engine.Encode(&about)
	h := sha256.Sum256(b)
	return b, engine.DocumentID(hex.EncodeToString(h[:])), nil
}

func (p plain) Decode(b []byte) (about engine.About, id engine.DocumentID, err error) {
	if err := engine.Decode(b, &about); err != nil {
		return about, "", err
	}
	_, id, err = p.Identify(about)
	return about, id, err
}

func (plain) First(about engine.About, _ engine.DocumentID, epoch uint64) engine.Tip {
	return engine.Tip{Hash: sha256.Sum256(fmt.Append(nil, about.Key, epoch))}
}

func (plain) SignChanges([]*engine.Change) {}

func (p plain) Write(about engine.About, id engine.DocumentID, epoch uint64, line engine.Line, tip engine.Tip, entries []engine.Entry) (*engine.Change, error) {
	b := engine.Encode(&plainChange{tip.Number + 1, tip.Last + 1, tip.Hash, entries})
	return p.Read(about, id, epoch, engine.SignedChange{Line: line, Bytes: b}, true)
}

func (plain) Read(_ engine.About, id engine.DocumentID, epoch uint64, c engine.SignedChange, _ bool) (*engine.Change, error) {
	var p plainChange
	if err := engine.Decode(c.Bytes, &p); err != nil {
		return nil, err
	}
	return &engine.Change{SignedChange: c, Document: id, Epoch: epoch, Number: p.Number, Hash: sha256.Sum256(c.Bytes), Previous: p.Previous, Begins: p.Begins,
		Entries: p.Entries}, nil
}

func (plain) Sign([]byte) []byte                         { return nil }
func (plain) Verify(engine.SiteID, []byte, []byte) error { return nil }

// unsigned are batches of statuses without a signature.
type unsigned struct{}

func (unsigned) SignStatuses(statuses [][]byte) engine.StatusBatch {
	return engine.StatusBatch{Site: "paris", Statuses: statuses}
}

func (unsigned) OpenBatch(b engine.StatusBatch) (list []engine.SignedStatus, err error) {
	for i, st := range b.Statuses {
		list = append(list, engine.SignedStatus{Site: b.Site, Status: st, Index: uint64(i), Size: uint64(len(b.Statuses))})
	}
	return list, nil
}

func (unsigned) VerifyStatus(engine.SignedStatus) error { return nil }

// members are paris, nantes and lille, which has no part in anything.
type members struct{ Members }

func (members) IsMember(engine.SiteID) bool           { return true }
func (members) WasAdmitted(id engine.SiteID) bool     { return id != "rennes" }
func (members) Name(id engine.SiteID) engine.SiteName { return engine.SiteName(id) }
func (members) Writable() error                       { return nil }
func (members) Run() string                           { return "run" }

func (members) Mismatch(engine.ServiceName, engine.KindName, []engine.SiteID) string { return "" }
func (members) Distances() func(a, b engine.SiteID) (time.Duration, bool) {
	return func(a, b engine.SiteID) (time.Duration, bool) { return 0, false }
}

type network struct {
	engine.Network
	w *world
}

func (n network) Send(to []engine.SiteID, l *engine.Letter) {
	n.w.note("send to %s", joinSites(to))
	n.w.letters, n.w.to = append(n.w.letters, l), append(n.w.to, to)
}

func (n network) Status() map[engine.SiteID]engine.SiteStatus {
	n.w.looked++
	return map[engine.SiteID]engine.SiteStatus{"nantes": {Reachable: !n.w.cut}, "lille": {Reachable: true}}
}

// application has boxes under the names that clients choose.
type application struct {
	engine.Application
	w *world
}

func (a application) Do(_ context.Context, c engine.Call) (engine.Reply, error) {
	a.w.note("%s %s", c.Method, c.Local)
	if a.w.ill {
		return engine.Reply{Status: 500}, nil
	}
	was := a.w.objects[c.Local]
	if c.Method == "PUT" {
		a.w.objects[c.Local] = true
	}
	switch {
	case c.Method == "GET" && !was:
		return engine.Reply{Status: 404}, nil
	case c.Method == "PUT" && !was:
		return engine.Reply{Status: 201, Local: c.Local, Body: c.Body}, nil
	}
	return engine.Reply{Status: 200, Body: []byte(`{"name":"` + string(c.Local) + `"}`)}, nil
}

func (application) Present(_ context.Context, _ *engine.Kind, r engine.Reply) (engine.Reply, error) {
	return r, nil
}

type catalog struct{}

func (catalog) Classify(_ engine.ServiceName, method, _ string, _ map[string]string) (engine.KindName, engine.Type, bool) {
	return "box", map[string]engine.Type{"PUT": engine.TypeCreate, "DELETE": engine.TypeDelete}[method], true
}

type noBlobs struct{ engine.Blobs }

func (noBlobs) Sweep(map[engine.BlobHash]bool) error { return nil }
func (noBlobs) Has(engine.BlobRef) bool              { return false }

// memory is a store. It fails while fails is set, and then nothing of a batch has happened.
type memory struct {
	engine.Store
	w          *world
	fails      error
	brief      int // how many records were that
	records    map[engine.DocumentID]engine.Record
	changes    map[engine.DocumentID][]engine.StoredChange
	operations map[engine.OperationID]engine.OperationRow
}

func (m *memory) Commit(_ context.Context, b *engine.Batch) error {
	if b.Told != nil {
		b.Told()
	}
	if m.fails != nil {
		m.w.note("commit fails")
		return m.fails
	}
	m.w.note("commit %d changes", len(b.Changes))
	for _, r := range b.Records { // what is nil stays as it is
		if r.Brief {
			m.brief++
		}
		if old := m.records[r.Row.Document]; r.About == nil {
			r.About = old.About
		}
		if old := m.records[r.Row.Document]; r.Statuses == nil {
			r.Statuses = old.Statuses
		}
		m.records[r.Row.Document] = r
	}
	for _, c := range b.Changes {
		m.changes[c.Document] = append(m.changes[c.Document], engine.StoredChange{SignedChange: c.SignedChange, Epoch: c.Epoch, Number: c.Number})
	}
	for _, o := range b.Operations {
		m.operations[o.ID] = o
	}
	return nil
}

func (m *memory) Record(_ context.Context, id engine.DocumentID) (engine.Record, error) {
	r, ok := m.records[id]
	if !ok {
		return r, engine.ErrNotFound
	}
	return r, nil
}

func (*memory) Forkers(context.Context) (map[engine.SiteID]int, error) { return nil, nil }

func (*memory) Forks(context.Context, engine.DocumentID) ([]engine.ProvenFork, error) {
	return nil, nil
}

func (m *memory) Changes(_ context.Context, id engine.DocumentID, _ map[uint64]map[engine.Line]uint64, _ int) ([]engine.StoredChange, bool, error) {
	return m.changes[id], false, nil
}

func (m *memory) AllDigests(_ context.Context, each func(engine.Digest, []engine.SiteID, map[engine.SiteID]engine.Fingerprint)) error {
	for id, r := range m.records {
		each(engine.Digest{Document: id, Digest: r.Digest}, r.Peers, r.Apart)
	}
	return nil
}

func (m *memory) ResourceByDocument(_ context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	r, err := m.Record(context.Background(), id)
	return r.Row, err
}

func (m *memory) ResourceByLocal(context.Context, engine.ServiceName, engine.KindName, engine.LocalID) (engine.ResourceRow, error) {
	return engine.ResourceRow{}, engine.ErrNotFound
}

func (m *memory) ResourceByID(context.Context, engine.ServiceName, engine.KindName, engine.ResourceID) (engine.ResourceRow, error) {
	return engine.ResourceRow{}, engine.ErrNotFound
}

func (m *memory) Operation(_ context.Context, id engine.OperationID) (engine.OperationRow, error) {
	o, ok := m.operations[id]
	if !ok {
		return o, engine.ErrNotFound
	}
	return o, nil
}

func (m *memory) SameName(context.Context, engine.ServiceName, engine.KindName, engine.ResourceID) ([]engine.DocumentID, error) {
	return nil, nil
}

func (m *memory) ConflictsOf(context.Context, engine.DocumentID) ([]engine.Conflict, error) {
	return nil, nil
}

func (m *memory) Resources(context.Context, engine.ResourceFilter) ([]engine.ResourceRow, string, error) {
	return nil, "", nil
}

func (m *memory) Pending(context.Context) (list []engine.DocumentID, err error) {
	for id, r := range m.records {
		if r.Row.Pending {
			list = append(list, id)
		}
	}
	return list, nil
}

func (m *memory) NeededBlobs(context.Context) ([]engine.NeededBlob, error) { return nil, nil }

func (m *memory) ForgetOperations(context.Context, time.Time, int) (int, error) { return 0, nil }

func (m *memory) CountResources(context.Context) (map[engine.State]int, error) { return nil, nil }
