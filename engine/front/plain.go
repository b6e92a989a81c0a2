package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/replica"
)

// A request that makes no operation of a document, since it concerns this site's application alone, has no resource whose turn it could
// wait for. What had no certain answer is sent again later all the same, so it must not take back what came after it.

// alone runs a request at this site's application only.
func (q *Errands) alone(ctx context.Context, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	if err := q.takeLarge(ctx, r); err != nil {
		return engine.Answer{}, err
	}
	e := q.errandOf(r, k)
	container, inside, err := q.containers.of(ctx, r.Kind, r.Within)
	if err != nil {
		return engine.Answer{}, err
	}
	if err := q.settleSame(ctx, r.Kind, e); err != nil {
		return engine.Answer{}, err
	}
	if inside {
		release, err := q.containers.claimFor(ctx, container, r)
		if err != nil {
			return engine.Answer{}, err
		}
		defer release()
		e.Inside = container.Document
	}
	return q.run(ctx, r.Kind, e)
}

// settleSame settles the earlier errands for what e names that have had no certain answer, before e goes out.
func (q *Errands) settleSame(ctx context.Context, k *engine.Kind, e *errand) error {
	name := named(k, e)
	if name == "" {
		return nil
	}
	for _, earlier := range q.all(k) {
		id := earlier.Request.Operation
		if earlier.Makes != nil || id == e.Request.Operation || named(k, earlier) != name || q.running(earlier) {
			continue
		}
		if _, err := q.settle(ctx, id); err != nil || q.has(id) {
			return unanswered(id, err)
		}
	}
	return nil
}

// unanswered refuses a request because of an earlier one. It is not under that operation's identifier: whoever asks would take it for
// the one of this request.
func unanswered(earlier engine.OperationID, err error) *engine.Refusal {
	r := issue.Unanswered(earlier)
	r.Err = err
	return r
}

// create runs a request that makes a resource whose identifier clients could choose and this one leaves to the application: there is no
// document before that has answered.
func (q *Errands) create(ctx context.Context, r engine.Request, about *engine.About, k keys.Keeper) (engine.Answer, error) {
	body, blob, release, err := q.embody(ctx, r)
	if err != nil {
		return engine.Answer{}, err
	}
	defer release()
	r.Body = body
	e := q.errandOf(r, k)
	e.Blob, e.Makes = blob, about
	o, err := e.makes(r.Kind, q.self)
	if err != nil {
		return engine.Answer{}, issue.Uncarried(err)
	}
	if err := issue.TooLarge(o); err != nil {
		return engine.Answer{}, err
	}
	if d := e.division(r.Kind, q.self); d != nil && blob == nil {
		sent, err := d.Body(o, merge.New(r.Kind, *about, q.self).Nothing())
		if err != nil {
			return engine.Answer{}, err
		}
		if string(sent) != string(o.Body) {
			e.Sent = sent
		}
	}
	return q.run(ctx, r.Kind, e)
}

// makes is the operation that an errand becomes which makes a resource.
func (e *errand) makes(k *engine.Kind, self engine.SiteID) (*engine.Operation, error) {
	whole := *e
	whole.Sent = nil
	o := whole.operation(self)
	edit, err := merge.EditOf(k, engine.TypeCreate, e.Request.Body, merge.New(k, *e.Makes, self).Nothing(), nil)
	if err != nil {
		return o, fmt.Errorf("make an operation of the request: %w", err)
	}
	o.Edit = edit
	return o, nil
}

// division tells how what an errand makes is divided over the parts of a cross resource; nil: nothing is.
func (e *errand) division(k *engine.Kind, self engine.SiteID) *merge.Division {
	if e.Makes == nil || len(k.Divide) == 0 || e.Makes.Collaboration != engine.Cross {
		return nil
	}
	return merge.NewDivision(k, *e.Makes, self)
}

// finish shows the caller what all parts together show; nil: nothing is divided.
func (e *errand) finish(k *engine.Kind, self engine.SiteID) func(engine.Answer) engine.Answer {
	d := e.division(k, self)
	if d == nil {
		return nil
	}
	o, err := e.makes(k, self)
	if err != nil {
		return nil
	}
	return func(a engine.Answer) engine.Answer {
		a.Body = d.Present(o, merge.New(k, *e.Makes, self).Nothing(), a.Body)
		return a
	}
}

var errUntold = errors.New("the answer does not tell the new resource's identifier; check the catalog")

// publish records that an errand has happened, and tells whoever else has to know. It may be done once more after a crash.
func (q *Errands) publish(ctx context.Context, k *engine.Kind, e *errand, reply engine.Reply) (engine.ResourceID, error) {
	b := &engine.Batch{}
	if err := q.askedNoMore(ctx, e, b); err != nil {
		return "", err
	}
	if e.Makes != nil {
		key, err := q.publishMade(ctx, k, e, reply)
		if err == nil {
			err = q.end(ctx, e, b)
		}
		return key, err
	}
	b.Answers = flight.Remember(e.Keys, k, reply, e.Request.Operation, "", q.Now())
	if err := q.listDone(ctx, k, e, reply, b); err != nil {
		return "", err
	}
	r := e.Request
	var err error
	switch {
	case e.Choice != nil:
		local := cmp.Or(reply.Local, q.Site.Here(ctx, k, string(e.Choice.Key)))
		err = q.names.hold(ctx, *e.Choice, engine.Holding{Operation: r.Operation, Local: local, User: r.User, At: e.Since.UnixMicro()})
	case r.Type == engine.TypeDelete && r.Target != "":
		err = q.names.end(ctx, k, engine.ResourceID(r.Target))
	}
	if err != nil {
		return "", err
	}
	if err := q.tellInside(ctx, k, e, reply); err != nil {
		return "", err
	}
	return "", q.end(ctx, e, b)
}

