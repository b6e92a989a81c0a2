package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// Decisions lists what a person can decide about an operation at this site now: those of retry, done and drop that would not be
// answered with engine.ErrSettled, what is most likely wanted first. engine.ErrNotFound: it is not known here.
func (d *Desk) Decisions(ctx context.Context, id engine.OperationID) (actions []engine.Action, err error) {
	row, unread := d.cfg.Store.Operation(ctx, id)
	if unread == nil && row.Document != "" {
		err = d.cfg.Site.Look(ctx, row.Document, func(r *replica.Replica) {
			actions = r.Case().Actions(id)
		})
		if errors.Is(err, engine.ErrNotFound) { // only the row is left of it
			return nil, nil
		}
		return actions, err
	}
	actions, err = d.cfg.Requests.Decisions(ctx, id)
	switch {
	case !errors.Is(err, engine.ErrNotFound):
		return actions, err
	case unread != nil:
		return nil, fmt.Errorf("what can be decided about operation %s: %w", id, unread)
	}
	return nil, nil
}

// Retry sends an uncertain or refused operation to this site's application again. engine.ErrNotFound, engine.ErrSettled.
func (d *Desk) Retry(ctx context.Context, id engine.OperationID, by engine.Decider) error {
	return d.settle(ctx, &replica.Decide{What: replica.VerbRetry, Operation: id, By: by}, d.cfg.Requests.Retry)
}

// Done says that this site's application has what an uncertain or refused operation sets. engine.ErrNotFound, engine.ErrSettled, or
// another *engine.Refusal.
func (d *Desk) Done(ctx context.Context, id engine.OperationID, by engine.Decider) error {
	return d.settle(ctx, &replica.Decide{What: replica.VerbDone, Operation: id, By: by}, d.cfg.Requests.Done)
}

// Drop says that an uncertain or refused operation is not to be applied at this site, which differs from the others then, or that a
// request is not to be kept any longer. engine.ErrNotFound, engine.ErrSettled, or another *engine.Refusal.
func (d *Desk) Drop(ctx context.Context, id engine.OperationID, by engine.Decider) error {
	return d.settle(ctx, &replica.Decide{What: replica.VerbDrop, Operation: id, By: by}, d.cfg.Requests.Drop)
}

// settle does what a person has decided about an operation: at the replica that has it in flight or in its document, also while the request
// is still kept, or else about a request that no document tells of.
func (d *Desk) settle(ctx context.Context, what *replica.Decide, request func(context.Context, engine.OperationID) error) error {
	if row, err := d.cfg.Store.Operation(ctx, what.Operation); err != nil || row.Document == "" {
		if err := request(ctx, what.Operation); !errors.Is(err, engine.ErrNotFound) {
			return err
		}
	}
	return d.settleAt(ctx, what)
}

// settleAt does what a person has decided about an operation of a document.
func (d *Desk) settleAt(ctx context.Context, what *replica.Decide) error {
	row, err := d.cfg.Store.Operation(ctx, what.Operation)
	switch {
	case err != nil:
		return fmt.Errorf("settle operation %s: %w", what.Operation, err)
	case row.Document == "":
		return engine.ErrSettled
	}
	_, err = d.decide(ctx, row.Document, what)
	return err
}

// AdoptObject makes an object that is at this site's application already the replica that a create could not make here. It is
// brought to what the other sites show. Local names it; empty is the identifier that the resource has at every site, where clients
// choose it. engine.ErrNotFound, engine.ErrSettled, or another *engine.Refusal.
func (d *Desk) AdoptObject(ctx context.Context, id engine.OperationID, local engine.LocalID, by engine.Decider) error {
	return d.settleAt(ctx, &replica.Decide{What: replica.VerbAdopt, Operation: id, Local: local, By: by})
}

// NextTry is when this site goes on with an operation that waits here for its application or for another site; zero: something else
// has to happen first, or it is under way.
func (d *Desk) NextTry(o engine.OperationRow) time.Time {
	if o.Document == "" {
		return d.cfg.Requests.NextTry(o.ID)
	}
	var at time.Time
	var waits bool
	err := d.cfg.Site.Look(context.Background(), o.Document, func(r *replica.Replica) { at, waits = r.NextTry(o.ID) })
	if err != nil || !waits {
		return time.Time{}
	}
	if q := d.cfg.Site.Queues()[o.Service]; q.State != engine.QueueRunning && !q.Next.IsZero() {
		return q.Next // nothing goes to the service before
	}
	if !at.After(d.cfg.Now()) {
		return time.Time{}
	}
	return at
}
