package world

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"fmt"
	"log/slog"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/accept"
	"github.com/skerry/skerry/engine/core"
)

// Site is one location: its disk and its application, which stay, and the process of its agent, which comes and goes.
type Site struct {
	w    *World
	N    int
	ID   engine.SiteID
	Name engine.SiteName
	// Skew is how far its clock is ahead.
	Skew time.Duration
	// Correction is what it corrects its clock by, as if it had compared it with others.
	Correction time.Duration
	Disk       *Disk
	Blobs      *Blobs
	App        *Application
	// Instead, unless nil, is its application in place of App.
	Instead engine.Application
	// Catalog, unless nil, is what its agent knows of requests, in place of what the model's kinds say.
	Catalog engine.Catalog
	// Kinds are those that its catalog has. From the next start on another catalog counts.
	Kinds []*engine.Kind
	// Accept is what its configuration lets others do there.
	Accept []accept.Rule
	// Unknown, unless nil, is told of kinds that other sites have and this one does not know.
	Unknown func(engine.ServiceName, engine.KindName)
	// Log has what its agent says, from the next start on.
	Log slog.Handler
	// Fetched, unless nil, is asked about each chunk of a blob that comes from another site, and may change it.
	Fetched func(from *Site, chunk []byte) error
	// Full says that the disk has room for nothing but what settles something.
	Full bool
	// Proc is nil while there is no process.
	Proc *Process

	documents *crdt.Documents
}

// Process is one life of a site's agent.
type Process struct {
	*core.Core
	site *Site
	dead bool
	// doom is with which effect it dies; 0: with none.
	doom int
	disk engine.Store
	// Met is when it was compared first with each of the sites that it has been compared with.
	Met map[engine.SiteID]time.Time
}

func newSite(w *World, n int) (*Site, error) {
	seed := make([]byte, ed25519.SeedSize)
	if seed[0] = byte(n + 1); n < len(w.Seeds) {
		seed[0] = w.Seeds[n]
	}
	key, err := crypto.UnmarshalEd25519PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	documents, err := crdt.NewUnder(sums{}, key)
	if err != nil {
		return nil, err
	}
	name := engine.SiteName(fmt.Sprint("site", n))
	if n < len(w.Names) {
		name = w.Names[n]
	}
	s := &Site{w: w, N: n, ID: documents.Self(), Name: name, App: NewApplication(string(rune('a' + n))),
		Blobs: NewBlobs(), documents: documents, Kinds: w.Kinds, Log: w.Log.Handler()}
	s.Disk = NewDisk(s.Clock)
	return s, nil
}

// sums is how sites sign in a world: by who knows their names, which is enough where nobody forges, and takes no time.
type sums struct{}

// Sign implements crdt.Scheme.
func (sums) Sign(key ed25519.PrivateKey, message []byte) []byte {
	sum := sha512.Sum512(append(bytes.Clone(key[ed25519.SeedSize:]), message...))
	return sum[:]
}

// Verify implements crdt.Scheme.
func (sums) Verify(key ed25519.PublicKey, message, signature []byte) bool {
	sum := sha512.Sum512(append(bytes.Clone(key), message...))
	return bytes.Equal(sum[:], signature)
}

func (s *Site) String() string { return string(s.Name) }

// Clock is the time by this site's clock.
func (s *Site) Clock() time.Time { return s.w.Now.Add(s.Skew) }

// corrected is the time by which the site dates what it does.
func (s *Site) corrected() time.Time { return s.Clock().Add(s.Correction) }

func (s *Site) record() engine.SiteRecord {
	record := engine.SiteRecord{Name: s.Name, Application: "model"}
	for _, k := range s.Kinds {
		if record.Services == nil {
			record.Services = []engine.ServiceName{k.Service}
		}
	}
	return record
}

