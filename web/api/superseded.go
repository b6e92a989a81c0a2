package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
)

// ResourceDetail is one resource with its relations, the values that were lost on it, and what was folded away.
type ResourceDetail struct {
	Resource
	// Relations are its references and those to it, through one step.
	Relations  []RelationEdge `json:"relations"`
	Superseded []Superseded   `json:"superseded"`
	Compacted  *Compacted     `json:"compacted"` // nil: nothing was folded away here
}

// Compacted is what the answering site has folded away of a resource's history.
type Compacted struct {
	Operations int       `json:"operations"` // how many they are
	Until      time.Time `json:"until"`      // when the newest of them was issued
}

// Superseded is a value that a concurrent, later operation took the place of. Restore sets it again.
type Superseded struct {
	Path string `json:"path"` // a JSON pointer
	// Value is null where a field had been removed.
	Value json.RawMessage `json:"value"`
	By    Author          `json:"by"`   // who had set it
	Over  Author          `json:"over"` // who took its place
	Rule  string          `json:"rule"` // which rule decided, in words
}

// Author is an operation with who asked for it, where and when; empty but for the identifier where it is not listed any more.
type Author struct {
	Operation string    `json:"operation"`
	User      string    `json:"user"`
	Site      string    `json:"site"`
	At        time.Time `json:"at,omitzero"`
}

// ResourceDetail finds one resource as Resource does, and tells which values were lost on it.
func (a *API) ResourceDetail(ctx context.Context, ref ResourceRef) (ResourceDetail, error) {
	row, err := a.row(ctx, ref)
	if err != nil {
		return ResourceDetail{}, err
	}
	n := a.names()
	d := ResourceDetail{Resource: n.resource(row), Superseded: []Superseded{}}
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
	if folded.Operations > 0 {
		d.Compacted = &Compacted{folded.Operations, folded.Until}
	}
	authors := map[engine.OperationID]Author{}
	for _, l := range lost {
		for _, id := range []engine.OperationID{l.By, l.Over} {
			if _, known := authors[id]; known {
				continue
			}
			if authors[id], err = a.author(ctx, n, id); err != nil {
				return ResourceDetail{}, err
			}
		}
		d.Superseded = append(d.Superseded, Superseded{
			Path: string(l.Path), Value: l.Value, By: authors[l.By], Over: authors[l.Over], Rule: l.Rule,
		})
	}
	return d, nil
}

func (a *API) author(ctx context.Context, n names, id engine.OperationID) (Author, error) {
	row, err := a.Store.Operation(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return Author{Operation: string(id)}, nil
	}
	if err != nil {
		return Author{}, fmt.Errorf("look up operation %s: %w", id, err)
	}
	return Author{Operation: string(id), User: row.User, Site: n.of(row.Origin), At: row.IssuedAt}, nil
}
