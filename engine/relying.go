package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ForceReliedOn is what a caller says to delete what others rely on.
const ForceReliedOn = "relied-on"

// reliesOn reports whether a resource of the kind can rely on one of another kind.
func (k *Kind) reliesOn(service ServiceName, kind KindName) bool {
	return slices.ContainsFunc(k.Refs, func(r Ref) bool {
		return r.Service == service && r.Kind == kind && r.Relation == RelationReliance
	})
}

// Relying lists the resources that rely on one, as far as this site shares them: at most limit, newest first. The
// identifier is the meta-identifier of what may be deleted, or this site's own.
func (s *Site) Relying(ctx context.Context, k *Kind, id string, limit int) ([]ResourceRow, error) {
	can := false
	for _, other := range s.cfg.Kinds {
		can = can || other.reliesOn(k.Service, k.Name) && s.replicated[kindKey{other.Service, other.Name}].Load()
	}
	if !can {
		return nil, nil
	}
	t := Target{k.Service, k.Name, ResourceID(id)}
	switch row, err := s.Lookup(ctx, k, id); {
	case err == nil:
		t.ID = row.ID
	case !errors.Is(err, ErrNotFound):
		return nil, fmt.Errorf("list what relies on %s: %w", id, err)
	}
	rows, _, err := s.cfg.Store.Resources(ctx, ResourceFilter{RefersTo: t, Relying: true, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("list what relies on %s: %w", id, err)
	}
	itself := func(r ResourceRow) bool { return r.Service == t.Service && r.Kind == t.Kind && r.ID == t.ID }
	return slices.DeleteFunc(rows, itself), nil
}
