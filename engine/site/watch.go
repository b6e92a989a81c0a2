package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
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

// Reached waits until this site has settled an operation, and all that is before it in its line, or ctx ends: then it is a *Refusal that says why
// that is not so yet. What this site has no part in is not waited for.
func (x *watch) Reached(ctx context.Context, a engine.After) error {
	s := x.site
	w := &watcher{func(r *resident) bool {
		return r.Me.Settled.Has(a.Line, a.Number) || !slices.Contains(r.Placement().Sites, s.cfg.Self)
	}, make(chan struct{})}
	waits, err := x.awaits(ctx, a, w)
	if err != nil || !waits || x.wait(ctx, a.Document, w) == nil {
		return err
	}
	what, why := "a write", "it has not been heard of here"
	if err := s.look(context.WithoutCancel(ctx), a.Document, func(r *resident) {
		what = fmt.Sprintf("a write to %s %s", r.Kind.Name, r.About.Key)
		switch waits := r.Me.Waits; {
		case len(waits) > 0:
			why = cmp.Or(waits[0].Reason, string(waits[0].Kind))
		case r.History.At(a.Line, a.Number) != nil:
			why = "it is under way here"
		}
	}); err != nil && !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("look why a write is not here: %w", err)
	}
	return &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "behind", Detail: fmt.Sprintf("%s has not done yet what the request is to come after, %s made at %s: %s; "+
		"nothing has happened\nhelp: try again later, or ask %[3]s", s.cfg.Members.Name(s.cfg.Self), what, s.cfg.Members.Name(a.Line.Site()), why)}
}

// awaits has a watcher wait for an operation unless that is settled, or no matter of this site; the resource may not be here yet.
func (x *watch) awaits(ctx context.Context, a engine.After, w *watcher) (waits bool, err error) {
	s := x.site
	s.mu.Lock()
	defer s.mu.Unlock()
	defer contain(s.cfg.Log, a.Document, &err)
	switch r, err := s.reach(ctx, a.Document, nil); {
	case errors.Is(err, engine.ErrNotFound) && !a.Concerns(s.cfg.Self), err == nil && w.done(r):
		return false, nil
	case err != nil && !errors.Is(err, engine.ErrNotFound):
		return false, err
	}
	x.of[a.Document] = append(x.of[a.Document], w)
	return true, nil
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
