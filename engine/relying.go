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

// canBeReliedOn reports whether anything that is replicated here may rely on a resource of a kind.
func (s *Site) canBeReliedOn(k *Kind) bool {
	return slices.ContainsFunc(s.known.Load().all, func(other *Kind) bool {
		return other.reliesOn(k.Service, k.Name) && s.known.Load().replicated[kindKey{other.Service, other.Name}].Load()
	})
}

// Relying lists the resources that rely on one, as far as this site shares them: at most limit, newest first. The
// identifier is the meta-identifier of what may be deleted, or this site's own.
func (s *Site) Relying(ctx context.Context, k *Kind, id string, limit int) ([]ResourceRow, error) {
	if !s.canBeReliedOn(k) {
		return nil, nil
	}
	t, alone := Target{k.Service, k.Name, ResourceID(id)}, true
	switch row, err := s.Lookup(ctx, k, id); {
	case err == nil:
		t.ID, alone = row.ID, false
	case !errors.Is(err, ErrNotFound):
		return nil, fmt.Errorf("list what relies on %s: %w", id, err)
	}
	rows, _, err := s.cfg.Store.Resources(ctx, ResourceFilter{RefersTo: t, Relying: true, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("list what relies on %s: %w", id, err)
	}
	return slices.DeleteFunc(rows, func(r ResourceRow) bool {
		itself := r.Service == t.Service && r.Kind == t.Kind && r.ID == t.ID
		elsewhere := alone && !slices.ContainsFunc(r.Relations, func(to Relation) bool { // another site's, of the same identifier
			return to.Target == t && (len(to.Found) == 0 || slices.Contains(to.Found, s.cfg.Self))
		})
		return itself || elsewhere
	}), nil
}
