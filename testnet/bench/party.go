package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/libp2p/go-libp2p/core/crypto"
	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/core"
	"github.com/skerry/skerry/engine/site"
	"github.com/skerry/skerry/storage"
)

// party is some sites in one process: the whole engine of each, with its database on disk and an application in memory, joined by wires
// in memory.
type party struct {
	guests  []*guest
	by      map[engine.SiteID]*guest
	stop    context.CancelFunc
	running errgroup.Group
}

// guest is one site of a party.
type guest struct {
	*core.Core
	self  engine.SiteID
	store *counted
	shelf *shelf
	wire  *wire
}

// newParty opens so many sites below dir, which know each other. Close it, whatever the error.
func newParty(ctx context.Context, dir string, n int, limits site.Limits) (*party, error) {
	ctx, stop := context.WithCancel(ctx)
	p := &party{by: map[engine.SiteID]*guest{}, stop: stop}
	for i := range n {
		g, err := newGuest(ctx, filepath.Join(dir, fmt.Sprint(i)), limits)
		if err != nil {
			return p, err
		}
		g.wire = &wire{from: g.self, party: p}
		g.Attach(g.wire, nowhere{})
		p.guests, p.by[g.self] = append(p.guests, g), g
	}
	for _, g := range p.guests {
		g.wire.reach(p.guests...)
	}
	if err := p.acquaint(ctx); err != nil {
		return p, err
	}
	for _, g := range p.guests {
		p.running.Go(func() error { return g.Run(ctx) })
	}
	return p, nil
}

func newGuest(ctx context.Context, dir string, limits site.Limits) (*guest, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, err
	}
	documents, err := crdt.New(key)
	if err != nil {
		return nil, err
	}
	store, err := storage.Open(dir, storage.Options{})
	if err != nil {
		return nil, err
	}
	blobs, err := storage.OpenBlobs(dir, store.Vault())
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	spools, err := storage.OpenSpools(dir, store.Vault())
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	g := &guest{self: documents.Self(), store: &counted{Store: store}, shelf: &shelf{objects: map[engine.LocalID][]byte{}}}
	g.Core, err = core.New(ctx, core.Config{
		Self: g.self, Kinds: []*engine.Kind{thing}, Documents: documents, Store: g.store, Blobs: blobs, Spools: spools,
		App: g.shelf, Catalog: g.shelf, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		NewID:  func() string { return uuid.Must(uuid.NewV7()).String() },
		Random: func(b []byte) { rand.Read(b) },
		Limits: limits,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return g, nil
}

// acquaint makes one mesh of the sites.
func (p *party) acquaint(ctx context.Context) error {
	record := func(i int) engine.SiteRecord {
		return engine.SiteRecord{Name: engine.SiteName(fmt.Sprintf("site-%d", i+1)), Services: []engine.ServiceName{thing.Service}, Application: "things"}
	}
	first := p.guests[0]
	if err := first.Mesh.Found(ctx, record(0)); err != nil {
		return err
	}
	invitation, secret, err := first.Mesh.Invite(ctx, time.Hour, len(p.guests), 0)
	if err != nil {
		return err
	}
	for i, g := range p.guests {
		if err := g.Mesh.SetKinds(ctx, g.Site.Kinds()); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		records, err := first.Mesh.Admit(ctx, engine.JoinRequest{Invitation: invitation.ID, Secret: secret, Site: g.self, Record: record(i)})
		if err != nil {
			return err
		}
		if err := g.Mesh.Adopt(ctx, first.Mesh.MeshID(), first.Mesh.Founder(), records); err != nil {
			return err
		}
		if err := g.Mesh.Announce(ctx, record(i)); err != nil {
			return err
		}
	}
	for _, g := range p.guests[1:] {
		if err := first.Mesh.Take(ctx, g.self, g.Mesh.Records(), nil); err != nil {
			return err
		}
	}
	for _, g := range p.guests[1:] {
		if err := g.Mesh.Take(ctx, first.self, first.Mesh.Records(), nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *party) close() error {
	p.stop()
	errs := []error{p.running.Wait()}
	for _, g := range p.guests { // none is sent any more
		g.wire.letters.Wait()
	}
	for _, g := range p.guests {
		errs = append(errs, g.store.Close())
	}
	return errors.Join(errs...)
}

// ids names all sites, sorted.
func (p *party) ids() []engine.SiteID { return slices.Sorted(maps.Keys(p.by)) }

// put makes or replaces a thing, at the sites of a placement, one of which g is.
func (g *guest) put(ctx context.Context, id, body string, placement []engine.SiteID) error {
	a, err := g.Front.Submit(ctx, engine.Request{Kind: thing, Type: engine.TypeReplace, Method: "PUT", Path: thing.Item, Target: id, Placement: placement,
		Body: []byte(body), Header: map[string]string{"Content-Type": "application/json"}})
	if err == nil && a.Status > 299 {
		err = fmt.Errorf("put %s: answered %d: %s", id, a.Status, a.Body)
	}
	return err
}

// cut takes sites out of the reach of the others, or brings them back.
func (p *party) cut(ctx context.Context, off bool, away ...*guest) {
	rest := slices.DeleteFunc(slices.Clone(p.guests), func(g *guest) bool { return slices.Contains(away, g) })
	sides := [][]*guest{away, rest}
	for i, side := range sides {
		for _, g := range side {
			if off {
				g.wire.reach(side...)
			} else {
				g.wire.reach(p.guests...)
			}
			for _, other := range sides[1-i] {
				g.SiteChanged(ctx, other.self, !off)
			}
		}
	}
}

// compare has two sites take in what each lacks of the other, as anti-entropy does.
func compare(ctx context.Context, a, b *guest) error {
	for _, pair := range [][2]*guest{{a, b}, {b, a}} {
		if err := take(ctx, pair[0], pair[1]); err != nil {
			return err
		}
	}
	a.Compared(ctx, b.self, false)
	b.Compared(ctx, a.self, false)
	return nil
}

// letter is how many bytes of what is missing are asked for at once.
const letter = 1 << 20

// take brings to one site what it lacks of another's documents.
func take(ctx context.Context, to, from *guest) error {
	all := []engine.Range{{}}
	if to.Site.Fingerprints(from.self, all)[0] == from.Site.Fingerprints(to.self, all)[0] {
		return nil
	}
	theirs, err := from.Site.Digests(ctx, to.self, engine.Range{})
	if err != nil {
		return err
	}
	mine, err := to.Site.Digests(ctx, from.self, engine.Range{})
	if err != nil {
		return err
	}
	known := map[engine.DocumentID]engine.Fingerprint{}
	for _, d := range mine {
		known[d.Document] = d.Digest
	}
	var differ []engine.DocumentID
	for _, d := range theirs {
		if known[d.Document] != d.Digest {
			differ = append(differ, d.Document)
		}
	}
	have, err := to.Site.Have(ctx, from.self, differ)
	if err != nil {
		return err
	}
	for len(have) > 0 {
		l, covered, err := from.Site.Missing(ctx, to.self, have, letter)
		if err != nil {
			return err
		}
		if err := to.Site.Receive(ctx, from.self, l); err != nil && !errors.Is(err, engine.ErrMissing) {
			return err
		}
		have = have[covered:]
	}
	return nil
}
