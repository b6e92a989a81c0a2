package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// settle finds out what came of an errand that had no certain answer: by looking where that tells, by sending it again where that is
// safe, with its caller's own credentials; else a person is asked. It reports whether to try again later.
func (q *Errands) settle(ctx context.Context, id engine.OperationID) (again bool, err error) {
	e := q.get(id)
	if e == nil {
		return false, nil
	}
	k := q.Site.Kind(e.Service, e.Kind)
	if k == nil {
		return true, fmt.Errorf("settle operation %s: %w: the catalog has no kind %s.%s", id, engine.ErrUnknown, e.Service, e.Kind)
	}
	release, err := q.turn(ctx, k, e)
	if err != nil {
		return true, nil
	}
	defer release()
	switch {
	case !q.settles(e): // it was settled while this waited, or waits for a person
		return false, nil
	case e.left && !q.Site.Met(q.members()):
		return true, nil
	}
	defer func() { q.mark(e, again && e.done == nil) }()
	if e.Makes != nil { // its resource may have been made, and only the errand be left
		row, err := q.Store.Operation(ctx, id)
		if there, err := found(err); err != nil || there && row.Document != "" {
			if err == nil {
				err = q.end(ctx, e, &engine.Batch{})
			}
			return err != nil, err
		}
	}
	if e.done != nil {
		return q.published(ctx, k, e, *e.done)
	}
	person := e.Stage == flight.Again // who has said that it is to be sent again: that counts for one try
	if e.left && !person && q.Site.SetBack() {
		return q.ask(ctx, k, e, "this site's disk was set back: it may have been settled since")
	}
	if o := e.operation(q.self); !person && !plan.Resendable(k, o) {
		switch f := q.lookFor(ctx, k, e, o); f.Fate {
		case flight.Later:
			return true, nil
		case flight.Happened:
			return q.published(ctx, k, e, f.Reply)
		case flight.Untold:
			return q.ask(ctx, k, e, f.Why)
		}
	}
	return q.sendAgain(ctx, k, e, person)
}

// turn lets one at a time settle what was asked for one thing, or decide about it.
func (q *Errands) turn(ctx context.Context, k *engine.Kind, e *errand) (release func(), err error) {
	if name := named(k, e); name != "" && e.Makes == nil {
		return q.turns.take(ctx, "settle", k, name)
	}
	return q.turns.take(ctx, "settle one", k, string(e.Request.Operation))
}

// settles reports whether an errand is still to be settled, and waits for nobody.
func (q *Errands) settles(e *errand) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[e.Request.Operation] == e && !e.runs && !e.asked
}

// lookFor looks for what an errand has made, by its marker or under the identifier that its client has chosen.
func (q *Errands) lookFor(ctx context.Context, k *engine.Kind, e *errand, o *engine.Operation) flight.Finding {
	if _, marks := issue.Marked(k, o, q.key(e)); marks {
		ctx, cancel := context.WithTimeout(ctx, q.CallTimeout)
		defer cancel()
		list, err := q.App.Find(ctx, k, q.key(e))
		return flight.ByMarker(list, err, q.Now().Sub(e.Since) < q.CallTimeout)
	}
	if e.Choice == nil || o.Type != engine.TypeCreate {
		return flight.Finding{Fate: flight.Untold, Why: flight.Unseen}
	}
	at := q.Site.Here(ctx, k, string(e.Choice.Key))
	shown, err := q.shown(ctx, k, at)
	return flight.ByName(k, e.Request.Body, merge.New(k, *e.Choice, q.self).Nothing(), at, shown, err)
}

// sendAgain sends an errand once more.
func (q *Errands) sendAgain(ctx context.Context, k *engine.Kind, e *errand, person bool) (again bool, err error) {
	o := e.operation(q.self)
	repeatable := plan.Resendable(k, o)
	if person || !repeatable { // when it went out last counts, and that somebody has said so counts once
		e.Stage, e.Since = flight.Unknown, q.Now()
		if err := q.declare(ctx, e, &engine.Batch{}); err != nil {
			return true, err
		}
	}
	reply, err := q.send(ctx, k, e)
	ctx = context.WithoutCancel(ctx)
	switch f := flight.Resent(k, o, person, reply, err); f.Fate {
	case flight.Happened:
		return q.published(ctx, k, e, reply)
	case flight.Refused:
		return q.refusedAgain(ctx, k, e, o, reply)
	case flight.Dismissed:
		return q.dismiss(ctx, k, e, reply.Status, f.Why)
	case flight.Untold:
		return q.ask(ctx, k, e, f.Why)
	case flight.Unsent:
		if person && !repeatable { // the try is still to come
			e.Stage = flight.Again
			return true, q.declare(ctx, e, &engine.Batch{})
		}
	case flight.Later:
		e.Stumbles++
		if named(k, e) != "" && e.Stumbles >= flight.FewTries && flight.Failed(reply, err) {
			return q.refusedAgain(ctx, k, e, o, reply)
		}
		if e.Stumbles >= flight.MostTries {
			return q.ask(ctx, k, e, plan.Tell(reply, err))
		}
	}
	return true, nil
}

