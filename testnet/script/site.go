package script

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/testnet/failpoint"
	"github.com/skerry/skerry/testnet/memory"
)

// site is one location: its disk and its application, which stay, and its agent, which comes and goes.
type site struct {
	*engine.Site
	world  *world
	name   string
	id     engine.SiteID
	key    crypto.PrivKey
	dir    string
	app    *application
	kinds  []*engine.Kind // nil: those of the world's catalog
	saved  saved
	glue   *glue.Client
	store  *storage.Store
	starts int
	ids    int
	doom   func(failpoint.Point) bool
	dead   bool
	spoken map[string][]engine.Entry // what each change says that this site wrote, by the change's bytes
	// published is what its agents have published since the beginning.
	published []engine.Envelope
}

// identities are the keys of n sites, so that their ids rise.
func identities(n int) ([]crypto.PrivKey, []engine.SiteID, error) {
	keys := map[engine.SiteID]crypto.PrivKey{}
	var ids []engine.SiteID
	for i := range n {
		seed := make([]byte, ed25519.SeedSize)
		seed[0] = byte(i + 1)
		key, err := crypto.UnmarshalEd25519PrivateKey(ed25519.NewKeyFromSeed(seed))
		if err != nil {
			return nil, nil, err
		}
		id, err := peer.IDFromPrivateKey(key)
		if err != nil {
			return nil, nil, err
		}
		keys[engine.SiteID(id.String())] = key
		ids = append(ids, engine.SiteID(id.String()))
	}
	slices.Sort(ids)
	var sorted []crypto.PrivKey
	for _, id := range ids {
		sorted = append(sorted, keys[id])
	}
	return sorted, ids, nil
}

// start makes the agent over what is on disk.
func (s *site) start(ctx context.Context) (err error) {
	s.starts++
	s.dead, s.doom = false, nil
	if err = os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if s.store, err = storage.Open(s.dir, storage.Options{Now: s.now}); err != nil {
		return err
	}
	vault := s.store.Vault()
	random := rand.NewChaCha8([32]byte{byte(s.starts), s.id[len(s.id)-1], s.id[len(s.id)-2]})
	blobs, err := storage.OpenBlobs(s.dir, vault)
	if err != nil {
		return err
	}
	spools, err := storage.OpenSpools(s.dir, vault)
	if err != nil {
		return err
	}
	documents, err := crdt.New(s.id, s.key, random, s.store, 64)
	if err != nil {
		return err
	}
	up, _ := url.Parse("http://" + s.name + ".invalid") // only paths and bodies are asked of the glue
	s.glue, err = glue.NewClient(glue.ClientConfig{Upstreams: []glue.Upstream{{Service: service, URL: up, Kinds: s.kindsOf()}}})
	if err != nil {
		return err
	}
	s.app.glue = s.glue
	hit := failpoint.Hit(s.hit)
	s.Site, err = engine.New(ctx, engine.Config{
		Self: s.id, Kinds: s.kindsOf(),
		Documents: hit.Documents(speaker{documents, s}), Store: hit.Store(witness{s.store, s}, s.id), Ledger: s.store,
		Blobs: hit.Blobs(blobs), Spools: hit.Spools(spools),
		App: hit.Application(s.app), Log: s.world.trace.logs(s), Now: s.now, Vault: vault, Classify: s.glue.Classify,
		Deletions: engine.DeletionLimits{Number: s.world.deletions}, History: s.world.history, LeaveWithin: s.world.leaving, KeepOperations: s.world.keeping, Epoch: s.world.epoch,
		NewID: s.newID, Random: func(b []byte) { _, _ = random.Read(b) }, // it never fails
		Items:     s.glue.List,
		LookAfter: lookAfter, LookEvery: 24 * time.Hour,
	})
	if err != nil {
		return err
	}
	s.glue.Use(s.Site)
	s.Attach(hit.Network(wire{s}), hit.Forwarder(wire{s}))
	if s.InMesh() {
		return s.Announce(ctx, s.world.record(s))
	}
	return nil
}

func (s *site) now() time.Time { return s.world.now }

func (s *site) newID() string {
	s.ids++
	return fmt.Sprintf("id-%s-%d", s.name, s.ids)
}

var errDied = errors.New("the agent has died")

// hit ends the agent's life at the point that the script has named: nothing that it does after has any effect.
func (s *site) hit(p failpoint.Point) error {
	if !s.dead && s.doom != nil && s.doom(p) {
		s.dead = true
		s.world.trace.add(s.name, "dies")
	}
	if s.dead {
		return errDied
	}
	return nil
}

// work does what is due and reports whether there was anything.
func (s *site) work(ctx context.Context) bool {
	worked := false
	for range 1000 { // it comes to rest long before
		if s.dead || !s.Step(ctx) {
			return worked
		}
		worked = true
	}
	s.world.trace.add(s.name, "does not come to rest")
	return false
}

// pull takes from another site what this one lacks: anti-entropy, without the wire.
func (s *site) pull(ctx context.Context, from *site) (bool, error) {
	took, err := s.take(ctx, from, func(engine.DocumentID) bool { return true })
	if err == nil {
		s.Compared(from.id)
	}
	return took, err
}

