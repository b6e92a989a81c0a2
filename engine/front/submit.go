package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/outbox"
	"github.com/skerry/skerry/engine/replica"
)

// Submit runs a request that changes something replicated, or that a scope sends elsewhere. It answers once the operation is durable
// and one involved site has applied it, or once it is kept for sites that cannot be reached. The error is a *engine.Refusal where
// the client is to be told.
func (f *Front) Submit(ctx context.Context, r engine.Request) (engine.Answer, error) {
	switch {
	case slices.Contains(r.Via, f.self):
		return engine.Answer{}, &engine.Refusal{Status: http.StatusLoopDetected, Type: "loop",
			Detail: "the request has come back to this site; a scope sends it in a circle"}
	case len(r.Body) > engine.MaxLooked:
		return engine.Answer{}, &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large",
			Detail: fmt.Sprintf("a body that is looked into has at most %d bytes; nothing has happened", engine.MaxLooked)}
	case r.Operation != "" && !r.Operation.Valid():
		return engine.Answer{}, &engine.Refusal{Status: http.StatusBadRequest, Type: "operation", Detail: "the operation's identifier is none"}
	case !utf8.ValidString(r.Target + r.Within + r.Query):
		return engine.Answer{}, &engine.Refusal{Status: http.StatusBadRequest, Type: "path",
			Detail: "an identifier or a query that is to be kept is no UTF-8; nothing has happened"}
	}
	r.Credentials = storable(r.Credentials)
	if r.Kind.Within != "" {
		r.Within, _ = f.Site.Containers(ctx, r.Kind, r.Within)
		r.Target = f.Site.Everywhere(ctx, r.Kind, r.Target)
	}
	if err := f.Site.Writable(); err != nil {
		return engine.Answer{}, f.notAgain(ctx, r, err)
	}
	if r.Type == engine.TypeContent {
		return f.content(ctx, r)
	}
	target := r.Target
	first := len(r.Via) == 0 && r.Operation == "" // from a client, and for the first time
	if first && (outbox.Deferred(r) || !f.outbox.Empty()) {
		var err error
		if r, err = f.whole(ctx, r); err != nil {
			return engine.Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
		}
	}
	if r.Large != nil {
		l := &large{Body: r.Large}
		defer l.end()
		r.Large = l
	}
	if r.Key != "" || r.Operation != "" { // what it is, is compared with what came under the same key before
		if err := f.takeLarge(ctx, r); err != nil {
			return engine.Answer{}, err
		}
	}
	a, err := f.once(ctx, r, target, func(r engine.Request, k keys.Keeper) (engine.Answer, error) {
		a, err := f.route(ctx, r, k, first)
		return a, f.notAgain(ctx, r, err)
	})
	if err != nil {
		return engine.Answer{}, err
	}
	return f.agreed(ctx, r, a), nil
}

// storable returns a caller's credentials as they can be stored and read again: what of them is no text is replaced. A caller who shows
// nothing does not act as the agent.
func storable(c *engine.Credentials) *engine.Credentials {
	s := &engine.Credentials{}
	if c != nil {
		s.Header = c.Header.Clone()
	}
	for _, values := range s.Header {
		for i, v := range values {
			values[i] = strings.ToValidUTF8(v, "\uFFFD")
		}
	}
	return s
}

// once runs do unless the request was answered before under its Idempotency-Key, or under the identifier that another site gave it.
// The first answer is given again then, and nothing runs. Target is what the client asked for.
func (f *Front) once(ctx context.Context, r engine.Request, target string, do func(engine.Request, keys.Keeper) (engine.Answer, error)) (engine.Answer, error) {
	k := keys.KeeperOf(r, target, blobOf(r))
	for _, key := range k.Keys.Keys {
		if !f.keys.Start(key) {
			return engine.Answer{}, keys.ErrInProgress
		}
		defer f.keys.End(key)
	}
	was, err := f.keys.Known(ctx, r, k, f.errands.has)
	switch {
	case err != nil:
		return engine.Answer{}, err
	case was.Answer != nil:
		w := was.Answer
		a := engine.Answer{Status: w.Status, Header: w.Header, Body: w.Body, Operation: w.Operation, Resource: w.Resource, Site: f.self}
		return f.presented(ctx, f.Site.Kind(w.Service, w.Kind), containerOf(r), replica.Given{Answer: a}), nil
	case was.As != "":
		r.Operation, k.Sent = was.As, was.Sent
	}
	if r.Operation != "" { // the answer is kept for a day, the operation for longer
		row, err := f.Store.Operation(ctx, r.Operation)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			if err := f.mayHaveRun(ctx, r); err != nil {
				return engine.Answer{}, err
			}
		case err == nil && r.From() != "" && !bound(ctx, f, r, row, was.Came):
			return engine.Answer{}, keys.NotBound(r)
		}
		here := row.Sites[f.self]
		if err == nil && row.Document != "" && slices.Contains([]engine.State{engine.StateApplied, engine.StateRejected, engine.StateSuperseded}, here.State) {
			return engine.Answer{Status: cmp.Or(here.Status, http.StatusOK), Operation: r.Operation, Resource: row.Resource, Site: f.self}, nil
		}
	}
	a, err := do(r, k)
	if err == nil && was.As == "" && !letIn(a.Status) {
		f.keys.Forget(ctx, k)
	}
	return a, err
}

