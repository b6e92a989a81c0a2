package engine

import (
	"context"
	"fmt"
	"time"
)

// A site that was removed says when it has left, and until then the others wait for what it has accepted. One that is lost for
// good, or means them ill, never says so.

// overdue reports whether a site that was removed has had long enough to say that it has left: nothing waits for it any more. It
// is still told what it asks for, and what it has accepted is taken in if it comes after all.
func (v *view) overdue(s SiteID) bool {
	if s == v.self || v.clock == nil || v.part(s) != partLeaving {
		return false
	}
	by := v.placement().Removed[s]
	return by == nil || v.clock().Sub(time.UnixMicro(by.Time)) > v.patience // nil: it has settled its removal, and a checkpoint stands for that
}

// lapsesIn is how long it is until another site becomes overdue; ok is false when none will.
func (v *view) lapsesIn() (wait time.Duration, ok bool) {
	if v.clock == nil {
		return 0, false
	}
	for _, s := range v.with(partLeaving) {
		by := v.placement().Removed[s]
		if s == v.self || v.lapsed[s] || by == nil {
			continue
		}
		if left := time.UnixMicro(by.Time).Add(v.patience).Sub(v.clock()) + time.Second; !ok || left < wait {
			wait, ok = left, true
		}
	}
	return wait, ok
}

// lapses reports whether a site has become overdue since the last time, and has the rows of all operations written again then.
func (v *view) lapses() bool {
	some := false
	for _, s := range v.with(partLeaving) {
		if v.overdue(s) && !v.lapsed[s] {
			v.lapsed[s], some = true, true
		}
	}
	if some {
		v.touchAll()
	}
	return some
}

// lapse goes on without sites that have become overdue. The caller holds r.mu, and r.view is loaded.
func (s *Site) lapse(ctx context.Context, r *resource) error {
	if !r.view.lapses() {
		if wait, ok := r.view.lapsesIn(); ok {
			s.queue.add(job{look: r.id}, wait)
		}
		return nil
	}
	if err := s.store(ctx, r, &Batch{}); err != nil {
		return fmt.Errorf("go on without a site that was removed: %w", err)
	}
	s.queue.add(job{document: r.id}, 0)
	return nil
}
