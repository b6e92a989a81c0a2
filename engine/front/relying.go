package front

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// canBeReliedOn reports whether anything that is replicated here may rely on a resource of a kind.
func canBeReliedOn(s Site, k *engine.Kind) bool {
	return slices.ContainsFunc(s.Kinds(), func(other *engine.Kind) bool {
		relies := slices.ContainsFunc(other.Refs, func(r engine.Ref) bool {
			return r.Service == k.Service && r.Kind == k.Name && r.Relation == engine.RelationReliance
		})
		return relies && s.Replicates(other)
	})
}

// Relying lists the resources that rely on one, as far as this site shares them: at most limit, newest first. The identifier is the
// meta-identifier of what may be deleted, or this site's own.
func (f *Front) Relying(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error) {
	if !canBeReliedOn(f.Site, k) {
		return nil, nil
	}
	row, err := f.Site.Lookup(ctx, k, id)
	replicated, err := found(err)
	if err != nil {
		return nil, fmt.Errorf("list what relies on %s: %w", id, err)
	}
	t := engine.Target{Service: k.Service, Kind: k.Name, ID: engine.ResourceID(id)}
	if replicated {
		t.ID = row.ID
	}
	rows, _, err := f.Store.Resources(ctx, engine.ResourceFilter{RefersTo: t, Relying: true, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("list what relies on %s: %w", id, err)
	}
	return slices.DeleteFunc(rows, func(r engine.ResourceRow) bool {
		itself := r.Service == t.Service && r.Kind == t.Kind && r.ID == t.ID
		elsewhere := !replicated && !slices.ContainsFunc(r.Relations, func(to engine.Relation) bool { // another site's, of the same identifier
			return to.Target == t && (len(to.Found) == 0 || slices.Contains(to.Found, f.self))
		})
		return itself || elsewhere
	}), nil
}

// Holding lists the resources that lie inside one and are replicated, as far as this site shares them, at most limit. The identifier is
// the meta-identifier of what may be deleted, or this site's own.
func (f *Front) Holding(ctx context.Context, k *engine.Kind, id string, limit int) ([]engine.ResourceRow, error) {
	inner := slices.DeleteFunc(containedAnywhere(f.Site, k), func(i *engine.Kind) bool { return !f.Site.Replicates(i) })
	if len(inner) == 0 {
		return nil, nil
	}
	row, err := f.Site.Lookup(ctx, k, id)
	replicated, err := found(err)
	if err != nil {
		return nil, fmt.Errorf("list what lies in %s: %w", id, err)
	}
	if replicated {
		id = string(row.ID)
	}
	prefix := engine.Inside(k.AsContainer(id), "")
	var held []engine.ResourceRow
	for _, i := range inner {
		rows, _, err := f.Store.Resources(ctx, engine.ResourceFilter{Service: i.Service, Kind: i.Name, Query: prefix, Limit: limit})
		if err != nil {
			return nil, fmt.Errorf("list what lies in %s: %w", id, err)
		}
		held = append(held, slices.DeleteFunc(rows, func(r engine.ResourceRow) bool { return !strings.HasPrefix(string(r.ID), prefix) })...)
	}
	return held[:min(len(held), limit)], nil
}

// containedAnywhere lists the kinds of what lies in containers of a kind, however deep.
func containedAnywhere(s Site, k *engine.Kind) []*engine.Kind {
	var all []*engine.Kind
	for _, i := range s.Contained(k) {
		all = append(append(all, i), containedAnywhere(s, i)...)
	}
	return all
}
