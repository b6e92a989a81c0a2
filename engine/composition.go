package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// composed are those of a resource's references that say what its application has made along with it, and destroys along.
func composed(list []Relation) []Relation {
	var parts []Relation
	for _, r := range list {
		if r.Type == RelationComposition {
			parts = append(parts, r)
		}
	}
	return parts
}

// destroyedAlong tells the rows of a resource that is to be no more what its application destroys along with it: what the row
// before said. A row keeps it, so that it is known after a restart as well.
func destroyedAlong(v *view, before ResourceRow) []Relation {
	if v.exists() {
		return nil
	}
	return composed(before.Relations)
}

// destroyAlong deletes what was replicated of what the application has made along with a resource that was deleted: it is gone
// at every site, and must not be taken for lost and made anew. One of the sites that have both does it.
func (s *Site) destroyAlong(ctx context.Context, id DocumentID) error {
	r := s.registry.acquire(id)
	defer s.registry.release(r)
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	var ended *Operation
	if err == nil {
		for _, o := range v.history.ordered {
			if o.Type == TypeDelete {
				ended = o
			}
		}
	}
	unlock()
	if err != nil || ended == nil || v.exists() {
		return err
	}
	row, err := s.cfg.Store.ResourceByDocument(ctx, id)
	if err != nil {
		return fmt.Errorf("destroy along with document %s: %w", id, err)
	}
	for _, part := range composed(row.Relations) {
		if err := s.destroyPart(ctx, row, part, ended); err != nil {
			return fmt.Errorf("destroy %s %s along with %s: %w", part.Kind, part.ID, row.ID, err)
		}
	}
	return s.destroyInside(ctx, row, v.kind, ended)
}

// destroyInside ends what was replicated inside a container that was deleted, and is gone with it.
func (s *Site) destroyInside(ctx context.Context, owner ResourceRow, k *Kind, ended *Operation) error {
	const most = 100
	for more := true; more; {
		held, err := s.Holding(ctx, k, string(owner.ID), most)
		if err != nil {
			return err
		}
		more = false
		for _, target := range held {
			by, both := destroyer(owner, target, ended)
			if by != s.cfg.Self || target.GoneAt(s.cfg.Self) {
				continue
			}
			if len(both) < len(target.Sites) { // elsewhere it lies in a container that lives
				_, err = s.Place(ctx, target.Document, PlaceRequest{Remove: both})
			} else {
				err = s.destroy(ctx, s.known.Load().by[kindKey{target.Service, target.Kind}], target, ended)
			}
			if err != nil {
				return fmt.Errorf("destroy %s %s along with %s: %w", target.Kind, target.ID, owner.ID, err)
			}
			more = len(held) == most
		}
	}
	return nil
}

// takeUpContainers is for the start: something may be left of what has lain in a container that was deleted.
func (s *Site) takeUpContainers(ctx context.Context) error {
	seen := map[DocumentID]bool{}
	for _, k := range s.known.Load().all {
		c := s.known.Load().by[kindKey{k.Service, k.Within}]
		if c == nil || !s.Replicates(k) || !s.Replicates(c) {
			continue
		}
		for f, more := (ResourceFilter{Service: k.Service, Kind: k.Name, Limit: sweepPage}), true; more; {
			rows, next, err := s.cfg.Store.Resources(ctx, f)
			if err != nil {
				return fmt.Errorf("list what lies in containers: %w", err)
			}
			for _, row := range rows {
				container, _ := k.Split(string(row.ID))
				owner, err := s.cfg.Store.ResourceByID(ctx, c.Service, c.Name, ResourceID(c.FromContainer(container)))
				if err == nil && owner.Local == "" && !seen[owner.Document] { // it does nothing unless the container is no more
					seen[owner.Document] = true
					s.queue.add(job{owner: owner.Document}, 0)
				}
			}
			f.Cursor, more = next, next != ""
		}
	}
	return nil
}

// destroyer tells which site ends what is gone along with its owner, and which have both: none ends what is younger than the
// owner's end.
func destroyer(owner, target ResourceRow, ended *Operation) (by SiteID, both []SiteID) {
	both = slices.DeleteFunc(others(target, ""), func(id SiteID) bool { _, has := owner.Sites[id]; return !has })
	if target.CreatedAt.UnixMicro() > ended.Time || len(both) == 0 {
		return "", both
	}
	if slices.Contains(both, ended.Origin) {
		return ended.Origin, both
	}
	return both[0], both
}

func (s *Site) destroyPart(ctx context.Context, owner ResourceRow, part Relation, ended *Operation) error {
	kind := s.known.Load().by[kindKey{part.Service, part.Kind}]
	if kind == nil {
		return nil
	}
	target, err := s.Lookup(ctx, kind, string(part.ID))
	if errors.Is(err, ErrNotFound) {
		return nil // it was not replicated, or is gone
	}
	if err != nil {
		return err
	}
	if by, _ := destroyer(owner, target, ended); by != s.cfg.Self {
		return nil
	}
	for f := (ResourceFilter{RefersTo: part.Target}); ; {
		rows, next, err := s.cfg.Store.Resources(ctx, f)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(rows, func(r ResourceRow) bool {
			return r.Document != owner.Document && slices.ContainsFunc(composed(r.Relations), func(c Relation) bool { return c.Target == part.Target })
		}) {
			return nil // it belongs to another by now
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	return s.destroy(ctx, kind, target, ended)
}

// destroy deletes a resource that is gone already.
func (s *Site) destroy(ctx context.Context, kind *Kind, target ResourceRow, ended *Operation) error {
	within, _ := kind.Split(string(target.ID))
	answer, err := s.Submit(ctx, Request{Kind: kind, Type: TypeDelete, Method: http.MethodDelete, Path: kind.Item, Target: string(target.ID),
		Within: within, User: ended.User})
	if err == nil && answer.Status >= 300 && answer.Status != http.StatusNotFound && answer.Status != http.StatusGone {
		err = fmt.Errorf("the application answered %d", answer.Status)
	}
	return err
}
