package front

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
	"github.com/skerry/skerry/engine/waiting"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	// images get their identifiers from the application, files are named in the path, disks may bring one in the body.
	images = &engine.Kind{Service: "store", Name: "image", Collection: "/images", Item: "/images/{id}",
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	files = &engine.Kind{Service: "store", Name: "file", Collection: "/files", Item: "/files/{id}",
		ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}
	disks = &engine.Kind{Service: "store", Name: "disk", Collection: "/disks", Item: "/disks/{id}",
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id", Settable: true}}
	// notes carry a marker.
	notes = &engine.Kind{Service: "store", Name: "note", Collection: "/notes", Item: "/notes/{id}", Marker: "/text",
		ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	// boxes contain things.
	boxes = &engine.Kind{Service: "store", Name: "box", Collection: "/boxes", Item: "/boxes/{id}",
		ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}}
	things = &engine.Kind{Service: "store", Name: "thing", Within: "box", Collection: "/boxes/{box}/things", Item: "/boxes/{box}/things/{id}",
		ID: engine.IDRule{From: engine.IDFromPath, At: "/name"}, Refs: []engine.Ref{{At: "/file", Service: "store", Kind: "file", Relation: engine.RelationReliance}}}
	kinds = []*engine.Kind{images, files, disks, notes, boxes, things}
)

// world is several sites in one process, and the time that all of them have.
type world struct {
	t     *testing.T
	sites []*site

	mu  sync.Mutex
	now time.Time
	ids int
	cut map[engine.SiteID]bool
}

func newWorld(t *testing.T, names ...string) *world {
	w := &world{t: t, now: start, cut: map[engine.SiteID]bool{}}
	for _, name := range names {
		s := &site{world: w, id: engine.SiteID(name), app: newApp(name), store: newStore(), bodies: &bodies{blobs: map[engine.BlobHash][]byte{}, spools: map[string][]byte{}},
			replicas: map[engine.DocumentID]*replica.Replica{}, met: true}
		w.sites = append(w.sites, s)
		s.start()
	}
	return w
}

func (w *world) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// newID makes identifiers that look like UUIDs of version 7.
func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	h := fmt.Sprintf("%012x", w.now.UnixMilli())
	return fmt.Sprintf("%s-%s-7000-8000-%012x", h[:8], h[8:], w.ids)
}

func (w *world) away(id engine.SiteID, away bool) {
	w.mu.Lock()
	w.cut[id] = away
	w.mu.Unlock()
	for _, s := range w.sites {
		s.SiteChanged(!away)
	}
}

func (w *world) reach(a, b engine.SiteID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return a == b || !w.cut[a] && !w.cut[b]
}

// settle has all sites do what is due, again and again, until nothing is left to do for a while.
func (w *world) settle() {
	w.t.Helper()
	for range 200 {
		did := false
		for _, s := range w.sites {
			for s.Step(w.t.Context()) {
				did = true
			}
		}
		if !did {
			w.pass(time.Second)
		}
		if idle := func(s *site) bool { _, due := s.Due(); return !due }; !did && !slices.ContainsFunc(w.sites, func(s *site) bool { return !idle(s) }) {
			return
		}
	}
}

// site is one of them: front, on a loop that is faked. It is Front's Site, Network, Forwarder and Members.
type site struct {
	*Front
	keeps  waiting.Rooms // the bounds of what is kept
	world  *world
	id     engine.SiteID
	app    *app
	store  *store
	bodies *bodies

	mu       sync.Mutex
	replicas map[engine.DocumentID]*replica.Replica
	asked    []*replica.Ask
	told     []string
	decided  []*replica.Decide
	// answers, unless nil, answers requests at replicas in place of the application.
	answers func(id engine.DocumentID, about *engine.About, a *replica.Ask) (replica.Given, error)
	// forwards is told of what goes out; an error in it is what is heard, if anything has been sent at all.
	forwards  func(to engine.SiteID, r engine.Request) error
	met, back bool
	waits     func() // before somebody waits
	watchers  []func()
	writable  error
}