// bound reports whether what another site has passed on is what its identifier stands for here: an operation of the resource that it names. Of what
// belongs to no resource that site alone is told which has passed it on before.
func bound(ctx context.Context, f *Front, r engine.Request, row engine.OperationRow, came bool) bool {
	if row.Document == "" {
		return came
	}
	id := engine.ResourceID(r.Target)
	if at, err := f.Site.Lookup(ctx, r.Kind, r.Target); id != "" && err == nil {
		id = at.ID
	}
	return row.Service == r.Kind.Service && row.Kind == r.Kind.Name && (id == "" || id == row.Resource)
}

// letIn is false of an application that does not know who asks, or does not let them do it: who has done nothing leaves nothing here.
func letIn(status int) bool {
	return status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusProxyAuthRequired
}

// route runs a request where its resource is, or else where its scope says.
func (f *Front) route(ctx context.Context, r engine.Request, k keys.Keeper, first bool) (engine.Answer, error) {
	row, err := f.Site.Lookup(ctx, r.Kind, r.Target)
	there, err := found(err)
	if err != nil {
		return engine.Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
	}
	if first {
		if a, kept, err := f.acceptFirst(ctx, r, row, k); kept || err != nil {
			return a, err
		}
	}
	if !there {
		return f.choose(ctx, r, k)
	}
	if len(r.Via) > 0 && !r.Since.IsZero() && row.CreatedAt.After(r.Since) && !r.Creates() {
		return engine.Answer{}, &engine.Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf(
			"%s %s was made since this was asked, at %s; nothing has happened to it", row.Kind, row.ID, r.Since.UTC().Format(time.DateTime))}
	}
	switch leaving := row.Sites[f.self].State == engine.StateLeaving; {
	case leaving && len(r.Via) == 0:
		return f.passOn(ctx, r, f.others(row), k) // it has been removed here, and takes nothing new
	case leaving:
		return engine.Answer{}, f.notHere(r)
	case row.Local != "" && !(r.Type == engine.TypeCreate && r.Target == ""):
		if paused := row.Sites[f.self].Paused; paused != nil && len(r.Via) > 0 {
			return engine.Answer{}, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "paused", Detail: fmt.Sprintf(
				"%s %s is %s at %s; nothing has happened there", row.Kind, row.ID, paused, f.name(f.self))}
		}
		if err := f.askable(r, append(f.others(row), f.self)); err != nil {
			return engine.Answer{}, err
		}
		return f.change(ctx, row.Document, r, k)
	case len(r.Via) > 0:
		return engine.Answer{}, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
			Detail: fmt.Sprintf("%s has no replica of %s %q yet; nothing has happened here", f.name(f.self), r.Kind.Name, r.Target)}
	}
	rest := f.others(row) // it is replicated, and not made here yet
	if len(rest) == 0 {   // the others have left before
		return f.whenMade(ctx, row, r, k)
	}
	return f.passOn(ctx, r, rest, k)
}

// at runs a request that concerns nothing replicated here at its placement.
func (f *Front) at(ctx context.Context, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	here := slices.Contains(r.Placement, f.self)
	switch {
	case r.ExactlyOne:
		return f.exactlyOne(ctx, r, k)
	case len(r.Placement) == 0: // it was replicated when the request came, or where it came from
		return engine.Answer{}, &engine.Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %q was deleted", r.Kind.Name, r.Target)}
	case len(r.Placement) > 1 && r.Kind.Single != "":
		return engine.Answer{}, issue.Single(r.Kind)
	case !here && len(r.Via) > 0:
		return engine.Answer{}, f.notHere(r)
	case !here:
		return f.passOn(ctx, r, r.Placement, k)
	case len(r.Placement) == 1:
		return f.errands.alone(ctx, r, k)
	case r.Creates():
		if err := f.askable(r, r.Placement); err != nil {
			return engine.Answer{}, err
		}
		return f.createInside(ctx, r, k)
	case f.adopts(r):
		_, err := f.adoption.here(ctx, adopting{AdoptRequest: engine.AdoptRequest{Kind: r.Kind, ID: f.Site.Here(ctx, r.Kind, r.Target), Sites: r.Placement,
			Parts: r.Parts, User: r.User, Scope: r.Scope, Credentials: r.Credentials}})
		if err == nil {
			row, err := f.Site.Lookup(ctx, r.Kind, r.Target)
			if err != nil {
				return engine.Answer{}, fmt.Errorf("look up %s: %w", r.Target, err)
			}
			return f.change(ctx, row.Document, r, k)
		}
		if !errors.Is(err, engine.ErrNotFound) {
			return engine.Answer{}, err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(r.Placement), func(id engine.SiteID) bool { return id == f.self || slices.Contains(r.Via, id) })
	if len(rest) == 0 || len(r.Via) > 0 || !f.adopts(r) && f.hasAlone(ctx, r) { // adopting has looked for it already
		return engine.Answer{}, &engine.Refusal{Status: http.StatusNotFound, Type: "not-replicated",
			Detail: fmt.Sprintf("%s %q is not a replicated resource; leave out the scope to change it at one site", r.Kind.Name, r.Target)}
	}
	return f.passOn(ctx, r, rest, k) // made elsewhere, and not heard of here yet
}

// passOn hands a request to the nearest of sites that takes it, now or later.
func (f *Front) passOn(ctx context.Context, r engine.Request, sites []engine.SiteID, k keys.Keeper) (engine.Answer, error) {
	r.Operation = f.operationOf(r)
	return f.outbox.PassOn(ctx, r, sites, k)
}
