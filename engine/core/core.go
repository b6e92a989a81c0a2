package core

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/accept"
	"github.com/skerry/skerry/engine/desk"
	"github.com/skerry/skerry/engine/front"
	"github.com/skerry/skerry/engine/members"
	"github.com/skerry/skerry/engine/mesh"
	"github.com/skerry/skerry/engine/site"
)

// Config hands a Core everything it works with. All fields must be set, but Accept, Unknown, Changed, Inline, Await and those of Limits.
type Config struct {
	Self  engine.SiteID
	Kinds []*engine.Kind
	// Unknown is told of a kind that another site's document has and this site's catalog lacks.
	Unknown   func(engine.ServiceName, engine.KindName)
	Documents interface {
		engine.Documents
		site.Statuses
	}
	Store   engine.Store
	Blobs   engine.Blobs
	Spools  engine.Spools
	App     engine.Application
	Catalog engine.Catalog
	// Changed is told that the mesh has changed: members, or where they are.
	Changed func()
	Log     *slog.Logger
	// Now is the wall clock, NewID makes a new UUID of version 7, Random fills b with random bytes.
	Now func() time.Time
	// Clock is the site's clock, corrected by those of other sites; nil: Now.
	Clock  func() time.Time
	NewID  func() string
	Random func(b []byte)
	Limits site.Limits
	// Inline has calls to the application done by Step. It is for simulations.
	Inline bool
	// Kept bounds what is kept for sites that cannot be reached; zero stands for the defaults.
	Kept front.Rooms
	// Accept are the rules of what other sites may do here; nil: whatever the catalog describes.
	Accept []accept.Rule
	// Await, unless nil, is called by whoever is to wait for something, before it does; it returns when ready is true. It is for
	// simulations, which let others go on meanwhile.
	Await func(ready func() bool)
}

// Core is the engine of one site. It is safe for concurrent use. Attach must be called before anything else.
type Core struct {
	Mesh  *members.Members
	Site  *site.Site
	Front *front.Front
	Desk  *desk.Desk
	// Accept judges what other sites want to do here.
	Accept *accept.Judge

	log      *slog.Logger
	vacating *vacating
}

// New returns the engine of one site. It reads from the store what the site belongs to and what an earlier process has left to do.
func New(ctx context.Context, cfg Config) (*Core, error) {
	c := &Core{log: cfg.Log}
	var err error
	c.Mesh, err = members.New(ctx, members.Config{Self: cfg.Self, Documents: cfg.Documents, Store: cfg.Store, Log: cfg.Log, Now: cfg.Now, NewID: cfg.NewID,
		Random: cfg.Random, LeaveWithin: cfg.Limits.LeaveWithin, Changed: func(n mesh.News) { c.changed(n, cfg) }})
	if err != nil {
		return nil, err
	}
	c.Accept = &accept.Judge{Rules: cfg.Accept, Sites: c.Mesh}
	c.Site, err = site.New(ctx, site.Config{Accept: c.Accept, Self: cfg.Self, Kinds: cfg.Kinds, Unknown: cfg.Unknown, Documents: cfg.Documents, Statuses: cfg.Documents,
		Store: cfg.Store, Blobs: cfg.Blobs, App: cfg.App, Catalog: cfg.Catalog, Members: c.Mesh, Log: cfg.Log, Now: cfg.Now, Clock: cfg.Clock, NewID: cfg.NewID,
		Random: fraction(cfg.Random), Limits: cfg.Limits, Inline: cfg.Inline, Await: cfg.Await})
	if err != nil {
		return nil, err
	}
	c.Front, err = front.New(ctx, front.Config{Site: c.Site, Store: cfg.Store, Documents: cfg.Documents, Blobs: cfg.Blobs, Spools: cfg.Spools, App: cfg.App,
		Members: c.Mesh, Log: cfg.Log, Now: cfg.Now, Clock: cfg.Clock, NewID: cfg.NewID, CallTimeout: cfg.Limits.CallTimeout, RetryMin: cfg.Limits.RetryMin, Workers: cfg.Limits.Workers,
		Await: cfg.Await, Kept: cfg.Kept})
	if err != nil {
		return nil, err
	}
	c.Desk = desk.New(desk.Config{Site: c.Site, Requests: c.Front.Requests(), Store: cfg.Store, Members: c.Mesh, App: cfg.App, Now: cfg.Now, NewID: cfg.NewID,
		CallTimeout: cfg.Limits.CallTimeout})
	c.vacating = newVacating(c, cfg)
	return c, nil
}

// changed has the rest hear what is news of the mesh.
func (c *Core) changed(n mesh.News, cfg Config) {
	if c.vacating == nil {
		return // nothing runs yet
	}
	for _, id := range n.Removed {
		c.vacating.add(id, cfg.Now())
	}
	c.Site.MeshChanged(len(n.Joined) > 0, n.Rules)
	if cfg.Changed != nil {
		cfg.Changed()
	}
}

// fraction makes numbers of at least 0 and less than 1 of random bytes.
func fraction(random func([]byte)) func() float64 {
	return func() float64 {
		var b [8]byte
		random(b[:])
		return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
	}
}

// Attach gives the site its ways to other sites. They are made after it, because they call it.
func (c *Core) Attach(n engine.Network, f engine.Forwarder) {
	c.Mesh.Attach(n)
	c.Site.Attach(n, f)
	c.Front.Attach(n, f)
}

// Run works until ctx ends; it returns when all work has stopped.
func (c *Core) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	run := func(f func(context.Context) error) {
		running.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	run(c.Site.Run)
	run(c.Front.Run)
	run(c.vacating.run)
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Step does one thing that is due, and reports whether there was one. It is for simulations, which call it instead of Run.
func (c *Core) Step(ctx context.Context) bool {
	return c.Site.Step(ctx) || c.Front.Step(ctx) || c.vacating.step(ctx)
}

// Due returns when there is something to do next; false: nothing.
func (c *Core) Due() (at time.Time, ok bool) {
	earlier := func(other time.Time, due bool) {
		if due && (!ok || other.Before(at)) {
			at, ok = other, true
		}
	}
	earlier(c.Site.Due())
	earlier(c.Front.Due())
	_, due, waits := c.vacating.next()
	earlier(due, waits)
	return at, ok
}

// SiteChanged is to be called when another site has come into reach or has gone out of it.
func (c *Core) SiteChanged(ctx context.Context, id engine.SiteID, up bool) {
	c.Site.SiteChanged(ctx, id, up)
	c.Front.SiteChanged(up)
}

// Compared is to be called when this site has all that another one has, as often as that is found out. First says that it is the first time since
// that one has come into reach.
func (c *Core) Compared(ctx context.Context, other engine.SiteID, first bool) {
	if c.Site.Compared(ctx, other, first) {
		c.Front.Compared()
	}
}

// Learn takes in kinds that the application has got since the agent was started. What other sites have of them comes with the next
// comparison.
func (c *Core) Learn(ctx context.Context, kinds []*engine.Kind) error {
	news, err := c.Site.Learn(ctx, kinds)
	if err != nil || !news {
		return err
	}
	return c.Mesh.SetKinds(ctx, c.Site.Kinds())
}