// start starts front anew, on the disk as it is.
func (s *site) start() {
	f, err := New(s.world.t.Context(), Config{Site: loop{s}, Store: s.store, Documents: documents{}, Blobs: s.bodies, Spools: spools{s.bodies}, App: s.app, Members: s,
		Log: slog.New(slog.DiscardHandler), Now: s.world.time, NewID: s.world.newID, Kept: s.keeps,
		Await: func(func() bool) {
			if s.waits != nil {
				s.waits()
			}
		}})
	if err != nil {
		s.world.t.Fatal(err)
	}
	f.Attach(s, s)
	s.Front = f
}

func (s *site) Name(id engine.SiteID) engine.SiteName {
	return engine.SiteName("the site of " + string(id))
}

func (s *site) Status() map[engine.SiteID]engine.SiteStatus {
	all := map[engine.SiteID]engine.SiteStatus{}
	for i, other := range s.world.sites {
		if other != s {
			all[other.id] = engine.SiteStatus{Reachable: s.world.reach(s.id, other.id), RTT: time.Duration(i) * time.Millisecond}
		}
	}
	return all
}

func (s *site) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	if s.forwards != nil {
		if err := s.forwards(to, r); err != nil {
			return engine.Answer{}, err
		}
	}
	if !s.world.reach(s.id, to) {
		return engine.Answer{}, engine.ErrUnreachable
	}
	if r.Large != nil { // it streams, and what is looked into is in memory
		in, err := r.Large.Open()
		if err != nil {
			return engine.Answer{}, err
		}
		b, err := io.ReadAll(in)
		if err != nil {
			return engine.Answer{}, err
		}
		r.Large = &bodyOf{b}
	}
	r.Via = append(slices.Clone(r.Via), s.id)
	return s.world.at(to).Submit(ctx, r)
}

func (w *world) at(id engine.SiteID) *site {
	return w.sites[slices.IndexFunc(w.sites, func(s *site) bool { return s.id == id })]
}

// loop is the site as Front sees it.
type loop struct{ s *site }

func (l loop) Self() engine.SiteID { return l.s.id }
func (l loop) Kind(service engine.ServiceName, name engine.KindName) *engine.Kind {
	for _, k := range kinds {
		if k.Service == service && k.Name == name {
			return k
		}
	}
	return nil
}
func (l loop) Kinds() []*engine.Kind { return kinds }
func (l loop) Contained(k *engine.Kind) []*engine.Kind {
	if k == boxes {
		return []*engine.Kind{things}
	}
	return nil
}
func (l loop) Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	l.s.store.mu.Lock()
	defer l.s.store.mu.Unlock()
	for _, r := range l.s.store.resources {
		if r.Service == k.Service && r.Kind == k.Name && (string(r.ID) == id || string(r.Local) == id) && id != "" && !r.State.Past() {
			return r, nil
		}
	}
	return engine.ResourceRow{}, engine.ErrNotFound
}
func (l loop) Replicates(*engine.Kind) bool { return true }
func (l loop) Containers(_ context.Context, _ *engine.Kind, container string) (string, string) {
	return container, container
}
func (l loop) Everywhere(_ context.Context, _ *engine.Kind, id string) string { return id }
func (l loop) Here(_ context.Context, _ *engine.Kind, id string) engine.LocalID {
	return engine.LocalID(id)
}
func (l loop) Addressed(_ context.Context, k *engine.Kind, target, within string) engine.LocalID {
	if target == "" && k.Within != "" {
		target = engine.Inside(within, "")
	}
	return engine.LocalID(target)
}
func (l loop) Writable() error { return l.s.writable }
func (l loop) Commit(_ context.Context, b *engine.Batch) error {
	return l.s.store.commit(b)
}
func (l loop) Sends(engine.DocumentID) bool             { return false }
func (l loop) Backoff(int) time.Duration                { return time.Second }
func (l loop) Met([]engine.SiteID) bool                 { return l.s.met }
func (l loop) SetBack() bool                            { return l.s.back }
func (l loop) Served(*engine.Kind, engine.Reply, error) {}

