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
	r.mu.Lock()
	v, err := s.open(ctx, r)
	var ended *Operation
	if err == nil {
		for _, o := range v.history.ordered {
			if o.Type == TypeDelete {
				ended = o
			}
		}
	}
	r.mu.Unlock()
	s.registry.release(r)
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
	return nil
}

func (s *Site) destroyPart(ctx context.Context, owner ResourceRow, part Relation, ended *Operation) error {
	kind := s.kinds[kindKey{part.Service, part.Kind}]
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
	both := slices.DeleteFunc(others(target, ""), func(id SiteID) bool { _, has := owner.Sites[id]; return !has })
	by := ended.Origin
	if !slices.Contains(both, by) {
		by = append(both, "")[0]
	}
	if by != s.cfg.Self || target.CreatedAt.UnixMicro() > ended.Time {
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
	answer, err := s.Submit(ctx, Request{Kind: kind, Type: TypeDelete, Method: http.MethodDelete, Path: kind.Item, Target: string(target.ID), User: ended.User})
	if err == nil && answer.Status >= 300 && answer.Status != http.StatusNotFound && answer.Status != http.StatusGone {
		err = fmt.Errorf("the application answered %d", answer.Status)
	}
	return err
}
