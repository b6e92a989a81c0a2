package engine

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Pause says who has told a site to leave its replica of a resource as it is, when, and why. It is part of what the site
// publishes of its replica, so that every site can tell.
type Pause struct {
	By     SiteName  `json:"by"` // the site where it was asked for
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

func (p *Pause) String() string {
	if p.Reason == "" {
		return fmt.Sprintf("paused from %s", p.By)
	}
	return fmt.Sprintf("paused from %s: %s", p.By, p.Reason)
}

// maxReason is the most bytes that the reason of a pause may have.
const maxReason = 500

// Pause makes this site's replica of a resource take nothing of other sites until Resume. A request that is under way
// finishes. Requests of this site's own clients are served as before, and travel. Pausing again changes by and reason.
// ErrNotFound: the document is not here; a *Refusal: the reason is too long, or the site was removed.
func (s *Site) Pause(ctx context.Context, id DocumentID, by SiteID, reason string) error {
	if len(reason) > maxReason {
		return &Refusal{Status: http.StatusBadRequest, Type: "bad-request", Detail: fmt.Sprintf("a reason has at most %d bytes", maxReason)}
	}
	return s.setPause(ctx, id, &Pause{By: s.name(by), At: s.cfg.Now(), Reason: reason})
}

// Resume ends a pause and sees to what has waited, also of a resource that was set aside. A replica that is not paused stays as it is.
func (s *Site) Resume(ctx context.Context, id DocumentID) error {
	_, aside := s.aside.LoadAndDelete(id)
	err := s.guarded(ctx, id, "resume", func() error {
		if err := s.setPause(ctx, id, nil); err != nil || !aside {
			return err
		}
		return s.showAnew(ctx, id)
	})
	if err != nil {
		return err
	}
	s.queue.add(job{document: id}, 0)
	return nil
}

func (s *Site) setPause(ctx context.Context, id DocumentID, p *Pause) error {
	r, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return fmt.Errorf("pause or resume a replica: %w", err)
	}
	if p != nil && v.part(v.self) != partMember {
		return &Refusal{Status: http.StatusConflict, Type: "placement", Detail: fmt.Sprintf(
			"%s was removed from the placement of %s %s: there is nothing to pause", v.name(v.self), v.about.Kind, v.about.Key)}
	}
	if v.replica(v.self).Paused == nil && p == nil {
		return nil
	}
	entry := v.withSettled(v.local(), s.cfg.Now())
	entry.Paused = p
	return s.write(ctx, r, []Entry{v.replicaAs(entry)}, &Batch{})
}

// endPause ends a pause that somebody has ordered before the site was removed. The caller holds r.mu, and r.view is loaded.
func (s *Site) endPause(ctx context.Context, r *resource) error {
	entry := r.view.withSettled(r.view.local(), s.cfg.Now())
	entry.Paused = nil
	return s.write(ctx, r, []Entry{r.view.replicaAs(entry)}, &Batch{})
}

// pausedHere refuses what came through another site while the replica is paused: another site may take it.
func (s *Site) pausedHere(row ResourceRow) *Refusal {
	p := row.Sites[s.cfg.Self].Paused
	if p == nil {
		return nil
	}
	return &Refusal{Status: http.StatusServiceUnavailable, Type: "paused", Detail: fmt.Sprintf(
		"%s %s is %s at %s; nothing has happened there", row.Kind, row.ID, p, s.name(s.cfg.Self))}
}

// pauseEvents tells where a replica was paused or resumed since before.
func (s *Site) pauseEvents(before, now ResourceRow) []Event {
	var events []Event
	for _, id := range slices.Sorted(maps.Keys(now.Sites)) {
		old, p := before.Sites[id].Paused, now.Sites[id].Paused
		data := map[string]any{"resource": now.ID, "service": now.Service, "kind": now.Kind, "site": s.name(id)}
		switch {
		case p != nil && (old == nil || *old != *p):
			data["by"], data["reason"] = p.By, p.Reason
			events = append(events, s.event("resource.paused", string(now.ID), data))
		case p == nil && old != nil:
			events = append(events, s.event("resource.resumed", string(now.ID), data))
		}
	}
	return events
}