func (l loop) Look(_ context.Context, id engine.DocumentID, f func(*replica.Replica)) error {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	r := l.s.replicas[id]
	if r == nil {
		return fmt.Errorf("look at %s: %w", id, engine.ErrNotFound)
	}
	f(r)
	return nil
}

func (l loop) Await(ctx context.Context, id engine.DocumentID, done func(*replica.Replica) bool) error {
	for {
		news := make(chan struct{})
		l.s.mu.Lock()
		l.s.watchers = append(l.s.watchers, func() { close(news) })
		l.s.mu.Unlock()
		is := false
		if err := l.Look(ctx, id, func(r *replica.Replica) { is = done(r) }); is || err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// newReplica makes one of which nothing is known but its about. The caller holds mu.
func (s *site) newReplica(id engine.DocumentID, about engine.About) *replica.Replica {
	k := loop{s}.Kind(about.Service, about.Kind)
	raw, _, _ := documents{}.Identify(about)
	r := replica.New(view.New(engine.Line(s.id), id, about, raw, k, s.Name), replica.Limits{}, false)
	s.replicas[id] = r
	return r
}

func (l loop) Tell(_ context.Context, id engine.DocumentID, about *engine.About, in replica.Input) error {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.replicas[id]
	if r == nil && about == nil {
		return engine.ErrNotFound
	}
	if r == nil {
		r = s.newReplica(id, *about)
		s.store.name(id, *about)
	}
	switch in := in.(type) {
	case *replica.Hold:
		h := in.Holding
		r.Me.Holding = &h
		s.told = append(s.told, fmt.Sprintf("hold %s: %s gone=%v", r.About.Key, h.Operation, h.Gone))
		for _, other := range s.world.sites { // the others hear of it
			if other != s && s.world.reach(s.id, other.id) {
				other.hear(id, r.About, s.id, h)
			}
		}
	case *replica.Made:
		s.told = append(s.told, fmt.Sprintf("made %s %q as %q gone=%v", in.Kind.Name, in.Local, in.Resource, in.Gone))
	case *replica.News:
		s.told = append(s.told, fmt.Sprintf("look=%v", in.Look))
	}
	return nil
}

// hear takes in what another candidate says that it holds.
func (s *site) hear(id engine.DocumentID, about engine.About, from engine.SiteID, h engine.Holding) {
	if !slices.Contains(about.Placement, s.id) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.replicas[id]
	if r == nil {
		r = s.newReplica(id, about)
		s.store.name(id, about)
	}
	st := &engine.Status{Document: id, Number: r.At(from).Number + 1, Holding: &h}
	if _, err := r.TakeStatus(st, engine.SignedStatus{Site: from}); err != nil {
		s.world.t.Error(err)
	}
}

// Ask runs a request at the application and makes a row of it, as a replica would.
func (l loop) Ask(ctx context.Context, id engine.DocumentID, about *engine.About, a *replica.Ask) (replica.Given, error) {
	s := l.s
	s.mu.Lock()
	s.asked = append(s.asked, a)
	s.mu.Unlock()
	if s.answers != nil {
		return s.answers(id, about, a)
	}
	row, known := s.store.document(id)
	if !known {
		if about == nil {
			return replica.Given{}, engine.ErrNotFound
		}
		row = engine.ResourceRow{Document: id, ID: about.Key, Service: about.Service, Kind: about.Kind, Collaboration: about.Collaboration,
			State: engine.StateConverged, CreatedAt: s.world.time(), Sites: map[engine.SiteID]engine.ReplicaStatus{}}
		for _, site := range about.Placement {
			row.Sites[site] = engine.ReplicaStatus{State: engine.StateConverged}
		}
	}
	q := a.Request
	local := row.Local
	if a.Creates {
		local = engine.LocalID(q.Target)
	}
	reply, err := s.app.Do(ctx, engine.Call{Kind: q.Kind, Method: q.Method, Path: q.Path, Local: local, Body: q.Body, Credentials: q.Credentials})
	switch {
	case errors.Is(err, engine.ErrUnreachable):
		return replica.Given{}, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Detail: "nothing has happened"}
	case err != nil:
		return replica.Given{}, &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: a.Operation, Detail: "it will be settled"}
	case reply.Status >= 300:
		return replica.Given{Answer: engine.Answer{Status: reply.Status, Body: reply.Body, Site: s.id}}, nil
	}
	if a.Creates {
		row.Local = cmp.Or(reply.Local, engine.LocalID(row.ID))
	}
	if q.Type == engine.TypeDelete {
		row.State, row.Local = engine.StateDeleted, ""
	}
	s.store.add(row)
	err = s.store.commit(&engine.Batch{
		Operations: []engine.OperationRow{{ID: a.Operation, Document: id, Resource: row.ID, Type: q.Type, Service: q.Kind.Service, Kind: q.Kind.Name, Origin: s.id,
			State: engine.StateApplied, Sites: map[engine.SiteID]engine.OperationStatus{s.id: {State: engine.StateApplied, Status: reply.Status}}}},
		Answers: flight.Remember(a.Keys, q.Kind, reply, a.Operation, row.ID, s.world.time())})
	return replica.Given{Answer: engine.Answer{Status: reply.Status, Body: reply.Body, Operation: a.Operation, Resource: row.ID, Site: s.id}}, err
}

