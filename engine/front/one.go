package front

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// Chosen returns the site at which what a name stands for is, where scopes had it at exactly one; empty when none is known. Here: this
// site holds something under it, though the name may be another's.
func (f *Front) Chosen(ctx context.Context, k *engine.Kind, id string) (at engine.SiteID, here bool, err error) {
	return f.names.Chosen(ctx, k, id)
}

// exactlyOne runs a request of a scope with "^".
func (f *Front) exactlyOne(ctx context.Context, r engine.Request, k keys.Keeper) (engine.Answer, error) {
	if a, ok, err := f.withContainer(ctx, r, k); ok || err != nil {
		return a, err
	}
	name, candidate := tree.ChosenName(r), slices.Contains(r.Placement, f.self)
	switch {
	case !r.Kind.Natural():
		return engine.Answer{}, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
			"\"^\" is for kinds whose names clients choose: the application names each %s itself\nhelp: name one site in the scope", r.Kind.Name)}
	case name == "":
		return engine.Answer{}, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
			"the request gives the new %s no name at %s, which \"^\" goes by", r.Kind.Name, r.Kind.ID.At)}
	case !candidate && len(r.Via) > 0:
		return engine.Answer{}, f.notHere(r)
	case !candidate:
		return f.passOn(ctx, r, r.Placement, k)
	}
	holders, err := f.names.holders(ctx, r.Kind, engine.ResourceID(name))
	if err != nil {
		return engine.Answer{}, err
	}
	at := view.OwnerOf(holders)
	makes := r.Type == engine.TypeCreate || r.Method == http.MethodPut && r.Path == r.Kind.Item && r.Kind.MergeMethod == ""
	switch {
	case at == "" && makes:
		return f.createAtOne(ctx, r, k, engine.ResourceID(name))
	case at == "" || at == f.self && r.Type != engine.TypeCreate:
		return f.errands.alone(ctx, r, k)
	case at == f.self:
		reply, err := f.shown(ctx, r.Kind, f.Site.Here(ctx, r.Kind, name))
		if err == nil && reply.Gone() { // deleted behind the agent
			return f.createAtOne(ctx, r, k, engine.ResourceID(name))
		}
	case r.Type != engine.TypeCreate && len(r.Via) == 0:
		return f.passOn(ctx, r, []engine.SiteID{at}, k)
	case r.Type != engine.TypeCreate:
		return engine.Answer{}, f.notHere(r) // whoever has passed it on asks the others
	}
	return engine.Answer{}, &engine.Refusal{Status: http.StatusConflict, Type: "name-taken", Detail: fmt.Sprintf(
		"%s %q exists at %s, as one of %s; nothing has happened", r.Kind.Name, name, f.name(at), report.Names(f.name, r.Placement))}
}

// createAtOne creates what is to be at one site only here.
func (f *Front) createAtOne(ctx context.Context, r engine.Request, k keys.Keeper, name engine.ResourceID) (engine.Answer, error) {
	if err := f.takeLarge(ctx, r); err != nil {
		return engine.Answer{}, err
	}
	container, inside, err := f.containers.of(ctx, r.Kind, r.Within)
	if err != nil {
		return engine.Answer{}, err
	}
	release, err := f.turns.take(ctx, "one", r.Kind, string(name)) // two requests for one name run after each other
	if err != nil {
		return engine.Answer{}, fmt.Errorf("wait for other requests on %s: %w", name, err)
	}
	defer release()
	if at, here, err := f.Chosen(ctx, r.Kind, string(name)); err != nil || at != "" && !here { // chosen meanwhile
		if err == nil {
			err = f.notHere(r)
		}
		return engine.Answer{}, err
	}
	e := f.errands.errandOf(r, k)
	e.Choice = &engine.About{Service: r.Kind.Service, Kind: r.Kind.Name, Collaboration: engine.ExactlyOne, Key: name,
		Placement: slices.Sorted(slices.Values(r.Placement))}
	if err := f.errands.settleSame(ctx, r.Kind, e); err != nil {
		return engine.Answer{}, err
	}
	if inside {
		release, err := f.containers.claim(ctx, container, r.Kind, claimedName(r), "")
		if err != nil {
			return engine.Answer{}, err
		}
		defer release()
		e.Inside = container.Document
	}
	return f.errands.run(ctx, r.Kind, e)
}

// withContainer runs a request of a scope with "^" for something in a container that is at exactly one site: what lies inside is where
// the container is, whoever names it. It reports false when no such container is known here.
func (f *Front) withContainer(ctx context.Context, r engine.Request, k keys.Keeper) (a engine.Answer, ok bool, err error) {
	c := f.Site.Kind(r.Kind.Service, r.Kind.Within)
	if c == nil || !c.Natural() {
		return a, false, nil
	}
	within := r.Within
	if r.Target != "" {
		within, _ = r.Kind.Split(r.Target)
	}
	at, _, err := f.Chosen(ctx, c, c.FromContainer(within))
	if err != nil {
		return a, false, err
	}
	switch candidate := slices.Contains(r.Placement, f.self); {
	case at == f.self:
		a, err = f.errands.alone(ctx, r, k)
	case at == "" && candidate:
		return a, false, nil
	case len(r.Via) > 0:
		err = f.notHere(r) // whoever has passed it on asks the others
	case at == "": // the candidates know
		a, err = f.passOn(ctx, r, r.Placement, k)
	default:
		a, err = f.passOn(ctx, r, []engine.SiteID{at}, k)
	}
	return a, true, err
}
