package desk

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// Resolve does what a person has decided about a conflict: at the site where the conflict is, or, to dismiss it, at any that has the
// resource, or, to keep one, at the site that is kept. Local is for adopting, as in AdoptObject. engine.ErrNotFound: there is no such
// conflict here (any more); engine.ErrSettled, or another *engine.Refusal.
func (d *Desk) Resolve(ctx context.Context, id engine.ConflictID, action engine.Action, local engine.LocalID, by engine.Decider) error {
	c, err := d.cfg.Store.Conflict(ctx, id)
	if err != nil {
		return fmt.Errorf("resolve conflict %s: %w", id, err)
	}
	elsewhere := slices.Contains([]engine.Action{engine.ActionDismiss, engine.ActionReopen, engine.ActionKeep}, action)
	switch {
	case !slices.Contains(c.Actions, action):
		return refuseToSettle(c, "%q is nothing that can be decided about this conflict; it takes %s", action, listActions(c.Actions))
	case c.Site != d.self() && !elsewhere:
		return refuseToSettle(c, "the conflict is at %s: it is resolved there", d.cfg.Members.Name(c.Site))
	case c.Document == "":
		return d.resolveRequest(ctx, c.Operation, action, local, by)
	}
	if k := d.cfg.Site.Kind(c.Service, c.KindName); action == engine.ActionAdopt && c.Kind == engine.ConflictUncertain && local != "" && k != nil {
		if _, err := d.representation(ctx, k, local); err != nil { // a create is said to have made it
			return refuseToSettle(c, "the application does not show %s %s (%s); nothing has happened", k.Name, local, err)
		}
	}
	_, err = d.decide(ctx, c.Document, decision(c, action, local, by))
	return err
}

// resolveRequest does it for a request that no document tells of.
func (d *Desk) resolveRequest(ctx context.Context, id engine.OperationID, action engine.Action, local engine.LocalID, by engine.Decider) error {
	switch action {
	case engine.ActionRetry:
		return d.Retry(ctx, id, by)
	case engine.ActionDone:
		return d.Done(ctx, id, by)
	case engine.ActionDrop:
		return d.Drop(ctx, id, by)
	case engine.ActionAdopt:
		return d.cfg.Requests.Made(ctx, id, local)
	}
	return engine.ErrSettled
}

// decision is what a replica is to do about a conflict.
func decision(c engine.Conflict, action engine.Action, local engine.LocalID, by engine.Decider) *replica.Decide {
	what := &replica.Decide{Operation: c.Operation, Conflict: c.ID, By: by}
	switch action {
	case engine.ActionRetry:
		what.What = replica.VerbRetry
		if c.Kind == engine.ConflictAside {
			what.What = replica.VerbResume
		}
	case engine.ActionAccept:
		what.What = replica.VerbAccept
	case engine.ActionDone:
		what.What = replica.VerbDone
	case engine.ActionDrop:
		what.What = replica.VerbDrop
		if c.Kind == engine.ConflictName {
			what.What = replica.VerbDropName
		}
	case engine.ActionAdopt:
		what.What, what.Local = replica.VerbAdopt, local
	case engine.ActionKeep: // who resolves a conflict so has found what brought it about
		what.What, what.Force = replica.VerbKeep, true
	case engine.ActionDismiss:
		what.What = replica.VerbDismiss
	case engine.ActionReopen:
		what.What = replica.VerbReopen
	}
	return what
}

func refuseToSettle(c engine.Conflict, format string, args ...any) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: c.Operation, Detail: fmt.Sprintf(format, args...)}
}

func listActions(actions []engine.Action) string {
	if len(actions) == 0 {
		return "nothing now: the reason says what it waits for"
	}
	text := string(actions[0])
	for i, a := range actions[1:] {
		if i == len(actions)-2 {
			text += " or " + string(a)
		} else {
			text += ", " + string(a)
		}
	}
	return text
}
