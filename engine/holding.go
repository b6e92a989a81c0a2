package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Holding lists the resources that lie inside one and are replicated, as far as this site shares them, at most limit. The identifier is
// the meta-identifier of what may be deleted, or this site's own.
func (s *Site) Holding(ctx context.Context, k *Kind, id string, limit int) ([]ResourceRow, error) {
	inner := s.containedAnywhere(k)
	if inner = slices.DeleteFunc(inner, func(i *Kind) bool { return !s.Replicates(i) }); len(inner) == 0 {
		return nil, nil
	}
	switch row, err := s.Lookup(ctx, k, id); {
	case err == nil:
		id = string(row.ID)
	case !errors.Is(err, ErrNotFound):
		return nil, fmt.Errorf("list what lies in %s: %w", id, err)
	}
	prefix := Inside(k.AsContainer(id), "")
	var held []ResourceRow
	for _, i := range inner {
		rows, _, err := s.cfg.Store.Resources(ctx, ResourceFilter{Service: i.Service, Kind: i.Name, Query: prefix, Limit: limit})
		if err != nil {
			return nil, fmt.Errorf("list what lies in %s: %w", id, err)
		}
		held = append(held, slices.DeleteFunc(rows, func(r ResourceRow) bool { return !strings.HasPrefix(string(r.ID), prefix) })...)
	}
	return held[:min(len(held), limit)], nil
}

// mayHold reports whether anything that is replicated here may lie in a container of a kind.
func (s *Site) mayHold(k *Kind) bool {
	return slices.ContainsFunc(s.containedAnywhere(k), s.Replicates)
}

// containedAnywhere lists the kinds of what lies in containers of a kind, however deep.
func (s *Site) containedAnywhere(k *Kind) []*Kind {
	var all []*Kind
	for _, i := range s.contained(k) {
		all = append(append(all, i), s.containedAnywhere(i)...)
	}
	return all
}