// Start starts the agent over what is on the disk.
func (s *Site) Start() error {
	w := s.w
	p := &Process{site: s, disk: s.Disk, Met: map[engine.SiteID]time.Time{}}
	if w.Store != nil {
		var err error
		if p.disk, err = w.Store(s); err != nil {
			return fmt.Errorf("start %s: %w", s.Name, err)
		}
	}
	cfg := core.Config{Accept: s.Accept, Self: s.ID, Kinds: s.Kinds, Unknown: s.Unknown, Documents: s.documents, Store: mortal{p.disk, p}, Blobs: s.Blobs, Spools: Spools{s.Blobs, p},
		App: client{p}, Catalog: w.catalog, Log: slog.New(defects{s.Log, w}).With("site", string(s.Name)), Now: s.Clock, Clock: s.corrected, NewID: w.newID, Random: w.random, Inline: true, Await: w.wait}
	if w.Limits != nil {
		cfg.Limits = w.Limits(s)
	}
	if s.Catalog != nil {
		cfg.Catalog = s.Catalog
	}
	var err error
	if p.Core, err = core.New(w.Ctx, cfg); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	p.Attach(wire{p}, wire{p})
	s.Proc = p
	if p.Mesh.InMesh() {
		if err := p.announce(); err != nil && !p.dead && !s.Full {
			return fmt.Errorf("start %s: %w", s.Name, err)
		}
	}
	w.reachChanged(s)
	return nil
}

// announce tells what the site is.
func (p *Process) announce() error {
	if err := p.Mesh.Announce(p.site.w.Ctx, p.site.record()); err != nil {
		return err
	}
	return p.Mesh.SetKinds(p.site.w.Ctx, p.site.Kinds)
}

// Dead reports whether the process has died.
func (p *Process) Dead() bool { return p.dead }

// Doom has the process die with one of its next effects; 0: with none.
func (p *Process) Doom(effects int) { p.doom = effects }

// Die ends the process: nothing that it does has an effect any more.
func (p *Process) Die() {
	if p.dead {
		return
	}
	s := p.site
	s.w.Log.Info("death", "of", s)
	p.dead = true
	if s.Proc == p {
		s.Proc = nil
	}
	s.w.Deaths++
	s.w.reachChanged(s)
}

// Deed is something that others, or a later process, can see.
type Deed struct {
	// What is the *engine.Batch of a commit, the engine.Call to the application, the *engine.Letter that is sent, the
	// *engine.Request that is forwarded; nil for what changes nothing.
	What any
	// Done says that it has happened: of a request that is forwarded, that it was answered.
	Done bool
}

// fated has the process die where the world says so.
func (p *Process) fated(what any, done bool) {
	if w := p.site.w; !p.dead && w.Fate != nil && w.Fate(p.site, Deed{what, done}) {
		p.Die()
	}
}

// effect does what others, or a later process, can see; the process may die just before or just after. It reports whether it lives.
func (p *Process) effect(what any, do func()) (alive bool) {
	p.fated(what, false)
	if p.dead {
		return false
	}
	if p.doom > 0 {
		if p.doom--; p.doom == 0 {
			if p.site.w.Chance(2) {
				do()
			}
			p.Die()
			return false
		}
	}
	do()
	p.fated(what, true)
	return !p.dead
}

// Step has the agent do one thing that is due, and reports whether there was one.
func (s *Site) Step() (did bool) {
	p, w := s.Proc, s.w
	if p == nil {
		return false
	}
	if due, ok := p.Due(); !ok || due.After(s.Clock()) {
		return false
	}
	w.Do(p, func() { p.Step(w.Ctx) })
	return true
}

// WorkOff has the agent do all that is due.
func (s *Site) WorkOff() {
	for range endless {
		if !s.Step() {
			return
		}
	}
	s.w.Problem("%s does one thing after the other and it never ends", s.Name)
}

// SetBack puts a site's disk and blobs back as they were; with app, its application as well. Its process must have died.
func (s *Site) SetBack(disk *Disk, blobs *Blobs, app *Application) {
	s.Disk, s.Blobs = disk.Clone(), blobs.Clone()
	if app != nil {
		s.App = app.Clone()
	}
	w := s.w
	kept := w.wire[:0:0]
	for _, l := range w.wire { // no machine is set back while what it has sent is under way
		if l.from != s {
			kept = append(kept, l)
		}
	}
	w.wire = kept
	w.Now = w.Now.Add(time.Millisecond) // so the next run begins later than the one that was lost
}