// take takes from another site what this one lacks of some documents.
func (s *site) take(ctx context.Context, from *site, which func(engine.DocumentID) bool) (bool, error) {
	list, err := from.Summaries(ctx, s.id, "", "")
	if err != nil {
		return false, err
	}
	mine, err := s.Summaries(ctx, from.id, "", "")
	if err != nil {
		return false, err
	}
	list = slices.DeleteFunc(list, func(d engine.Summary) bool { return slices.Contains(mine, d) || !which(d.Document) })
	slices.SortFunc(list, func(a, b engine.Summary) int { // not by their identifiers, which are hashes
		return s.world.compare(a.Document, b.Document)
	})
	took := false
	for _, d := range list {
		have, err := s.Version(ctx, d.Document)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return took, err
		}
		e, _, err := from.Missing(ctx, s.id, d.Document, have, 0)
		if err != nil {
			return took, err
		}
		if len(e.Changes) == 0 && e.Shown == nil {
			continue
		}
		took = true
		if err := s.Receive(ctx, from.id, e); errors.Is(err, engine.ErrMissing) { // it comes with another document
			continue
		} else if err != nil {
			s.world.trace.add(s.name, fmt.Sprintf("does not take what %s has: %v", from.name, err))
			return false, nil
		}
	}
	return took, nil
}

// wire is a site's way to the others.
type wire struct{ from *site }

// Publish implements engine.Network. It only tells: "deliver" brings it to others, and "gossip" late.
func (w wire) Publish(_ []engine.SiteID, e engine.Envelope) {
	w.from.published = append(w.from.published, e)
	for _, c := range e.Changes {
		if text := w.from.world.describe(w.from, e.Document, w.from.spoken[string(c.Bytes)], true); text != "" {
			w.from.world.trace.add(w.from.name, "publishes "+text)
		}
	}
}

// Status implements engine.Network.
func (w wire) Status() map[engine.SiteID]engine.SiteStatus {
	status := map[engine.SiteID]engine.SiteStatus{}
	for _, s := range w.from.world.sites {
		if s.id != w.from.id {
			status[s.id] = engine.SiteStatus{Reachable: w.from.world.connected(w.from, s), RTT: time.Millisecond}
		}
	}
	return status
}

// Fetch implements engine.Network.
func (w wire) Fetch(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	i := slices.IndexFunc(w.from.world.sites, func(s *site) bool { return s.id == from })
	s := w.from.world.sites[i]
	if !w.from.world.connected(w.from, s) {
		return engine.ErrUnreachable
	}
	err := memory.Fetch(ctx, s, w.from.id, document, ref, into)
	said := "fetches a body from " + s.name
	if err != nil {
		said += ": " + err.Error()
	}
	w.from.world.trace.add(w.from.name, said)
	return err
}

// Forward implements engine.Forwarder.
func (w wire) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	i := slices.IndexFunc(w.from.world.sites, func(s *site) bool { return s.id == to })
	s := w.from.world.sites[i]
	if !w.from.world.connected(w.from, s) {
		return engine.Answer{}, engine.ErrUnreachable
	}
	w.from.world.trace.add(w.from.name, "hands the request to "+s.name)
	r.Key = "" // it counts where the client asked
	r.Via = append(slices.Clone(r.Via), w.from.id)
	a, err := s.Submit(ctx, r)
	var refusal *engine.Refusal
	if errors.As(err, &refusal) { // over the wire it is an answer
		return engine.Answer{Status: refusal.Status, Operation: refusal.Operation, Site: to,
			Header: http.Header{"Content-Type": {"application/problem+json"}},
			Body:   encode(map[string]any{"type": "/problems/" + refusal.Type, "detail": refusal.Detail})}, nil
	}
	return a, err
}

// speaker remembers what the changes say that a site writes, and tells what it takes in.
type speaker struct {
	engine.Documents
	site *site
}

func (d speaker) Encode(about engine.About) ([]byte, engine.DocumentID, error) {
	raw, id, err := d.Documents.Encode(about)
	d.site.world.abouts[id] = about
	return raw, id, err
}

func (d speaker) Create(id engine.DocumentID, raw []byte) (engine.About, error) {
	about, err := d.Documents.Create(id, raw)
	d.site.world.abouts[id] = about
	return about, err
}

func (d speaker) Write(ctx context.Context, id engine.DocumentID, entries []engine.Entry) (engine.ChangeRow, error) {
	row, err := d.Documents.Write(ctx, id, entries)
	if err == nil {
		d.site.spoken[string(row.Bytes)] = entries
	}
	return row, err
}

func (d speaker) Merge(ctx context.Context, id engine.DocumentID, changes []engine.SignedChange, writes func(engine.SiteID) bool) ([]engine.ChangeRow, []engine.Entry, error) {
	rows, entries, err := d.Documents.Merge(ctx, id, changes, writes)
	if text := d.site.world.describe(d.site, id, entries, false); text != "" {
		d.site.world.trace.add(d.site.name, "takes in "+text)
	}
	return rows, entries, err
}

// witness tells which intents a site makes durable.
type witness struct {
	engine.Store
	site *site
}

func (w witness) Commit(ctx context.Context, b *engine.Batch) error {
	err := w.Store.Commit(ctx, b)
	if err != nil {
		return err
	}
	for _, r := range b.Resources { // the client that made it may never hear of it
		if t := w.site.world.trace; t.as != "" && t.names[string(r.ID)] == "" && made.MatchString(string(r.ID)) {
			t.names[string(r.ID)], t.as = t.as, ""
		}
	}
	for _, id := range b.Dropped {
		w.site.world.trace.add(w.site.name, fmt.Sprintf("drops epoch %d", w.site.world.abouts[id].Epoch))
	}
	for _, i := range b.Intents {
		if len(b.Operations) == 0 {
			w.site.world.trace.add(w.site.name, "intent "+string(i.Operation))
		} else {
			w.site.world.trace.add(w.site.name, "asks a person about "+string(i.Operation))
		}
	}
	return nil
}

// stop ends the agent.
func (s *site) stop() error {
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}
