package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/replica"
)

// change runs a request at this site's replica of a resource.
func (f *Front) change(ctx context.Context, id engine.DocumentID, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	return f.ask(ctx, id, nil, r, k, &replica.Ask{})
}

// ask has a replica run a request, and answers it. Once the replica has it, it is not given up because its client has gone.
func (f *Front) ask(ctx context.Context, id engine.DocumentID, about *engine.About, r engine.Request, k keys.Keeper, a *replica.Ask) (engine.Answer, error) {
	body, blob, release, err := f.embody(ctx, r)
	if err != nil {
		return engine.Answer{}, err
	}
	defer release()
	a.Operation = f.operationOf(r)
	if k.Client { // it is the same operation should it come again
		if err := f.Site.Commit(ctx, &engine.Batch{Answers: f.keys.Asked(k, r.Kind, a.Operation, "")}); err != nil {
			return engine.Answer{}, fmt.Errorf("remember operation %s: %w", a.Operation, err)
		}
	}
	a.Request, a.Blob, a.Keys = r, blob, k.Keys
	a.Request.Operation, a.Request.Body, a.Request.Large = a.Operation, body, nil
	return f.given(ctx, id, about, r.Kind, a)
}

func (f *Front) given(ctx context.Context, id engine.DocumentID, about *engine.About, k *engine.Kind, a *replica.Ask) (engine.Answer, error) {
	waits, cancel := f.lasting(ctx)
	defer cancel()
	given, err := f.Site.Ask(waits, id, about, a)
	switch {
	case err == nil:
		err = given.Err
	case waits.Err() != nil: // it may still run
		return engine.Answer{}, unsettled(a.Operation, err)
	}
	if err != nil {
		return engine.Answer{}, f.refused(ctx, id, k, a, err)
	}
	return f.presented(waits, k, containerOf(a.Request), given), nil
}

// containerOf is the container that a request concerns something in.
func containerOf(r engine.Request) string {
	if r.Within == "" && r.Target != "" {
		within, _ := r.Kind.Split(r.Target)
		return within
	}
	return r.Within
}

// refused is what the client gets of a request that its replica has not answered. Where it has gone out all the same, nobody may take
// it for one that has not happened: what has kept the replica from answering may be a full disk, or another request.
func (f *Front) refused(ctx context.Context, id engine.DocumentID, k *engine.Kind, a *replica.Ask, err error) error {
	var refusal *engine.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Operation == a.Operation:
		return err
	case errors.Is(err, engine.ErrNotFound):
		return &engine.Refusal{Status: http.StatusNotFound, Type: "gone", Err: err, Detail: fmt.Sprintf("%s %q was deleted", k.Name, a.Request.Target)}
	}
	if out, unread := f.isOut(ctx, id, a.Operation); unread == nil && !out {
		return err
	}
	return unsettled(a.Operation, err)
}

// isOut reports whether a replica has a request in flight, or in its document.
func (f *Front) isOut(ctx context.Context, id engine.DocumentID, op engine.OperationID) (out bool, err error) {
	_, err = found(f.Site.Look(context.WithoutCancel(ctx), id, func(r *replica.Replica) {
		o := r.Own
		out = o != nil && o.Operation.ID == op || r.History.Get(op) != nil
	}))
	return out, err
}

// notAgain is what another site gets of a request that it sends once more and that cannot be taken now. Where an earlier try of it is in
// flight here, it is not to take it elsewhere.
func (f *Front) notAgain(ctx context.Context, r engine.Request, err error) error {
	var refusal *engine.Refusal
	if !r.Again || !errors.As(err, &refusal) || refusal.Operation == r.Operation {
		return err
	}
	row, none := f.Site.Lookup(context.WithoutCancel(ctx), r.Kind, r.Target)
	if there, unread := found(none); !there && unread == nil {
		return err
	}
	if out, unread := f.isOut(ctx, row.Document, r.Operation); unread == nil && !out {
		return err
	}
	return unsettled(r.Operation, err)
}

// unsettled refuses a request of which nobody knows yet what came.
func unsettled(id engine.OperationID, err error) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: id, Err: err,
		Detail: fmt.Sprintf("operation %s has had no certain answer yet; it will be settled", id)}
}