// Decide makes a resource of an object that is there.
func (l loop) Decide(_ context.Context, id engine.DocumentID, about *engine.About, d *replica.Decide) (engine.OperationID, error) {
	s := l.s
	s.mu.Lock()
	s.decided = append(s.decided, d)
	s.mu.Unlock()
	if d.What == replica.VerbPlace {
		row, known := s.store.document(id)
		if !known {
			return "", engine.ErrNotFound
		}
		var placed engine.OperationID
		for _, add := range d.Place.Add {
			if _, has := row.Sites[add]; !has {
				row.Sites[add], placed = engine.ReplicaStatus{}, "placed"
			}
		}
		s.store.add(row)
		return placed, nil
	}
	f, sites := d.Publish, map[engine.SiteID]engine.ReplicaStatus{}
	for _, at := range about.Placement {
		sites[at] = engine.ReplicaStatus{}
	}
	sites[s.id] = engine.ReplicaStatus{Local: d.Reply.Local}
	s.store.add(engine.ResourceRow{Document: id, ID: about.Key, Service: about.Service, Kind: about.Kind, Collaboration: about.Collaboration,
		Local: d.Reply.Local, State: engine.StateConverged, CreatedAt: engine.Time(max(f.After, s.world.time().UnixMicro())), Sites: sites})
	return f.Operation.ID, s.store.commit(&engine.Batch{
		Operations: []engine.OperationRow{{ID: f.Operation.ID, Document: id, Resource: about.Key, Origin: s.id, State: engine.StateApplied,
			Sites: map[engine.SiteID]engine.OperationStatus{s.id: {State: engine.StateApplied}}}},
		Answers: flight.Remember(f.Keys, loop{s}.Kind(about.Service, about.Kind), d.Reply, f.Operation.ID, about.Key, s.world.time())})
}

// documents names documents by what they begin with.
type documents struct{}

func (documents) Identify(about engine.About) ([]byte, engine.DocumentID, error) {
	raw := engine.Encode(&about)
	sum := sha256.Sum256(raw)
	return raw, engine.DocumentID(fmt.Sprintf("%x", sum[:])), nil
}

func (d documents) Decode(raw []byte) (about engine.About, id engine.DocumentID, err error) {
	if err = engine.Decode(raw, &about); err == nil {
		_, id, err = d.Identify(about)
	}
	return about, id, err
}

