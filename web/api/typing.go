package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/typing"
)

// typeReferences adds the type errors of what a request refers to, and warns of what it will lack where it runs. Row is the
// resource that it changes, nil for none.
func (a *API) typeReferences(ctx context.Context, r ExplainRequest, m glue.Match, row *engine.ResourceRow, e *Explanation) error {
	if m.Kind == nil || m.Type == "" || len(r.Body) == 0 {
		return nil
	}
	s, err := scope.Parse(scopeLine(r.Scope))
	if err != nil { // it is empty: everything else was parsed before
		s = &scope.Scope{}
	}
	n := a.names()
	var sites []engine.SiteID
	for _, a := range e.Alternatives {
		for _, name := range a.Sites {
			if id := n.ByName[name]; !slices.Contains(sites, id) {
				sites = append(sites, id)
			}
		}
	}
	if row != nil {
		for id, st := range row.Sites {
			if st.State != engine.StateLeaving && !slices.Contains(sites, id) {
				sites = append(sites, id)
			}
		}
	}
	result, err := a.Types.Check(ctx, typing.Request{
		Kind: m.Kind, Method: strings.ToUpper(r.Method), Path: r.Path, Creates: m.Type == engine.TypeCreate,
		Relations: tree.RelationsOf(m.Kind, m.Within, r.Body), Sites: sites, Scope: s,
		Bound: a.bound(s, string(m.Kind.Service)),
	})
	if err != nil {
		return fmt.Errorf("type %s %s: %w", r.Method, r.Path, err)
	}
	for _, p := range result.Problems {
		e.Errors = append(e.Errors, ScopeError{p.Type, p.Detail, p.Position})
	}
	e.Warnings = append(e.Warnings, slices.Concat(result.Lacking, result.Warnings)...)
	for _, site := range result.Unreachable {
		e.Warnings = append(e.Warnings, fmt.Sprintf("whether what it refers to can be used where it runs cannot be told: %s cannot be asked now", site))
	}
	return nil
}

// fits refuses to place a resource at sites where what it refers to is another site's own.
func (a *API) fits(ctx context.Context, row engine.ResourceRow, q engine.PlaceRequest) error {
	k := a.kind(row.Service, row.Kind)
	var added []engine.SiteID
	for _, id := range slices.Concat(q.Sites, q.Add) {
		if _, has := row.Sites[id]; !has {
			added = append(added, id)
		}
	}
	if k == nil || len(added) == 0 || len(row.Relations) == 0 {
		return nil
	}
	result, err := a.Types.Check(ctx, typing.Request{Kind: k, Method: "placing", Path: string(row.Kind) + " " + string(row.ID), Relations: row.Relations,
		Sites: added, Scope: &scope.Scope{}, Bound: func(engine.ServiceName) []engine.SiteID { return nil }})
	if err != nil {
		return fmt.Errorf("type what %s refers to: %w", row.ID, err)
	}
	if len(result.Problems) > 0 {
		return refuse(http.StatusUnprocessableEntity, scope.TypeError, "%s", result.Problems[0].Detail)
	}
	return nil
}

// bound returns which sites a scope binds a service to, in all of its alternatives.
func (a *API) bound(s *scope.Scope, addressed string) func(engine.ServiceName) []engine.SiteID {
	world, n := a.world(addressed), a.names()
	return func(service engine.ServiceName) []engine.SiteID {
		var sites []engine.SiteID
		for _, name := range s.SitesOf(string(service), world) {
			sites = append(sites, n.ByName[name])
		}
		return sites
	}
}
