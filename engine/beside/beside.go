package beside

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// Site is what goes on in the loop, as far as it is asked for beside it. It is safe for concurrent use.
type Site interface {
	directory
	// Look lets f look at a replica; f does no I/O and keeps nothing of it. ErrNotFound.
	Look(ctx context.Context, id engine.DocumentID, f func(*replica.Replica)) error
	// Served takes in what an answer of the application tells of its service.
	Served(k *engine.Kind, r engine.Reply, err error)
	Backoff(tries int) time.Duration
}

// Network is the way to other sites, once it is there. It is safe for concurrent use.
type Network interface {
	carrier
	engine.Forwarder
}

// Config hands a Beside everything it works with. All fields must be set.
type Config struct {
	Self    engine.SiteID
	Site    Site
	Network Network
	Store   engine.Store
	Blobs   engine.Blobs
	App     engine.Application
	// Tell hands an input to a replica, and does not wait.
	Tell  func(engine.DocumentID, replica.Input)
	Name  func(engine.SiteID) engine.SiteName
	Log   *slog.Logger
	Now   func() time.Time
	NewID func() string
	// CallTimeout bounds one read of the application. LookAfter is how long after a change it is looked into containers, LookEvery
	// how often each resource is looked at. Rows of operations stay KeepOperations, at most MaxOperations of them. MaxBlob is the
	// most bytes of a body. Bodies is what those of each other site's operations may take together; one alone may always come.
	CallTimeout, LookAfter, LookEvery, KeepOperations time.Duration
	MaxOperations                                     int
	MaxBlob, Bodies                                   int64
}

// Beside is what goes on beside the loop of a site. It is safe for concurrent use.
type Beside struct {
	copier     *copier
	relations  *relations
	fetcher    *fetcher
	containers *containers
	sweeper    *sweeper
	now        func() time.Time
}

// New returns what goes on beside the loop of one site. It removes first what an earlier process has left of bodies that nothing needs.
func New(ctx context.Context, cfg Config) (*Beside, error) {
	of := newShares(cfg.Self, cfg.Bodies)
	if err := sweepBlobs(ctx, cfg.Store, cfg.Blobs, of); err != nil {
		return nil, err
	}
	backoff := cfg.Site.Backoff
	c := &copier{app: cfg.App, others: cfg.Network, name: cfg.Name, served: cfg.Site.Served, timeout: cfg.CallTimeout, maxBlob: cfg.MaxBlob}
	b := &Beside{
		copier: c,
		relations: newRelations(relating{self: cfg.Self, known: cfg.Site, index: cfg.Store, status: cfg.Network.Status, look: cfg.Site.Look, tell: cfg.Tell,
			name: cfg.Name, newID: cfg.NewID, now: cfg.Now, backoff: backoff, log: cfg.Log}),
		fetcher: newFetcher(fetching{bodies: cfg.Blobs, others: cfg.Network, shown: c, look: cfg.Site.Look, needs: cfg.Store.NeedsBlob, tell: cfg.Tell,
			name: cfg.Name, now: cfg.Now, backoff: backoff, maxBlob: cfg.MaxBlob, shares: of, log: cfg.Log}),
		containers: newContainers(containing{self: cfg.Self, known: cfg.Site, app: cfg.App, look: cfg.Site.Look, tell: cfg.Tell, now: cfg.Now, backoff: backoff,
			timeout: cfg.CallTimeout, after: cfg.LookAfter, log: cfg.Log}),
		sweeper: newSweeper(sweeping{store: cfg.Store, tell: cfg.Tell, now: cfg.Now, backoff: backoff, lookEvery: cfg.LookEvery,
			keep: cfg.KeepOperations, most: cfg.MaxOperations, log: cfg.Log}),
		now: cfg.Now,
	}
	return b, b.relations.takeUp(ctx)
}