// store is a disk in memory.
type store struct {
	mu         sync.Mutex
	full       bool
	resources  map[engine.DocumentID]engine.ResourceRow
	operations map[engine.OperationID]engine.OperationRow
	answers    map[[32]byte]engine.KeyedAnswer
	conflicts  map[engine.ConflictID]engine.Conflict
	errands    map[engine.OperationID]engine.Errand
	outbox     map[engine.OperationID]engine.Kept
	names      map[engine.DocumentID]engine.About
	records    map[engine.DocumentID]engine.Record
	events     []string
	forgotten  time.Time
}

func newStore() *store {
	return &store{resources: map[engine.DocumentID]engine.ResourceRow{}, operations: map[engine.OperationID]engine.OperationRow{},
		answers: map[[32]byte]engine.KeyedAnswer{}, conflicts: map[engine.ConflictID]engine.Conflict{}, errands: map[engine.OperationID]engine.Errand{},
		outbox: map[engine.OperationID]engine.Kept{}, names: map[engine.DocumentID]engine.About{}, records: map[engine.DocumentID]engine.Record{}}
}

func (s *store) commit(b *engine.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return engine.ErrStorage
	}
	for _, o := range b.Operations {
		if o.Document != "" || s.operations[o.ID].Document == "" {
			s.operations[o.ID] = o
		}
	}
	for _, a := range b.Answers {
		if a.Answer == nil {
			delete(s.answers, a.Key)
			continue
		}
		s.answers[a.Key] = a
	}
	for _, c := range b.Conflicts {
		s.conflicts[c.ID] = c
	}
	for _, id := range b.Resolved {
		delete(s.conflicts, id)
	}
	for _, e := range b.Errands {
		s.errands[e.Operation] = e
	}
	for _, id := range b.Ended {
		delete(s.errands, id)
	}
	for _, k := range b.Outbox {
		s.outbox[k.Operation] = k
	}
	for _, id := range b.Delivered {
		delete(s.outbox, id)
	}
	for _, e := range b.Events {
		s.events = append(s.events, e.Type)
	}
	return nil
}

func (s *store) add(r engine.ResourceRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources[r.Document] = r
}

func (s *store) document(id engine.DocumentID) (engine.ResourceRow, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.resources[id]
	return r, ok
}

func (s *store) name(id engine.DocumentID, about engine.About) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[id] = about
}

func get[K comparable, V any](s *store, from map[K]V, key K) (V, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := from[key]
	if !ok {
		return v, engine.ErrNotFound
	}
	return v, nil
}

func (s *store) Record(_ context.Context, id engine.DocumentID) (engine.Record, error) {
	return get(s, s.records, id)
}
func (s *store) ResourceByID(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (found engine.ResourceRow, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = engine.ErrNotFound
	for _, r := range s.resources {
		if r.Service == service && r.Kind == kind && r.ID == id && (err != nil || !r.State.Past() || found.State.Past() && r.CreatedAt.After(found.CreatedAt)) {
			found, err = r, nil
		}
	}
	return found, err
}
func (s *store) ResourceByDocument(_ context.Context, id engine.DocumentID) (engine.ResourceRow, error) {
	return get(s, s.resources, id)
}
func (s *store) Names(_ context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) (list []engine.DocumentID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for document, about := range s.names {
		if about.Service == service && about.Kind == kind && about.Key == id {
			list = append(list, document)
		}
	}
	return list, nil
}
func (s *store) SameName(ctx context.Context, service engine.ServiceName, kind engine.KindName, id engine.ResourceID) ([]engine.DocumentID, error) {
	return s.Names(ctx, service, kind, id)
}
func (s *store) Pending(context.Context) ([]engine.DocumentID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.names)), nil
}
func (s *store) Resources(_ context.Context, f engine.ResourceFilter) (list []engine.ResourceRow, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.resources {
		refers := f.RefersTo == engine.Target{} || slices.ContainsFunc(r.Relations, func(to engine.Relation) bool { return to.Target == f.RefersTo })
		if (f.Kind == "" || r.Kind == f.Kind) && refers && strings.Contains(string(r.ID), f.Query) {
			list = append(list, r)
		}
	}
	return list, "", nil
}
func (s *store) Operation(_ context.Context, id engine.OperationID) (engine.OperationRow, error) {
	return get(s, s.operations, id)
}
func (s *store) Answer(_ context.Context, key [32]byte) (engine.KeyedAnswer, error) {
	return get(s, s.answers, key)
}
func (s *store) Conflict(_ context.Context, id engine.ConflictID) (engine.Conflict, error) {
	return get(s, s.conflicts, id)
}
func (s *store) Errands(context.Context) ([]engine.Errand, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.errands)), nil
}
func (s *store) Outbox(context.Context) ([]engine.Kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.outbox)), nil
}
func (s *store) Kept(_ context.Context, id engine.OperationID) (engine.Kept, error) {
	return get(s, s.outbox, id)
}
func (s *store) NeedsBlob(_ context.Context, h engine.BlobHash) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.errands {
		if e.Blob == h {
			return true, nil
		}
	}
	return false, nil
}
func (s *store) ForgottenUntil(context.Context) (time.Time, error) { return s.forgotten, nil }

