package site

import (
	"context"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// chores is one kind of work beside the loop.
type chores interface {
	// step does one thing that is due, and returns when the next is; zero: nothing waits that could be done.
	step(ctx context.Context, now time.Time) time.Time
}

// surround makes what goes on beside the loop, and has it take up what an earlier process has left.
func (s *Site) surround(ctx context.Context) error {
	cfg, limits := &s.cfg, &s.cfg.Limits
	tell := func(id engine.DocumentID, in replica.Input) { s.inbox.put(item{document: id, input: in}) }
	c := &copier{app: cfg.App, others: forwards{s}, name: cfg.Members.Name, served: s.Served, timeout: limits.CallTimeout, maxBlob: limits.MaxBlob}
	f := newFetcher(fetching{bodies: cfg.Blobs, others: forwards{s}, shown: c, look: s.Look, needs: cfg.Store.NeedsBlob, tell: tell, name: cfg.Members.Name,
		now: cfg.Now, backoff: s.Backoff, maxBlob: limits.MaxBlob, log: cfg.Log})
	r := newRelations(relating{self: cfg.Self, known: s, index: cfg.Store, status: func() map[engine.SiteID]engine.SiteStatus { return s.network.Status() },
		look: s.Look, tell: tell, name: cfg.Members.Name, newID: cfg.NewID, now: cfg.Now, backoff: s.Backoff, log: cfg.Log})
	inside := newContainers(containing{self: cfg.Self, known: s, app: cfg.App, look: s.Look, tell: tell, now: cfg.Now, backoff: s.Backoff,
		timeout: limits.CallTimeout, after: limits.LookAfter, log: cfg.Log})
	w := newSweeper(sweeping{store: cfg.Store, tell: tell, now: cfg.Now, backoff: s.Backoff, lookEvery: limits.LookEvery, keep: limits.KeepOperations,
		most: limits.MaxOperations, log: cfg.Log})
	beside := []chores{f, r, inside, w}
	s.around = around{
		want: f.want, drop: f.drop,
		kept: func(before, now *engine.ResourceRow) {
			r.kept(before, now)
			inside.kept(before, now)
		},
		contents:    inside.changed,
		whereabouts: r.whereabouts, awaits: r.awaits, copy: c.copy, holds: c.holds,
		siteChanged: func(id engine.SiteID, up bool) {
			if up {
				f.reached()
			}
			r.reached(id)
		},
		run: func(ctx context.Context) {
			var running sync.WaitGroup
			for range maxFetches {
				running.Go(func() { f.due.drive(ctx, f.step) })
			}
			running.Go(func() { r.due.drive(ctx, r.step) })
			running.Go(func() { inside.due.drive(ctx, inside.step) })
			running.Go(func() { w.due.drive(ctx, w.step) })
			running.Wait()
		},
		step: func(ctx context.Context) bool {
			now := cfg.Now()
			for i, at := range []time.Time{f.due.next(), r.due.next(), inside.due.next(), w.due.next()} {
				if !at.IsZero() && !at.After(now) {
					beside[i].step(ctx, now)
					return true
				}
			}
			return false
		},
		due: func() (first time.Time, ok bool) {
			for _, at := range []time.Time{f.due.next(), r.due.next(), inside.due.next(), w.due.next()} {
				if !at.IsZero() && (!ok || at.Before(first)) {
					first, ok = at, true
				}
			}
			return first, ok
		},
	}
	return r.takeUp(ctx)
}

// forwards goes to other sites, once the ways to them are attached.
type forwards struct{ s *Site }

func (f forwards) Forward(ctx context.Context, to engine.SiteID, r engine.Request) (engine.Answer, error) {
	return f.s.forwarder.Forward(ctx, to, r)
}

func (f forwards) Status() map[engine.SiteID]engine.SiteStatus { return f.s.network.Status() }

func (f forwards) Fetch(ctx context.Context, from engine.SiteID, id engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	return f.s.network.Fetch(ctx, from, id, ref, into)
}
