package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/outbox"
	"github.com/skerry/skerry/engine/plan"
)

// Requests are those of this site's clients that are in no document: errands, those that are kept, and those that another site may have
// run and does not know any more. ErrNotFound says that it is none of them.
type Requests struct {
	*around
	errands *Errands
	outbox  *outbox.Outbox
	queue   *queue
}

// Requests returns those that no document tells of, for people to decide about.
func (f *Front) Requests() *Requests { return &Requests{f.around, f.errands, f.outbox, f.queue} }

// NextTry is when a request is tried next; zero: it is not by itself, or it is under way, or it is none of these.
func (f *Requests) NextTry(id engine.OperationID) time.Time {
	if at := f.queue.At(job{errand: id}); !at.IsZero() {
		return at
	}
	return f.queue.At(job{kept: id})
}

// Decisions lists what a person can decide about a request now, what is most likely wanted first; nil while it is under way.
func (f *Requests) Decisions(ctx context.Context, id engine.OperationID) ([]engine.Action, error) {
	if e := f.errands.get(id); e != nil {
		if _, free := f.errands.asks(e); !free {
			return nil, nil
		}
		return slices.DeleteFunc(f.errands.askedOf(e, f.Now()).Actions, func(a engine.Action) bool { return a == engine.ActionAdopt }), nil
	}
	if _, err := f.Store.Kept(ctx, id); !errors.Is(err, engine.ErrNotFound) {
		return []engine.Action{engine.ActionDrop}, err
	}
	if _, err := f.nowhereKnown(ctx, id); err != nil {
		return nil, err
	}
	return []engine.Action{engine.ActionDone, engine.ActionDrop}, nil
}

// Retry sends an errand again that waits for a person, or that this site could not settle. ErrNotFound, engine.ErrSettled.
func (f *Requests) Retry(ctx context.Context, id engine.OperationID) error {
	err := f.errands.decide(ctx, id, func(ctx context.Context, k *engine.Kind, e *errand) error {
		was, b := e.Stage, &engine.Batch{}
		e.Stage = flight.Again
		err := f.errands.askedNoMore(ctx, e, b)
		if err == nil {
			err = f.errands.declare(ctx, e, b)
		}
		if err != nil {
			e.Stage = was
			return err
		}
		e.left = false // who has said so knows what this site knows
		f.errands.mark(e, false)
		f.queue.Add(job{errand: id}, ours, 0)
		return nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		if _, kept := f.Store.Kept(ctx, id); kept == nil {
			return engine.ErrSettled // it is tried by itself
		}
	}
	return err
}

// Done says that this site's application has what an errand sets, or another site's what it may have run. ErrNotFound,
// engine.ErrSettled.
func (f *Requests) Done(ctx context.Context, id engine.OperationID) error {
	err := f.errands.decide(ctx, id, func(ctx context.Context, k *engine.Kind, e *errand) error {
		if e.Makes != nil {
			return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: fmt.Sprintf(
				"the identifier of the %s that it made is not known; drop the operation, delete what it made and issue it again", k.Name)}
		}
		reply := engine.Reply{Status: http.StatusOK}
		if e.Choice != nil {
			reply.Local = f.Site.Here(ctx, k, string(e.Choice.Key))
		}
		_, err := f.errands.published(ctx, k, e, reply)
		return err
	})
	if !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	if _, err := f.Store.Kept(ctx, id); err == nil {
		return engine.ErrSettled
	}
	return f.decideNowhereKnown(ctx, id, engine.OperationStatus{State: engine.StateApplied})
}