// bodies are the large bodies on a disk. It implements engine.Blobs, as far as front asks for that, and engine.Spools.
type bodies struct {
	engine.Blobs
	mu     sync.Mutex
	blobs  map[engine.BlobHash][]byte
	spools map[string][]byte
	names  int
}

type bodyOf struct{ b []byte }

func (b *bodyOf) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.b)), nil }
func (b *bodyOf) Size() int64                  { return int64(len(b.b)) }

func (d *bodies) Take(_ context.Context, r io.Reader) (engine.BlobRef, func(), error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return engine.BlobRef{}, nil, err
	}
	h := engine.NewBlobHasher()
	_, _ = h.Write(b)
	ref, _ := h.Sum()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blobs[ref.Hash] = b
	return ref, func() {}, nil
}

func (d *bodies) Open(ref engine.BlobRef, _ int64) (io.ReadCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, ok := d.blobs[ref.Hash]
	if !ok {
		return nil, engine.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (d *bodies) Drop(h engine.BlobHash, needed func() (bool, error)) error {
	if yes, err := needed(); yes || err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.blobs, h)
	return nil
}

// spools are the bodies as engine.Spools; engine.Blobs has methods of the same names.
type spools struct{ *bodies }

func (d *bodies) count() (blobs, spools int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.blobs), len(d.spools)
}

type spool struct {
	d    *bodies
	from io.ReadCloser
	b    []byte
	read bool
	err  error
}

func (d spools) Spool(r io.ReadCloser, _ int64) (engine.Spool, error) {
	return &spool{d: d.bodies, from: r}, nil
}
func (d spools) Open(name string, _ int64) engine.Body {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &bodyOf{d.spools[name]}
}
func (d spools) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.spools, name)
	return nil
}
func (d spools) Sweep(needed map[string]bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.spools, func(name string, _ []byte) bool { return !needed[name] })
	return nil
}