// Want has a body fetched that an operation of a document needs, from some sites, nearest first; Drop lets go of one.
func (b *Beside) Want(id engine.DocumentID, operation engine.OperationID, ref engine.BlobRef, from []engine.SiteID) {
	b.fetcher.want(id, operation, ref, from)
}

// Drop lets go of a body, unless something that is stored needs it.
func (b *Beside) Drop(h engine.BlobHash) { b.fetcher.drop(h) }

// Bodies returns how many bytes the large bodies of each other site's operations take here.
func (b *Beside) Bodies() map[engine.SiteID]int64 { return b.fetcher.shares.held() }

// Kept is to be told what is stored of a resource now, and what was.
func (b *Beside) Kept(before, now *engine.ResourceRow) {
	b.relations.kept(before, now)
	b.containers.kept(before, now)
}

// Contents is to be told that what lies inside a container may be something else.
func (b *Beside) Contents(id engine.DocumentID) { b.containers.changed(id) }

// Whereabouts tells where the resources are that an operation of this site refers to.
func (b *Beside) Whereabouts(ctx context.Context, k *engine.Kind, within string, o *engine.Operation, bound map[engine.ServiceName][]engine.SiteID) []engine.Whereabouts {
	return b.relations.whereabouts(ctx, k, within, o, bound)
}

// Awaits returns the reference of an operation that no application here knows yet, and why it is waited for; empty for none.
func (b *Beside) Awaits(ctx context.Context, k *engine.Kind, key engine.ResourceID, o *engine.Operation) string {
	return b.relations.awaits(ctx, k, key, o)
}

// Copy copies what belongs to a resource beside its representation from the first of some sites that gives it, and returns what was
// settled there. To names the object, and with whose rights it is written. Holds compares a part of it with bytes that are known.
func (b *Beside) Copy(ctx context.Context, to engine.Call, key engine.ResourceID, from []engine.SiteID) (engine.Vector, error) {
	return b.copier.copy(ctx, to, key, from)
}

// Holds reports whether the application holds bytes that are known at a part of the content.
func (b *Beside) Holds(ctx context.Context, k *engine.Kind, local engine.LocalID, part engine.Content, want engine.BlobRef) (bool, error) {
	return b.copier.holds(ctx, k, local, part, want)
}

// SiteChanged is to be told when another site has come into reach or has gone out of it.
func (b *Beside) SiteChanged(id engine.SiteID, up bool) {
	if up {
		b.fetcher.reached()
	}
	b.relations.reached(id)
}

// Run works until ctx ends.
func (b *Beside) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range maxFetches {
		running.Go(func() { b.fetcher.due.drive(ctx, b.fetcher.step) })
	}
	running.Go(func() { b.relations.due.drive(ctx, b.relations.step) })
	running.Go(func() { b.containers.due.drive(ctx, b.containers.step) })
	running.Go(func() { b.sweeper.due.drive(ctx, b.sweeper.step) })
	running.Wait()
}

// duty is one kind of work: when there is something to do, and what does one thing of it.
type duty struct {
	next time.Time // zero: never
	step func(context.Context, time.Time) time.Time
}

func (b *Beside) duties() []duty {
	return []duty{
		{b.fetcher.due.next(), b.fetcher.step}, {b.relations.due.next(), b.relations.step},
		{b.containers.due.next(), b.containers.step}, {b.sweeper.due.next(), b.sweeper.step},
	}
}

// Step does one thing that is due, and reports whether there was one. It is for simulations, which call it instead of Run.
func (b *Beside) Step(ctx context.Context) bool {
	now := b.now()
	for _, c := range b.duties() {
		if !c.next.IsZero() && !c.next.After(now) {
			c.step(ctx, now)
			return true
		}
	}
	return false
}

// Due returns when there is something to do next; false: nothing.
func (b *Beside) Due() (first time.Time, ok bool) {
	for _, c := range b.duties() {
		if !c.next.IsZero() && (!ok || c.next.Before(first)) {
			first, ok = c.next, true
		}
	}
	return first, ok
}
