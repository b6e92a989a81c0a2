package mesh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/testnet/memory"
)

// Image is the kind of resource that the sites keep.
var Image = &engine.Kind{
	Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}, Label: "/name",
}

// maxBlob is the most bytes of a body that sites take from each other.
const maxBlob = 8 << 20

// Mesh is several sites in one process.
type Mesh struct {
	dir   string
	Sites []*Site
	mu    sync.Mutex
	cut   map[engine.SiteID]bool
	// silent says that no site answers another, and that none finds out.
	silent atomic.Bool
	// keepOperations is how long sites list operations that are settled, from their next start on; 0: for as long as others do.
	keepOperations time.Duration
}

// Site is one of them.
type Site struct {
	*engine.Site
	ID   engine.SiteID
	Name engine.SiteName
	App  *Application

	mesh  *Mesh
	kinds []*engine.Kind
	// unknown is told of kinds that the site does not know; nil: it knows all that there are.
	unknown func(engine.ServiceName, engine.KindName) bool
	key     crypto.PrivKey
	dir     string
	store   *storage.Store
	disk    *fullDisk
	log     slog.Handler // from the next start on
	docs    *crdt.Set
	stop    func()
	// deletions are the limits from the next start on.
	deletions engine.DeletionLimits
	wired     func(from *Site, e engine.Envelope) // unless nil, told of everything that reaches the site
	// fetched, unless nil, is asked about each chunk of a body that comes from another site, and may change it.
	fetched func(from *Site, chunk []byte) error
}

// Open makes a mesh of n sites whose files are in dir, which join it one after the other. Close ends it. Their applications
// have the kind, and more.
func Open(ctx context.Context, dir string, kind *engine.Kind, n int, more ...*engine.Kind) (*Mesh, error) {
	m := &Mesh{dir: dir, cut: map[engine.SiteID]bool{}}
	for i := range n {
		name := engine.SiteName(fmt.Sprintf("site%d", i))
		s := &Site{Name: name, mesh: m, kinds: append([]*engine.Kind{kind}, more...),
			dir: filepath.Join(dir, string(name)), App: newApplication(string(rune('a' + i))), log: slog.DiscardHandler}
		if err := s.newKey(); err != nil {
			return m, err
		}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return m, err
		}
		if err := s.open(ctx); err != nil {
			return m, err
		}
		m.Sites = append(m.Sites, s)
		if err := m.join(ctx, s); err != nil {
			return m, err
		}
		s.start(ctx)
	}
	return m, nil
}

// newKey makes the site another one.
func (s *Site) newKey() error {
	key, public, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return err
	}
	id, err := peer.IDFromPublicKey(public)
	s.key, s.ID = key, engine.SiteID(id.String())
	return err
}

func (m *Mesh) join(ctx context.Context, s *Site) error {
	record := engine.SiteRecord{Name: s.Name}
	first := m.Sites[0]
	if s == first {
		return s.Found(ctx, record)
	}
	i, secret, err := first.Invite(ctx, time.Hour, 1)
	if err != nil {
		return err
	}
	e, err := first.Admit(ctx, engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: s.ID, Record: record})
	if err != nil {
		return err
	}
	if err := s.Adopt(ctx, e); err != nil {
		return err
	}
	return s.Announce(ctx, record)
}

// open makes the engine over what is on disk.
func (s *Site) open(ctx context.Context) error {
	store, err := storage.Open(s.dir, storage.Options{})
	if err != nil {
		return err
	}
	s.store, s.disk = store, &fullDisk{Store: store}
	s.disk.good.Store(-1)
	vault := store.Vault()
	blobs, err := storage.OpenBlobs(s.dir, vault)
	if err != nil {
		return err
	}
	spools, err := storage.OpenSpools(s.dir, vault)
	if err != nil {
		return err
	}
	documents, err := crdt.New(s.ID, s.key, rand.Reader, store, 64)
	if err != nil {
		return err
	}
	s.docs = documents
	s.Site, err = engine.New(ctx, engine.Config{
		Self: s.ID, Kinds: s.kinds, Unknown: s.unknown, Documents: documents, Store: s.disk, Ledger: store, Blobs: blobs, Spools: spools, App: s.App,
		Log: slog.New(s.log), Now: time.Now, Vault: vault, Classify: classify,
		NewID:     func() string { return uuid.Must(uuid.NewV7()).String() },
		Random:    func(b []byte) { rand.Read(b) },
		Deletions: s.deletions, KeepOperations: s.mesh.keepOperations,
		History: 8, // so that short tests compact
		Epoch:   16,
		MaxBlob: maxBlob,
		// Tests wait for what is retried.
		RetryMin: 5 * time.Millisecond, RetryMax: 50 * time.Millisecond, LookAfter: 5 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	s.App.ids = s.Site
	s.Attach(wire{s}, wire{s})
	return nil
}

func classify(_ engine.ServiceName, method, path string, _ map[string]string) (engine.KindName, engine.Type, bool) {
	types := map[string]engine.Type{
		"POST /images": engine.TypeCreate, "PUT /images/{id}": engine.TypeReplace, "PATCH /images/{id}": engine.TypeMerge,
		"DELETE /images/{id}": engine.TypeDelete, "POST /images/{id}/start": engine.TypeAction, "PUT /images/{id}/file": engine.TypeAbsolute,
	}
	t, ok := types[method+" "+path]
	return "image", t, ok
}

func (s *Site) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); err != nil {
			panic(fmt.Sprintf("run %s: %v", s.Name, err))
		}
	})
	s.stop = func() { cancel(); wg.Wait() }
}