func (s *spool) whole() {
	if !s.read {
		s.b, s.err = io.ReadAll(s.from)
		s.read = true
	}
}
func (s *spool) Open() (io.ReadCloser, error) {
	if s.whole(); s.err != nil {
		return nil, s.err
	}
	return io.NopCloser(bytes.NewReader(s.b)), nil
}
func (s *spool) Size() int64 { return -1 }
func (s *spool) Keep() (string, int64, error) {
	if s.whole(); s.err != nil {
		return "", 0, s.err
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.names++
	name := fmt.Sprint("spool ", s.d.names)
	s.d.spools[name] = s.b
	return name, int64(len(s.b)), nil
}
func (s *spool) Failed() error { return s.err }
func (s *spool) Close() error  { return s.from.Close() }

// fault is what goes wrong with one request that changes something.
type fault int

const (
	fine fault = iota
	away
	busy
	rejects
	clashes
	unknown  // it does not know who asks
	denies   // it does not let them do it
	fails    // no answer, and it has not happened
	doesFail // no answer, and it has happened
)

// app is an application: objects by kind and identifier. It is safe for concurrent use.
type app struct {
	name    string
	mu      sync.Mutex
	objects map[string]map[string]any
	content string
	made    int
	faults  []fault
	calls   []string // what has changed something, and as whom
	hold    chan struct{}
	arrived chan struct{}
	lists   error // why Find does not tell
	reads   func()
	sends   func() // before something is changed
}

func newApp(name string) *app { return &app{name: name, objects: map[string]map[string]any{}} }

func (a *app) inject(f ...fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, f...)
}

// holdUp has the next request that changes something wait.
func (a *app) holdUp() (arrived <-chan struct{}, release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	hold := make(chan struct{})
	a.hold, a.arrived = hold, make(chan struct{})
	return a.arrived, sync.OnceFunc(func() { close(hold) })
}

func (a *app) log() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

func (a *app) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.objects)
}

func (a *app) remove(kind *engine.Kind, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.objects, string(kind.Name)+" "+id)
}

func (a *app) put(kind *engine.Kind, id, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var o map[string]any
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		panic(err)
	}
	a.objects[string(kind.Name)+" "+id] = o
}

