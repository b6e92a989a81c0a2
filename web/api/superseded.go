package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// ResourceDetail is one resource with its relations, the values that were lost on it, and what was folded away.
type ResourceDetail struct {
	shape.Resource
	// Relations are its references and those to it, through one step.
	Relations  []shape.RelationEdge `json:"relations"`
	Superseded []shape.Superseded   `json:"superseded"`
	Compacted  *shape.Compacted     `json:"compacted"` // nil: nothing was folded away here
	// Decisions are what people have decided about it, newest first, of each site the last few.
	Decisions []shape.Decision `json:"decisions"`
}

// ResourceDetail finds one resource as Resource does, and tells which values were lost on it.
func (a *API) ResourceDetail(ctx context.Context, ref ResourceRef) (ResourceDetail, error) {
	row, err := a.rowToRead(ctx, ref)
	if err != nil {
		return ResourceDetail{}, err
	}
	n := a.names()
	d := ResourceDetail{Resource: n.Resource(row), Superseded: []shape.Superseded{}, Decisions: []shape.Decision{}}
	if d.Relations, err = a.relationsOf(ctx, row); err != nil {
		return ResourceDetail{}, err
	}
	lost, err := a.Operator.Superseded(ctx, row.Document)
	if errors.Is(err, engine.ErrNotFound) { // its document is no longer here
		return d, nil
	}
	if err != nil {
		return ResourceDetail{}, fmt.Errorf("show resource %s: %w", row.ID, err)
	}
	folded, err := a.Operator.Compacted(ctx, row.Document)
	if err != nil {
		return ResourceDetail{}, fmt.Errorf("show resource %s: %w", row.ID, err)
	}
	d.Compacted = shape.CompactedOf(folded)
	if d.Decisions, err = a.decided(ctx, &row, n); err != nil {
		return ResourceDetail{}, err
	}
	authors := map[engine.OperationID]shape.Author{}
	for _, l := range lost {
		for _, id := range []engine.OperationID{l.By, l.Over} {
			if _, known := authors[id]; known {
				continue
			}
			if authors[id], err = a.author(ctx, n, id); err != nil {
				return ResourceDetail{}, err
			}
		}
		d.Superseded = append(d.Superseded, shape.SupersededOf(l, authors[l.By], authors[l.Over]))
	}
	return d, nil
}

func (a *API) author(ctx context.Context, n shape.Names, id engine.OperationID) (shape.Author, error) {
	row, err := a.Store.Operation(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return shape.Author{Operation: string(id)}, nil
	}
	if err != nil {
		return shape.Author{}, fmt.Errorf("look up operation %s: %w", id, err)
	}
	return n.Author(row), nil
}