// refusedAgain decides about an errand that was refused when it was sent again: by what the application shows.
func (q *Errands) refusedAgain(ctx context.Context, k *engine.Kind, e *errand, o *engine.Operation, refusal engine.Reply) (again bool, err error) {
	const refused = "it was sent again after it had had no certain answer: "
	at, about := q.Site.Here(ctx, k, e.Request.Target), engine.About{}
	if e.Choice != nil {
		at, about = q.Site.Here(ctx, k, string(e.Choice.Key)), *e.Choice
		if edit, err := merge.EditOf(k, engine.TypeCreate, e.Request.Body, merge.New(k, about, q.self).Nothing(), nil); err == nil {
			o.Edit = edit
		}
	}
	if at == "" { // what it may have made cannot be found
		return q.ask(ctx, k, e, refused+plan.Tell(refusal, nil))
	}
	shown, err := q.shown(ctx, k, at)
	switch plan.Seen(k, o, merge.New(k, about, q.self).Nothing(), shown, err) {
	case plan.Done:
		shown.Local = at
		return q.published(ctx, k, e, shown)
	case plan.Later:
		return true, nil
	case plan.Refused:
		if e.Stumbles++; (&flight.Flight{Operation: *o}).Premature(refusal, shown) && e.Stumbles < flight.FewTries {
			return true, nil
		}
		return q.dismiss(ctx, k, e, refusal.Status, plan.Tell(refusal, nil))
	}
	return q.ask(ctx, k, e, refused+plan.Tell(refusal, nil))
}

// published records that an errand turned out to have happened.
func (q *Errands) published(ctx context.Context, k *engine.Kind, e *errand, reply engine.Reply) (again bool, err error) {
	_, err = q.publish(ctx, k, e, reply)
	if err == nil && e.Inside != "" { // it may be an answer of before, and what it tells of gone
		q.containers.Changed(e.Inside)
	}
	if errors.Is(err, errUntold) {
		e.done = nil
		return q.ask(ctx, k, e, err.Error())
	}
	return err != nil, err
}

// ask leaves the decision about an errand to a person: it is listed as uncertain.
func (q *Errands) ask(ctx context.Context, k *engine.Kind, e *errand, why string) (again bool, err error) {
	e.Stage, e.Why, e.Stumbles = flight.Asked, why, 0
	st := q.status(e, engine.StateUncertain)
	c := q.askedOf(e, st.At)
	err = q.declare(ctx, e, &engine.Batch{
		Conflicts: []engine.Conflict{c}, Operations: []engine.OperationRow{q.row(k, e, st)}, Settles: true,
		Events: []engine.Event{q.statusEvent(e, st), q.conflictEvent("conflict.opened", c)},
	})
	if err != nil {
		e.Stage = flight.Unknown
		return true, err
	}
	return false, nil
}

// dismiss ends an errand of which nothing came and lists why.
func (q *Errands) dismiss(ctx context.Context, k *engine.Kind, e *errand, status int, why string) (again bool, err error) {
	st := q.status(e, engine.StateRejected)
	st.Status, st.Error = status, why
	told := engine.Reply{Status: cmp.Or(status, http.StatusConflict), Body: []byte(why)}
	b := &engine.Batch{Operations: []engine.OperationRow{q.row(k, e, st)}, Events: []engine.Event{q.statusEvent(e, st)},
		Answers: flight.Remember(e.Keys, k, told, e.Request.Operation, "", q.Now())}
	if err := q.askedNoMore(ctx, e, b); err != nil {
		return true, err
	}
	err = q.end(ctx, e, b)
	return err != nil, err
}
