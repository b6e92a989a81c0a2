package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/plan"
)

// plan adds the plan and the warnings to an explanation without errors so far.
func (a *API) plan(ctx context.Context, r ExplainRequest, service string, bound bool, p *plan.Planner, e *Explanation) error {
	now := plan.Today(e.Alternatives)
	involved := now.Sites
	read := glue.Safe(strings.ToUpper(r.Method))
	var row *engine.ResourceRow
	if r.Method != "" && r.Path != "" && service != "" {
		m, ok := a.route(service, strings.ToUpper(r.Method), r.Path)
		if elsewhere := slices.ContainsFunc(involved, func(s string) bool { return s != a.names().Of(a.Mesh.Self()) }); !ok && elsewhere &&
			!a.Reaches(engine.ServiceName(service), strings.ToUpper(r.Method), strings.Split(r.Path, "?")[0]) {
			e.Errors = append(e.Errors, ScopeError{scope.TypeError, fmt.Sprintf(
				"the catalog has no kind for %s of service %s, and other sites serve what it describes and nothing else; leave the service out", r.Path, service), 0})
			return nil
		}
		if !ok && len(involved) > 1 {
			e.Errors = append(e.Errors, ScopeError{scope.TypeError, fmt.Sprintf(
				"the catalog has no kind for %s of service %s, so it cannot run at several sites; name one site", r.Path, service), 0})
			return nil
		}
		if ok && m.Target != "" {
			found, err := a.row(ctx, ResourceRef{m.Target, service, string(m.Kind.Name)})
			switch {
			case err == nil && !found.State.Past():
				row = &found
			case err != nil && AsRefusal(err).Status >= 500:
				return err
			}
		}
		if ok && !read && row == nil && len(involved) > 1 && now.Mode != scope.ExactlyOne && m.Kind.Single != "" {
			e.Errors = append(e.Errors, ScopeError{scope.TypeError, fmt.Sprintf(
				"%s lives at one site and is not replicated: %s; name one site", m.Kind.Name, m.Kind.Single), 0})
			return nil
		}
		parts := plan.PartsOf(a.names(), row, now.Alternative)
		switch {
		case ok && now.Mode == scope.ExactlyOne && row == nil && m.Verb != glue.VerbList:
			if err := a.planOne(ctx, p, m, r, now.Sites); err != nil {
				return err
			}
		case !ok || !p.Cross(m, row, bound && len(involved) == 1, parts, r.Body):
			p.Request(a.names(), m, ok, row, involved, bound)
		}
		counted := involved
		if row != nil && !read {
			counted = a.names().Placement(row)
		}
		p.Agreement(now, counted, read)
		if row == nil || read {
			p.Others(e.Alternatives, now, read)
		}
		if ok {
			e.Warnings = append(e.Warnings, a.tellAcceptance(ctx, m, strings.ToUpper(r.Method), row, now.Mode, p.Plan.Steps)...)
			if err := a.typeReferences(ctx, r, m, row, e); err != nil || len(e.Errors) > 0 {
				return err
			}
		}
	} else {
		p.Location(involved, now.Alternative)
		p.Agreement(now, involved, false)
		p.Others(e.Alternatives, now, false)
	}
	e.Plan = p.Plan
	e.Warnings = append(e.Warnings, p.Warnings()...)
	return nil
}

// planOne plans a request of a scope with "^", whose name is in its path or in its body.
func (a *API) planOne(ctx context.Context, p *plan.Planner, m glue.Match, r ExplainRequest, candidates []string) error {
	name, read := m.Target, glue.Safe(strings.ToUpper(r.Method))
	if name == "" {
		if name = tree.ChosenID(m.Kind, r.Body); name != "" && m.Within != "" {
			name = engine.Inside(m.Within, name)
		}
	}
	id, _, err := a.Operator.Chosen(ctx, m.Kind, name)
	if err != nil {
		return err
	}
	at := ""
	if id != "" {
		at = a.names().Of(id)
	}
	p.ExactlyOne(m.Kind, m.Type == engine.TypeCreate, read, name, at, candidates)
	return nil
}