// Made says that a create of which nobody knew what came has run, and which object of this site's application it has made. ErrNotFound,
// engine.ErrSettled, or another *engine.Refusal.
func (f *Requests) Made(ctx context.Context, id engine.OperationID, local engine.LocalID) error {
	return f.errands.decide(ctx, id, func(ctx context.Context, k *engine.Kind, e *errand) error {
		if e.Makes == nil || local == "" {
			return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: "say which object it has made"}
		}
		row, err := f.Site.Lookup(ctx, k, string(local))
		there, err := found(err)
		if err != nil {
			return fmt.Errorf("look up %s %s: %w", k.Name, local, err)
		}
		if there {
			return &engine.Refusal{Status: http.StatusConflict, Type: "exists", Operation: id, Detail: fmt.Sprintf(
				"%s %s is the replica of %s already", k.Name, local, row.ID)}
		}
		shown, err := f.shown(ctx, k, local)
		if err != nil || shown.Status != http.StatusOK {
			return &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Operation: id, Err: err, Detail: fmt.Sprintf(
				"the application's service %s does not show %s %s (%s); nothing has happened", k.Service, k.Name, local, plan.Tell(shown, err))}
		}
		shown.Local = local
		_, err = f.errands.published(ctx, k, e, shown)
		return err
	})
}

// Drop gives up an errand that waits for a person or that this site could not settle, or a request that is kept for sites that cannot be reached. ErrNotFound,
// engine.ErrSettled.
func (f *Requests) Drop(ctx context.Context, id engine.OperationID) error {
	err := f.errands.decide(ctx, id, func(ctx context.Context, k *engine.Kind, e *errand) error {
		_, err := f.errands.dismiss(ctx, k, e, 0, engine.GivenUp)
		return err
	})
	if errors.Is(err, engine.ErrNotFound) {
		err = f.outbox.Drop(ctx, id)
	}
	if errors.Is(err, engine.ErrNotFound) {
		err = f.decideNowhereKnown(ctx, id, engine.OperationStatus{State: engine.StateRejected, Error: engine.GivenUp})
	}
	return err
}

// decide has do done about an errand that a person can decide about, while nobody else settles it. ErrNotFound, engine.ErrSettled.
func (q *Errands) decide(ctx context.Context, id engine.OperationID, do func(context.Context, *engine.Kind, *errand) error) error {
	e := q.get(id)
	if e == nil {
		return fmt.Errorf("decide about operation %s: %w", id, engine.ErrNotFound)
	}
	k := q.Site.Kind(e.Service, e.Kind)
	if k == nil {
		return fmt.Errorf("decide about operation %s: %w: the catalog has no kind %s.%s", id, engine.ErrUnknown, e.Service, e.Kind)
	}
	release, err := q.turn(ctx, k, e)
	if err != nil {
		return err
	}
	defer release()
	if _, free := q.asks(e); q.get(id) != e || !free { // it is under way, or settled
		return engine.ErrSettled
	}
	return do(ctx, k, e)
}

// asks reports whether a person is asked about an errand; free, whether one can decide about it: also where this site could not settle it.
func (q *Errands) asks(e *errand) (asked, free bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return e.asked, e.asked || e.open && !e.runs
}

// mark says whether this site could not settle an errand; it is called by who has its turn.
func (q *Errands) mark(e *errand, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.open, e.asked = open, e.Stage == flight.Asked
}

// nowhereKnown returns the row of a request of this site that another one may have run and does not know any more.
func (f *Requests) nowhereKnown(ctx context.Context, id engine.OperationID) (engine.OperationRow, error) {
	row, err := f.Store.Operation(ctx, id)
	if err == nil && (row.Document != "" || row.State != engine.StateUncertain || row.Origin != f.self) {
		err = engine.ErrNotFound
	}
	if err != nil {
		return row, fmt.Errorf("decide about operation %s: %w", id, err)
	}
	return row, nil
}

func (f *Requests) decideNowhereKnown(ctx context.Context, id engine.OperationID, st engine.OperationStatus) error {
	row, err := f.nowhereKnown(ctx, id)
	if err != nil {
		return err
	}
	row.State, st.At = st.State, f.Now()
	for site := range row.Sites {
		row.Sites[site] = st
	}
	return f.Site.Commit(ctx, &engine.Batch{Operations: []engine.OperationRow{row}, Events: []engine.Event{
		f.event("operation."+string(st.State), string(id), map[string]any{"operation": id, "resource": row.Resource, "service": row.Service,
			"kind": row.Kind, "type": row.Type, "state": st.State, "error": st.Error})}})
}