func (a *app) Do(_ context.Context, c engine.Call) (engine.Reply, error) {
	if c.Method == http.MethodGet {
		return a.get(c)
	}
	if a.sends != nil {
		a.sends()
	}
	a.mu.Lock()
	hold, arrived := a.hold, a.arrived
	a.hold = nil
	a.mu.Unlock()
	if hold != nil {
		close(arrived)
		<-hold
	}
	if c.Content != nil {
		c.Body, _ = io.ReadAll(c.Content)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f := fine
	if len(a.faults) > 0 {
		f, a.faults = a.faults[0], a.faults[1:]
	}
	who := "the agent"
	if c.Credentials != nil {
		who = cmp.Or(c.Credentials.Header.Get("Authorization"), "nobody")
	}
	a.calls = append(a.calls, fmt.Sprintf("%s %s as %s", c.Method, c.Local, who))
	switch f {
	case away:
		return engine.Reply{}, engine.ErrUnreachable
	case busy:
		return engine.Reply{Status: 503}, nil
	case rejects:
		return engine.Reply{Status: 422, Body: []byte("no")}, nil
	case unknown:
		return engine.Reply{Status: 401, Body: []byte("who are you?")}, nil
	case denies:
		return engine.Reply{Status: 403, Body: []byte("no")}, nil
	case clashes:
		return engine.Reply{Status: 409, Body: []byte("no")}, nil
	case fails:
		return engine.Reply{}, errors.New("the connection broke")
	case doesFail:
		a.change(c)
		return engine.Reply{}, errors.New("the connection broke")
	}
	return a.change(c), nil
}

func (a *app) change(c engine.Call) engine.Reply {
	var body map[string]any
	_ = json.Unmarshal(c.Body, &body)
	id := string(c.Local)
	key := func() string { return string(c.Kind.Name) + " " + id }
	reply := func(status int) engine.Reply {
		b, _ := json.Marshal(a.objects[key()])
		return engine.Reply{Status: status, Body: b, Local: engine.LocalID(id)}
	}
	switch c.Method {
	case http.MethodPost:
		if body == nil {
			return engine.Reply{Status: 400}
		}
		if id, _ = body["id"].(string); id == "" || !c.Kind.ID.Settable {
			a.made++
			id = fmt.Sprintf("%s%d", a.name[:1], a.made)
			body["id"] = id
		} else if a.objects[key()] != nil {
			return engine.Reply{Status: 409}
		}
		a.objects[key()] = body
		return reply(201)
	case http.MethodPut:
		status := 200
		if a.objects[key()] == nil {
			status = 201
		}
		a.objects[key()] = body
		return reply(status)
	case http.MethodPatch:
		if a.objects[key()] == nil {
			return engine.Reply{Status: 404}
		}
		maps.Copy(a.objects[key()], body)
		return reply(200)
	}
	if a.objects[key()] == nil {
		return engine.Reply{Status: 404}
	}
	delete(a.objects, key())
	return engine.Reply{Status: 204}
}

func (a *app) get(c engine.Call) (engine.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Stream {
		return engine.Reply{Status: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Length: int64(len(a.content)),
			Content: io.NopCloser(&telling{strings.NewReader(a.content), a.reads})}, nil
	}
	o, ok := a.objects[string(c.Kind.Name)+" "+string(c.Local)]
	if !ok {
		return engine.Reply{Status: 404}, nil
	}
	b, _ := json.Marshal(o)
	if a.reads != nil {
		a.reads()
	}
	return engine.Reply{Status: 200, Body: b}, nil
}

// telling tells, once, that it is being read.
type telling struct {
	io.Reader
	tell func()
}

func (r *telling) Read(p []byte) (int, error) {
	if r.tell != nil {
		r.tell()
	}
	return r.Reader.Read(p)
}

func (a *app) Present(_ context.Context, _ *engine.Kind, r engine.Reply) (engine.Reply, error) {
	return r, nil
}

func (a *app) Find(_ context.Context, k *engine.Kind, request string) (list []engine.Reply, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, o := range a.objects {
		if text, _ := o["text"].(string); strings.Contains(text, request) && strings.HasPrefix(key, string(k.Name)+" ") {
			b, _ := json.Marshal(o)
			list = append(list, engine.Reply{Status: 200, Body: b, Local: engine.LocalID(strings.TrimPrefix(key, string(k.Name)+" "))})
		}
	}
	return list, a.lists
}

func (a *app) Items(*engine.Kind, []byte) ([][]byte, error) { return nil, nil }

// request is one of a client, with his own credentials.
func request(k *engine.Kind, method, id, body string, sites ...*site) engine.Request {
	r := engine.Request{Kind: k, Method: method, Path: k.Item, Target: id, Body: []byte(body), Caller: "ann",
		Credentials: &engine.Credentials{Header: http.Header{"Authorization": {"ann"}}}}
	r.Type = map[string]engine.Type{"POST": engine.TypeCreate, "PUT": engine.TypeReplace, "PATCH": engine.TypeMerge, "DELETE": engine.TypeDelete}[method]
	if method == http.MethodPost {
		r.Path = k.Collection
	}
	if k.Within != "" {
		r.Within, _ = k.Split(id)
	}
	if body == "" {
		r.Body = nil
	}
	for _, s := range sites {
		r.Placement = append(r.Placement, s.id)
	}
	return r
}

// told is what a client is told: a status, and the type of a refusal.
func told(a engine.Answer, err error) string {
	var refusal *engine.Refusal
	switch {
	case errors.As(err, &refusal):
		return fmt.Sprintf("%d %s", refusal.Status, refusal.Type)
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(a.Status)
}

// must wants an answer of a status.
func (w *world) must(status int, a engine.Answer, err error) engine.Answer {
	w.t.Helper()
	if err != nil || a.Status != status {
		w.t.Fatalf("told %s (%v), want %d", told(a, err), err, status)
	}
	return a
}

// wants wants to be told something.
func (w *world) wants(what string, a engine.Answer, err error) {
	w.t.Helper()
	if got := told(a, err); got != what {
		w.t.Errorf("told %s (%v), want %s", got, err, what)
	}
}

// state is that of an operation at a site, as this one lists it.
func (s *site) state(id engine.OperationID, at *site) engine.State {
	row, err := s.store.Operation(context.Background(), id)
	if err != nil {
		return engine.State(err.Error())
	}
	return row.Sites[at.id].State
}
