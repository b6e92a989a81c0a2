package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Decisions lists what a person can decide about an operation at this site now: those of ActionRetry, ActionDone and ActionDrop that
// would not be answered with ErrSettled, what is most likely wanted first. ErrNotFound: it is not known here.
func (s *Site) Decisions(ctx context.Context, id OperationID) ([]Action, error) {
	if c, ok := s.openIntent(ctx, id); ok {
		if !c.Asked || c.Again {
			return nil, nil // it is under way
		}
		return s.askedOf(c, time.Time{}).Actions, nil
	}
	if _, _, err := s.keptAs(ctx, id); !errors.Is(err, ErrNotFound) {
		return []Action{ActionDrop}, err
	}
	row, err := s.cfg.Store.Operation(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("what can be decided about operation %s: %w", id, err)
	case s.isNowhereKnown(row):
		return []Action{ActionDone, ActionDrop}, nil
	case row.Document == "":
		return nil, nil
	}
	_, v, unlock, err := s.locked(ctx, row.Document)
	defer unlock()
	if err != nil {
		return nil, err
	}
	o := v.history.Get(id)
	out, told := v.outcomes[s.cfg.Self][id]
	if o == nil || !told || !v.decidable(o, out) {
		return nil, nil
	}
	return slices.DeleteFunc(v.conflict(s.cfg.Self, o, out).Actions, func(a Action) bool { return a == ActionAdopt || a == ActionDismiss }), nil
}

// decidable reports whether what became of an operation at a site waits for a person, or may be decided anew: of most of those that were
// refused a checkpoint keeps too little to try them again. The last opaque bytes of a path it keeps as they are.
func (v *view) decidable(o *Operation, out Outcome) bool {
	whole := o.Type == TypeDelete || o.Type == TypeAbsolute && (o.Body != nil || o.Blob != nil)
	return out.Blocks || out.State == StateUncertain || out.State == StateRejected && (whole || !v.history.base.has(o))
}
