package site

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// watch is where people and requests wait for something to become true of a replica. It is safe for concurrent use.
type watch struct {
	site *Site
	// of are those who wait, by what for. They belong to the loop.
	of map[engine.DocumentID][]*watcher
	// others is how many wait for what other sites say.
	others atomic.Int64
}

// watcher waits for something to become true of a replica.
type watcher struct {
	done func(*resident) bool
	seen chan struct{}
}

// Await returns once done is true of a replica, as it is durable, or ctx ends. done is called after each commit that concerns it; it does
// no I/O and keeps nothing.
func (x *watch) Await(ctx context.Context, id engine.DocumentID, done func(*replica.Replica) bool) error {
	s := x.site
	x.others.Add(1)
	defer x.others.Add(-1)
	var w *watcher
	err := s.look(ctx, id, func(r *resident) { w = x.add(r, func(r *resident) bool { return done(r.Replica) }) })
	if w == nil || err != nil {
		return err
	}
	s.inbox.hurry(s.cfg.Now())
	return x.wait(ctx, id, w)
}

// Making waits until this site's application has the object of a resource, as long as it is being made here, and reports whether it has.
func (x *watch) Making(ctx context.Context, id engine.DocumentID) (made bool) {
	s := x.site
	over := func(r *resident) bool {
		made = r.Mine.Local != ""
		return made || !r.Busy() && !s.serviceOf(r.Kind.Service).Waits(id)
	}
	var w *watcher
	s.mu.Lock()
	if r := s.residents.by[id]; r != nil { // what is not in memory is not under way
		w = x.add(r, over)
	}
	s.mu.Unlock()
	return (w == nil || x.wait(ctx, id, w) == nil) && made
}

// add has a watcher wait for a replica; nil: it need not. The caller holds the site's mu.
func (x *watch) add(r *resident, done func(*resident) bool) *watcher {
	if done(r) {
		return nil
	}
	w := &watcher{done, make(chan struct{})}
	x.of[r.id] = append(x.of[r.id], w)
	return w
}

// wait returns once a watcher has seen what it waits for, or ctx ends.
func (x *watch) wait(ctx context.Context, id engine.DocumentID, w *watcher) error {
	s := x.site
	s.await(ctx, func() bool { return struck(w.seen) })
	select {
	case <-w.seen:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.keep(id, slices.DeleteFunc(slices.Clone(x.of[id]), func(other *watcher) bool { return other == w }))
	return ctx.Err()
}

// tell lets those go on who wait for what a replica has become.
func (x *watch) tell(r *resident) {
	if list := x.of[r.id]; len(list) > 0 {
		x.keep(r.id, slices.DeleteFunc(list, func(w *watcher) bool {
			seen := w.done(r)
			if seen {
				close(w.seen)
			}
			return seen
		}))
	}
}

func (x *watch) keep(id engine.DocumentID, list []*watcher) {
	if x.of[id] = list; len(list) == 0 {
		delete(x.of, id)
	}
}
