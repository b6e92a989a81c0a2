package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// settling is how long after the start of an agent a site that it has not seen yet does not count as out of reach.
const settling = 10 * time.Second

// holders returns where what a relation names is, as far as a site knows. Target is nil when that site does not share it.
func (r Relation) holders(target *ResourceRow) []SiteID {
	if target != nil && target.State != StateLeft {
		return others(*target, "")
	}
	return r.Found
}

// unsupported says why a resource lacks at a site what it relies on; empty when it does not, as far as is known there.
// reachable tells of other sites.
func (r Relation) unsupported(target *ResourceRow, self SiteID, reachable func(SiteID) bool, name func(SiteID) SiteName) string {
	if target != nil && target.State == StateDeleted {
		return fmt.Sprintf("relies on %s %s, which was deleted", r.Kind, r.ID)
	}
	sites := r.holders(target)
	if len(sites) == 0 || slices.ContainsFunc(sites, func(s SiteID) bool { return s == self || reachable(s) }) {
		return ""
	}
	names := make([]string, len(sites))
	for i, s := range sites {
		names[i] = string(name(s))
	}
	slices.Sort(names)
	return fmt.Sprintf("relies on %s %s, and no site that has it can be reached (%s)", r.Kind, r.ID, strings.Join(names, ", "))
}

// maxLacking is how many of the things that a resource lacks its reason names.
const maxLacking = 3

// support makes a row degraded when its resource lacks at this site what it relies on, and remembers which other sites it
// depends on.
func (s *Site) support(ctx context.Context, row *ResourceRow) error {
	st, here := row.Sites[s.cfg.Self]
	var reasons []string
	var from []SiteID
	if here && st.State != StateLeaving && !row.State.Past() {
		reachable := s.reachable()
		for _, r := range row.Relations {
			if r.Type != RelationReliance {
				continue
			}
			var target *ResourceRow
			found, err := s.cfg.Store.ResourceByID(ctx, r.Service, r.Kind, r.ID)
			switch {
			case err == nil:
				target = &found
			case !errors.Is(err, ErrNotFound):
				return fmt.Errorf("find what %s relies on: %w", row.ID, err)
			}
			if sites := r.holders(target); !slices.Contains(sites, s.cfg.Self) {
				from = append(from, sites...)
			}
			if why := r.unsupported(target, s.cfg.Self, reachable, s.name); why != "" && len(reasons) < maxLacking {
				reasons = append(reasons, why)
			}
		}
	}
	s.borrowed.set(row.Document, from)
	if len(reasons) == 0 {
		return nil
	}
	row.worsen(s.cfg.Self, s.name(s.cfg.Self), StateDegraded, strings.Join(reasons, "; "))
	return nil
}

// reachable tells which other sites can be reached now.
func (s *Site) reachable() func(SiteID) bool {
	status, fresh := s.network.Status(), s.cfg.Now().Before(s.started.Add(settling))
	return func(id SiteID) bool {
		st := status[id]
		return st.Reachable || fresh && st.LastSeen.IsZero()
	}
}

// shifts reports whether what relies on a resource may have to be seen anew: it came, went, or lives elsewhere.
func shifts(before, now ResourceRow) bool {
	same := maps.EqualFunc(before.Sites, now.Sites, func(a, b ReplicaStatus) bool { return (a.State == StateLeaving) == (b.State == StateLeaving) })
	return before.Document == "" || before.State.Past() != now.State.Past() || !same
}

// seeRelying has the rows of all that rely on a resource made anew.
func (s *Site) seeRelying(ctx context.Context, id DocumentID) error {
	row, err := s.cfg.Store.ResourceByDocument(ctx, id)
	if err != nil {
		return fmt.Errorf("find what relies on document %s: %w", id, err)
	}
	f := ResourceFilter{RefersTo: Target{row.Service, row.Kind, row.ID}, Relying: true, Limit: sweepPage}
	for {
		rows, next, err := s.cfg.Store.Resources(ctx, f)
		if err != nil {
			return fmt.Errorf("find what relies on %s: %w", row.ID, err)
		}
		for _, r := range rows {
			s.queue.add(job{supported: r.Document}, 0)
		}
		if f.Cursor = next; next == "" {
			return nil
		}
	}
}

// seeSupport makes the row of a resource anew where what its document does not tell makes a difference: what it relies on, and
// requests that have had no certain answer, which other sites are told of.
func (s *Site) seeSupport(ctx context.Context, id DocumentID) error {
	r, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	var before ResourceRow
	if err == nil {
		before, err = s.cfg.Store.ResourceByDocument(ctx, id)
	}
	if errors.Is(err, ErrNotFound) {
		return nil // it is no resource here yet
	}
	if err != nil {
		return fmt.Errorf("see what document %s does not tell: %w", id, err)
	}
	if published, err := s.publishOpen(ctx, r); published || err != nil {
		return err
	}
	row := v.row(s.cfg.Now(), v.conflicts())
	if err := s.support(ctx, &row); err != nil {
		return err
	}
	s.tellOpen(v, &row, nil)
	if row.State == before.State && row.Reason == before.Reason {
		return nil
	}
	return s.store(ctx, r, &Batch{})
}

// takeUpRelations is for the start: what others rely on may have changed meanwhile, which is seen to once the other sites
// have had time to be found, and parts may be left of what was deleted.
func (s *Site) takeUpRelations(ctx context.Context) error {
	for _, state := range []State{"", StateDeleted} {
		for f, more := (ResourceFilter{Related: true, State: state, Limit: sweepPage}), true; more; {
			rows, next, err := s.cfg.Store.Resources(ctx, f)
			if err != nil {
				return fmt.Errorf("list what has relations: %w", err)
			}
			for _, row := range rows {
				if slices.ContainsFunc(row.Relations, func(r Relation) bool { return r.Type == RelationReliance }) {
					s.queue.add(job{supported: row.Document}, settling)
				}
				if len(composed(row.Relations)) > 0 { // it does nothing unless the resource is no more
					s.queue.add(job{owner: row.Document}, 0)
				}
			}
			f.Cursor, more = next, next != ""
		}
	}
	return s.takeUpContainers(ctx)
}

// borrowed tells which resources here rely on what only other sites have. It is safe for concurrent use.
type borrowed struct {
	mu   sync.Mutex
	from map[DocumentID][]SiteID
}

func (b *borrowed) set(id DocumentID, sites []SiteID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(sites) == 0 {
		delete(b.from, id)
		return
	}
	b.from[id] = sites
}

// at lists those that rely on what a site has, sorted.
func (b *borrowed) at(site SiteID) []DocumentID {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []DocumentID
	for id, sites := range b.from {
		if slices.Contains(sites, site) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
