package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// A site does not know by itself that it was restored from a backup: what is open on its disk may have been done since, and
// others have heard of that. So what an earlier process has left is not sent again before one of the sites that share it has
// been compared with. A site that meets none of them within CompareWithin goes on alone, and says so. Once it has heard of a lost run,
// what it does next for any resource waits likewise, anew: what that run has written of one resource comes in several pieces. What nothing
// here knows may be a resource of theirs for as long, and is not made one. To have been compared with one that has nothing is not enough while
// another is known to have more.

// comparing is which sites this process has been compared with. It is safe for concurrent use.
type comparing struct {
	mu   sync.Mutex
	with map[SiteID]bool
	more map[SiteID]bool // they have something whose beginning was not here when it came
	held bool            // something has had to wait
	over bool            // nothing waits any more
	ends time.Time       // from when on it may be over
}

// waitForOthers begins the waiting.
func (s *Site) waitForOthers() {
	s.compared.mu.Lock()
	clear(s.compared.with)
	s.compared.held, s.compared.over = false, false
	s.compared.ends = s.cfg.Now().Add(s.cfg.CompareWithin)
	s.compared.mu.Unlock()
	s.queue.add(job{alone: true}, s.cfg.CompareWithin)
}

// Compared is to be called when this site has taken in all that another one had and it had not.
func (s *Site) Compared(other SiteID) {
	s.compared.mu.Lock()
	known := s.compared.with[other]
	more := s.compared.more[other]
	s.compared.with[other] = true
	delete(s.compared.more, other)
	s.compared.mu.Unlock()
	if !known || more {
		s.queue.hurry(func(j job) bool { return j.document != "" || j.intent != "" })
	}
}

// hasMore takes note that another site has something whose beginning is not here: the next comparison with it brings that.
func (s *Site) hasMore(other SiteID) {
	s.compared.mu.Lock()
	defer s.compared.mu.Unlock()
	s.compared.more[other] = true
}

// uncompared reports whether what an earlier process has left, and what these sites share, still has to wait.
func (s *Site) uncompared(sites []SiteID) bool {
	s.compared.mu.Lock()
	defer s.compared.mu.Unlock()
	waits := !s.compared.over && (s.unmet(sites) || slices.ContainsFunc(sites, func(id SiteID) bool { return s.compared.more[id] }))
	s.compared.held = s.compared.held || waits
	return waits
}

// unmet reports whether this site has been compared with none of the others of these, also where it does not wait for that any more. The
// caller holds compared.mu.
func (s *Site) unmet(sites []SiteID) bool {
	other := func(id SiteID) bool { return id != s.cfg.Self }
	return slices.ContainsFunc(sites, other) && !slices.ContainsFunc(sites, func(id SiteID) bool { return s.compared.with[id] })
}

// mayHaveBeen reports whether a run of this agent that is lost may have done what is done now for something that these sites share, as far
// as can be told without the application.
func (s *Site) mayHaveBeen(sites []SiteID) bool {
	s.compared.mu.Lock()
	defer s.compared.mu.Unlock()
	return s.twin.wasRestored() || s.unmet(sites)
}

// uncomparedIntent reports whether a request that an earlier process has left without an answer still waits. The caller holds
// the turn of r, unless it is nil.
func (s *Site) uncomparedIntent(ctx context.Context, r *resource, c *crossing) (bool, error) {
	if _, left := s.left.Load(c.Operation.ID); !left {
		return false, nil
	}
	if c.About != nil {
		return s.uncompared(c.About.Placement), nil
	}
	if r == nil {
		return s.uncompared(s.memberIDs()), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return s.uncompared(v.correspondents()), nil
}

// goAlone ends the waiting for other sites, unless it has begun anew since.
func (s *Site) goAlone(ctx context.Context) error {
	s.compared.mu.Lock()
	if rest := s.compared.ends.Sub(s.cfg.Now()); rest > 0 {
		s.compared.mu.Unlock()
		s.queue.add(job{alone: true}, rest)
		return nil
	}
	s.compared.over = true
	held, met := s.compared.held, len(s.compared.with) > 0 || len(s.memberIDs()) < 2
	s.compared.mu.Unlock()
	if !held {
		return nil
	}
	s.queue.hurry(func(j job) bool { return j.document != "" || j.intent != "" })
	if met {
		return nil
	}
	s.cfg.Log.Warn("no other site has been met since the start: what was left open is settled by what this site knows", "waited", s.cfg.CompareWithin)
	return s.commit(ctx, &Batch{Events: []Event{s.event("site.alone", string(s.name(s.cfg.Self)),
		map[string]any{"site": s.name(s.cfg.Self), "waited": s.cfg.CompareWithin.Round(time.Second).String()})}})
}