// Restart ends the site's process and starts it anew from what is on disk.
func (s *Site) Restart(ctx context.Context) error {
	return s.replace(ctx, func() error { return nil })
}

// begin opens the site's engine as an agent does that is part of the mesh already.
func (s *Site) begin(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.Announce(ctx, engine.SiteRecord{Name: s.Name})
}

// Close stops all sites.
func (m *Mesh) Close() error {
	var errs []error
	for _, s := range m.Sites {
		if s.stop != nil {
			s.stop()
		}
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

// Cut separates a site from the others, or ends that.
func (m *Mesh) Cut(s *Site, cut bool) {
	m.mu.Lock()
	m.cut[s.ID] = cut
	m.mu.Unlock()
	for _, other := range m.Sites {
		if other != s {
			other.SiteChanged(context.Background(), s.ID, !cut)
			s.SiteChanged(context.Background(), other.ID, !cut)
		}
	}
}

// Silence has each question that a site asks another one wait until whoever asks gives up, or ends that.
func (m *Mesh) Silence(silent bool) { m.silent.Store(silent) }

// asked waits where sites are silent.
func (m *Mesh) asked(ctx context.Context) error {
	if !m.silent.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m *Mesh) reachable(a, b engine.SiteID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.cut[a] && !m.cut[b]
}

func (m *Mesh) site(id engine.SiteID) *Site {
	for _, s := range m.Sites {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// Reconcile lets every two sites that reach each other exchange what one of them lacks: anti-entropy, without the wire.
func (m *Mesh) Reconcile(ctx context.Context) error {
	var errs []error
	for _, a := range m.Sites {
		for _, b := range m.Sites {
			if a == b || !m.reachable(a.ID, b.ID) {
				continue
			}
			if err := a.pull(ctx, b); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func (s *Site) pull(ctx context.Context, from *Site) error {
	list, err := from.Summaries(ctx, s.ID, "", "")
	if err != nil {
		return err
	}
	mine, err := s.Summaries(ctx, from.ID, "", "")
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range list {
		if slices.Contains(mine, d) { // the same at both ends
			continue
		}
		have, err := s.Version(ctx, d.Document)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		e, _, err := from.Missing(ctx, s.ID, d.Document, have, 0)
		if errors.Is(err, engine.ErrNotFound) {
			continue // dropped meanwhile
		}
		if err != nil {
			return err
		}
		if len(e.Changes) == 0 && e.Shown == nil {
			continue
		}
		if s.wired != nil {
			s.wired(from, e)
		}
		if err := s.Receive(ctx, from.ID, e); err != nil && !errors.Is(err, engine.ErrMissing) { // what is missing comes with another
			errs = append(errs, err)
		}
	}
	s.Compared(from.ID)
	return errors.Join(errs...)
}

// wire is a site's way to the others.
type wire struct{ from *Site }

// Publish implements engine.Network: it loses everything, so that what arrives arrives by anti-entropy.
func (wire) Publish([]engine.SiteID, engine.Envelope) {}

// Status implements engine.Network.
func (w wire) Status() map[engine.SiteID]engine.SiteStatus {
	status := map[engine.SiteID]engine.SiteStatus{}
	for _, s := range w.from.mesh.Sites {
		if s != w.from {
			status[s.ID] = engine.SiteStatus{Reachable: w.from.mesh.reachable(w.from.ID, s.ID), RTT: time.Millisecond}
		}
	}
	return status
}

// Fetch implements engine.Network.
func (w wire) Fetch(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	if !w.from.mesh.reachable(w.from.ID, from) {
		return engine.ErrUnreachable
	}
	if err := w.from.mesh.asked(ctx); err != nil {
		return err
	}
	there := w.from.mesh.site(from)
	return memory.Fetch(ctx, there, w.from.ID, document, ref, &fetched{into, w.from, there})
}

// fetched are the chunks of a body that come to a site.
type fetched struct {
	engine.Incoming
	to, from *Site
}

func (f *fetched) Add(chunk []byte) error {
	if f.to.fetched != nil {
		if err := f.to.fetched(f.from, chunk); err != nil {
			return err
		}
	}
	return f.Incoming.Add(chunk)
}

// Forward implements engine.Forwarder.
func (w wire) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	if !w.from.mesh.reachable(w.from.ID, to) {
		return engine.Answer{}, engine.ErrUnreachable
	}
	if err := w.from.mesh.asked(ctx); err != nil {
		return engine.Answer{}, err
	}
	r.Key = "" // it counts where the client asked
	r.Via = append(slices.Clone(r.Via), w.from.ID)
	a, err := w.from.mesh.site(to).Submit(ctx, r)
	var refusal *engine.Refusal
	if errors.As(err, &refusal) { // over the wire it is an answer
		return engine.Answer{Status: refusal.Status, Operation: refusal.Operation, Site: to,
			Header: http.Header{"Content-Type": {"application/problem+json"}},
			Body:   encode(map[string]any{"type": "/problems/" + refusal.Type, "detail": refusal.Detail})}, nil
	}
	return a, err
}
