package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A site is taken out of the mesh for good in three steps. A member writes its removal into the mesh document: from then on no scope
// means it. The members take it out of every placement, and it brings in what it had accepted, as with any removal from a
// placement. When it shares nothing more and has said so (SiteRecord.Gone), or has kept silent for too long, it is no member any
// more: nobody talks to it.

// removal is what the mesh document says of a site that was taken out. It is among the admissions, under
// "author/site/removed": like those it is written once.
type removal struct {
	At time.Time `json:"removed_at"`
}

const removedSuffix = "/removed"

// moveOut is how long the others leave it to the first site of a placement to take a removed one out of it.
const moveOut = time.Minute

// takeRemoval takes in that a site was removed. The caller holds m.mu.
func (m *mesh) takeRemoval(id SiteID, value []byte) error {
	var r removal
	if err := decodeStrict(value, &r); err != nil {
		return fmt.Errorf("removal of %s: %w: %w", id, ErrRefused, err)
	}
	if old, known := m.removed[id]; !known || r.At.Before(old) {
		m.removed[id] = r.At
		m.news = append(m.news, id)
	}
	return nil
}

// Removed reports whether a site was taken out of the mesh, whether or not it has left already.
func (s *Site) Removed(id SiteID) bool {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	_, removed := s.mesh.removed[id]
	return removed
}

// RemoveSite takes a site out of the mesh for good. It is durable when it returns and takes no other site to be reached.
// ErrNotFound: it is no member.
func (s *Site) RemoveSite(ctx context.Context, id SiteID) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	switch {
	case !s.IsMember(id):
		return fmt.Errorf("remove site %s: %w", id, ErrNotFound)
	case s.Removed(id):
		return nil
	case !slices.ContainsFunc(s.memberIDs(), func(other SiteID) bool { return other != id && !s.Removed(other) }):
		return &Refusal{Status: http.StatusConflict, Type: "last-site", Detail: fmt.Sprintf("%s is the last site of the mesh", s.name(id))}
	}
	err := s.writeMesh(ctx, Entry{Map: MapMembers, Key: string(s.cfg.Self) + "/" + string(id) + removedSuffix, Value: compactStruct(removal{At: s.cfg.Now()})})
	if err != nil {
		return fmt.Errorf("remove site %s: %w", id, err)
	}
	s.heedRemovals(ctx)
	return nil
}

// heedRemovals begins what a removal asks for that was heard of just now.
func (s *Site) heedRemovals(ctx context.Context) {
	s.mesh.mu.Lock()
	news := s.mesh.news
	s.mesh.news = nil
	s.mesh.mu.Unlock()
	for _, id := range news {
		if id == s.cfg.Self {
			s.cfg.Log.Warn("this site was taken out of the mesh for good: it brings in what it has accepted and goes on alone")
		} else {
			s.cfg.Log.Info("a site was taken out of the mesh for good", "site", id)
		}
		data := map[string]any{"site": s.name(id), "peer_id": id}
		if err := s.commit(ctx, &Batch{Events: []Event{s.event("site.removed", string(s.name(id)), data)}}); err != nil {
			s.cfg.Log.Error("record site event", "site", id, "err", err)
		}
		s.queue.add(job{vacate: id}, 0)
	}
}

// takeUpRemovals begins what the removals ask for that are known already.
func (s *Site) takeUpRemovals() {
	s.mesh.mu.Lock()
	known := slices.Sorted(maps.Keys(s.mesh.removed))
	s.mesh.news = nil
	s.mesh.mu.Unlock()
	for _, id := range known {
		s.queue.add(job{vacate: id}, 0)
	}
}

// vacate takes a removed site out of the placements that this site knows, or says of this site that it has left them all. It is
// run again and again: a site that has not heard of the removal may put it into one.
func (s *Site) vacate(ctx context.Context, id SiteID) error {
	s.mesh.mu.RLock()
	at, told := s.mesh.removed[id], s.mesh.sites[id].Gone
	s.mesh.mu.RUnlock()
	shared := 0
	for cursor := ""; ; {
		rows, next, err := s.cfg.Store.Resources(ctx, ResourceFilter{Site: id, Limit: 1000, Cursor: cursor})
		if err != nil {
			return fmt.Errorf("list what %s has: %w", id, err)
		}
		for _, row := range rows {
			st, member := row.Sites[id]
			if !member || row.State.Past() || id == s.cfg.Self && len(row.Sites) == 1 {
				continue
			}
			shared++
			if id == s.cfg.Self || st.State == StateLeaving || !s.movesOut(row, at) {
				continue
			}
			var refusal *Refusal
			_, err := s.Place(ctx, row.Document, PlaceRequest{Remove: []SiteID{id}})
			if err != nil && !errors.As(err, &refusal) && !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("take %s out of %s: %w", id, row.ID, err)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if id == s.cfg.Self {
		kept, err := s.cfg.Store.Outbox(ctx)
		if err != nil {
			return fmt.Errorf("list kept requests: %w", err)
		}
		shared += len(kept)
	}
	again := min(max(s.cfg.LookAfter, s.cfg.Now().Sub(at)/16), s.cfg.LookEvery) // a site that is lost leaves nothing for long
	switch silent := s.cfg.Now().Sub(at) > s.cfg.LeaveWithin; {
	case shared > 0 && !silent:
	case id == s.cfg.Self:
		if !told {
			if err := s.tellGone(ctx); err != nil {
				return err
			}
		}
		return nil
	case told || silent:
		s.mesh.mu.Lock()
		s.mesh.gone[id] = true
		s.mesh.mu.Unlock()
		again = s.cfg.LookEvery
	}
	s.queue.add(job{vacate: id}, again)
	return nil
}

// movesOut reports whether it is for this site to take a removed one out of a resource: the first of the others does, and everyone
// when that one has not for a while.
func (s *Site) movesOut(row ResourceRow, removed time.Time) bool {
	if s.cfg.Now().Sub(removed) > moveOut {
		return true
	}
	for id, st := range row.Sites {
		if id < s.cfg.Self && st.State != StateLeaving && !s.Removed(id) {
			return false
		}
	}
	return true
}

// tellGone says that this site, which was removed, shares nothing more.
func (s *Site) tellGone(ctx context.Context) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	record := s.ownRecord()
	record.Gone = true
	if err := s.writeRecord(ctx, record); err != nil {
		return fmt.Errorf("tell that this site has left: %w", err)
	}
	return nil
}

// removalOf splits the key of a removal, without its author; ok is false for the key of an admission.
func removalOf(rest string) (id SiteID, ok bool) {
	site, ok := strings.CutSuffix(rest, removedSuffix)
	return SiteID(site), ok
}
