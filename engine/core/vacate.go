package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// moveOut is how long the others leave it to the first site of a placement to take a removed one out of it.
const moveOut = time.Minute

// vacating takes sites that were removed from the mesh out of every placement that this site knows. It looks again and again: a site
// that has not heard of the removal may put one into a placement. It is safe for concurrent use.
type vacating struct {
	c     *Core
	store engine.Store
	now   func() time.Time
	// soon and seldom bound the wait before the next look.
	soon, seldom time.Duration
	rings        chan struct{} // capacity 1

	mu  sync.Mutex
	due map[engine.SiteID]time.Time
}

func newVacating(c *Core, cfg Config) *vacating {
	v := &vacating{c: c, store: cfg.Store, now: cfg.Now, soon: cfg.Limits.LookAfter, seldom: cfg.Limits.LookEvery, rings: make(chan struct{}, 1),
		due: map[engine.SiteID]time.Time{}}
	if v.soon == 0 {
		v.soon = 250 * time.Millisecond
	}
	if v.seldom == 0 {
		v.seldom = time.Hour
	}
	for _, m := range c.Mesh.Members() {
		if !m.Removed.IsZero() {
			v.add(m.ID, cfg.Now())
		}
	}
	return v
}

func (v *vacating) add(id engine.SiteID, at time.Time) {
	v.mu.Lock()
	v.due[id] = at
	v.mu.Unlock()
	select {
	case v.rings <- struct{}{}:
	default:
	}
}

// next returns the site that is to be looked at first, and when; false: none is.
func (v *vacating) next() (id engine.SiteID, at time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, each := range slices.Sorted(maps.Keys(v.due)) {
		if due := v.due[each]; !ok || due.Before(at) {
			id, at, ok = each, due, true
		}
	}
	return id, at, ok
}

// step looks at one site that is due, and reports whether there was one.
func (v *vacating) step(ctx context.Context) bool {
	id, at, ok := v.next()
	if !ok || at.After(v.now()) {
		return false
	}
	v.mu.Lock()
	delete(v.due, id)
	v.mu.Unlock()
	again, err := v.vacate(ctx, id)
	if err != nil && ctx.Err() == nil {
		v.c.log.Error("take a removed site out of placements", "peer", string(id), "err", err)
		again = v.c.Site.Backoff(8)
	}
	if again > 0 {
		v.add(id, v.now().Add(again))
	}
	return true
}

func (v *vacating) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if v.step(ctx) {
			continue
		}
		wait := time.Hour
		if _, at, ok := v.next(); ok {
			wait = max(0, at.Sub(v.now()))
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-v.rings:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return nil
}

// vacate takes one removed site out of placements, or finds out whether this one, which was removed, shares anything more. It returns
// when to look again; zero: never.
func (v *vacating) vacate(ctx context.Context, id engine.SiteID) (again time.Duration, err error) {
	removed := time.Time{}
	for _, m := range v.c.Mesh.Members() {
		if m.ID == id {
			removed = m.Removed
		}
	}
	if removed.IsZero() {
		return 0, nil
	}
	shared, self := 0, v.c.Mesh.Self()
	for cursor := ""; ; {
		rows, next, err := v.store.Resources(ctx, engine.ResourceFilter{Site: id, Limit: 1000, Cursor: cursor})
		if err != nil {
			return 0, fmt.Errorf("list what %s has: %w", id, err)
		}
		for i := range rows {
			row := &rows[i]
			st, member := row.Sites[id]
			if !member || row.State.Past() || id == self && len(row.Sites) == 1 {
				continue
			}
			shared++
			if id == self || st.State == engine.StateLeaving || !v.movesOut(row, removed) {
				continue
			}
			var refusal *engine.Refusal
			_, err := v.c.Desk.Place(ctx, row.Document, engine.PlaceRequest{Remove: []engine.SiteID{id}})
			if err != nil && !errors.As(err, &refusal) && !errors.Is(err, engine.ErrNotFound) {
				return 0, fmt.Errorf("take it out of %s: %w", row.ID, err)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if id == self {
		kept, err := v.store.Outbox(ctx)
		if err != nil {
			return 0, fmt.Errorf("list kept requests: %w", err)
		}
		shared += len(kept)
	}
	left, err := v.c.Mesh.Vacated(ctx, id, shared)
	switch {
	case err != nil:
		return 0, err
	case left && id == self:
		return 0, nil
	case left:
		return v.seldom, nil
	}
	return min(max(v.soon, v.now().Sub(removed)/16), v.seldom), nil // a site that is lost leaves nothing for long
}

// movesOut reports whether it is for this site to take a removed one out of a resource: the first of the others does, and everyone
// when that one has not for a while.
func (v *vacating) movesOut(row *engine.ResourceRow, removed time.Time) bool {
	if v.now().Sub(removed) > moveOut {
		return true
	}
	for id, st := range row.Sites {
		if id < v.c.Mesh.Self() && st.State != engine.StateLeaving && !v.c.Mesh.Removed(id) {
			return false
		}
	}
	return true
}