// publishMade makes a resource of what an errand has made.
func (q *Errands) publishMade(ctx context.Context, k *engine.Kind, e *errand, reply engine.Reply) (engine.ResourceID, error) {
	if reply.Local == "" {
		return "", errUntold
	}
	about := *e.Makes
	about.Key = engine.ResourceID(q.Site.Everywhere(ctx, k, string(reply.Local)))
	id, after, err := q.incarnate(ctx, &about)
	if err != nil {
		return "", err
	}
	o, err := e.makes(k, q.self)
	if err != nil {
		return "", err
	}
	_, err = q.Site.Decide(ctx, id, &about, &replica.Decide{What: replica.VerbPublish, Reply: reply, Body: e.Request.Body, Bound: e.Request.Bound,
		Publish: &flight.Flight{Operation: *o, Creates: true, Within: e.Request.Within, Keys: e.Keys, After: after}})
	if err != nil {
		return "", fmt.Errorf("publish operation %s: %w", o.ID, err)
	}
	return about.Key, nil
}

// listDone adds to b that an errand has happened, where it was listed because it had no certain answer.
func (q *Errands) listDone(ctx context.Context, k *engine.Kind, e *errand, reply engine.Reply, b *engine.Batch) error {
	row, err := q.Store.Operation(ctx, e.Request.Operation)
	there, err := found(err)
	if err != nil {
		return fmt.Errorf("list operation %s: %w", e.Request.Operation, err)
	}
	if !there || row.Origin != q.self || row.State != engine.StatePending && row.State != engine.StateUncertain {
		return nil
	}
	st := q.status(e, engine.StateApplied)
	st.Status, st.Error = reply.Status, ""
	b.Operations, b.Events = append(b.Operations, q.row(k, e, st)), append(b.Events, q.statusEvent(e, st))
	return nil
}

// tellInside tells the other parts of a container what an errand has made of something inside this site's part.
func (q *Errands) tellInside(ctx context.Context, k *engine.Kind, e *errand, reply engine.Reply) error {
	r := e.Request
	if e.Inside == "" { // its container may not have been known when the request came
		container, inside, err := q.containers.of(ctx, k, r.Within)
		if err != nil || !inside {
			return err
		}
		e.Inside = container.Document
	}
	_, own := k.Split(string(cmp.Or(reply.Local, q.Site.Here(ctx, k, r.Target))))
	made := &replica.Made{Kind: k, Local: own, Representation: reply.Body}
	switch {
	case r.Type == engine.TypeDelete && own != "":
		made.Gone = true
	case own == "" && r.Type != engine.TypeCreate, r.Type != engine.TypeCreate && !shows(k, reply.Body, own):
		q.containers.Changed(e.Inside)
		return nil
	}
	return q.containers.tell(ctx, e.Inside, made)
}

// askedOf is the conflict of an errand that waits for a person.
func (q *Errands) askedOf(e *errand, at time.Time) engine.Conflict {
	c := engine.Conflict{
		ID: engine.ConflictOf(string(q.self), string(e.Request.Operation)), Kind: engine.ConflictUncertain, Service: e.Service, KindName: e.Kind,
		Resource: engine.ResourceID(e.Request.Target), Site: q.self, Operation: e.Request.Operation, Type: e.Request.Type, Since: at, Blocks: true,
		Reason: e.question(), Actions: []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop},
	}
	if e.Makes != nil {
		c.Actions = []engine.Action{engine.ActionRetry, engine.ActionAdopt, engine.ActionDrop}
	}
	if e.Choice != nil {
		c.Resource = e.Choice.Key
	}
	return c
}

func (a *around) conflictEvent(kind string, c engine.Conflict) engine.Event {
	return a.event(kind, string(c.ID), map[string]any{"conflict": c.ID, "about": c.Kind, "resource": c.Resource, "service": c.Service,
		"kind": c.KindName, "site": a.name(c.Site), "operation": c.Operation, "reason": c.Reason})
}

// askedNoMore adds to b that an errand that waited for a person does not any more.
func (q *Errands) askedNoMore(ctx context.Context, e *errand, b *engine.Batch) error {
	c, err := q.Store.Conflict(ctx, engine.ConflictOf(string(q.self), string(e.Request.Operation)))
	if there, err := found(err); !there {
		if err != nil {
			return fmt.Errorf("look up the conflict of operation %s: %w", e.Request.Operation, err)
		}
		return nil
	}
	b.Resolved = append(b.Resolved, c.ID)
	b.Events = append(b.Events, q.conflictEvent("conflict.resolved", c))
	return nil
}

// members lists the other members of the mesh.
func (a *around) members() []engine.SiteID {
	var ids []engine.SiteID
	for id := range a.network.Status() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
