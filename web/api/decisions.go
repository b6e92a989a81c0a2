package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// undoRestore has a request set again what was there before an operation.
const undoRestore = "restore"

// decided lists what people have decided about a resource, newest first, with what takes each back now.
func (a *API) decided(ctx context.Context, row *engine.ResourceRow, n shape.Names) ([]shape.Decision, error) {
	made, err := a.Operator.Decided(ctx, row.Document)
	if err != nil {
		return nil, fmt.Errorf("list what was decided about %s: %w", row.ID, err)
	}
	list := make([]shape.Decision, 0, len(made))
	seen := map[engine.ConflictID]bool{}
	for _, d := range made {
		v := n.Decision(d)
		if !seen[d.Conflict] { // else somebody has decided something else since
			if v.Undo, err = a.undo(ctx, d); err != nil {
				return nil, err
			}
		}
		seen[d.Conflict] = d.Conflict != ""
		list = append(list, v)
	}
	return list, nil
}

// undo is what takes a decision back now; empty: nothing does.
func (a *API) undo(ctx context.Context, d engine.Decision) (string, error) {
	if d.Action == engine.ActionKeep {
		if row, err := a.Store.Operation(ctx, d.Operation); err == nil && len(row.Change) > 0 {
			return undoRestore, nil
		}
		return "", nil
	}
	inverse := map[engine.Action]engine.Action{engine.ActionDismiss: engine.ActionReopen, engine.ActionDrop: engine.ActionRetry}[d.Action]
	if inverse == "" {
		return "", nil
	}
	c, err := a.Store.Conflict(ctx, d.Conflict)
	if errors.Is(err, engine.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up conflict %s: %w", d.Conflict, err)
	}
	if c.Accepted != nil && c.Accepted.Action == d.Action && slices.Contains(c.Actions, inverse) {
		return string(inverse), nil
	}
	return "", nil
}
