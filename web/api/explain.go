package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/plan"
	"github.com/skerry/skerry/web/world"
)

// ExplainRequest is a scope and, as far as it is known, the request that it would travel with.
type ExplainRequest struct {
	Scope   string          `json:"scope"`
	Service string          `json:"service"`
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Body    json.RawMessage `json:"body"`
}

// Explanation tells what a scope means here and now.
type Explanation struct {
	Canonical string `json:"canonical"` // empty when the scope does not parse
	// Tree has one entry for each binding, in the order of the text.
	Tree []BoundTree `json:"tree"`
	// Alternatives are the sites that the addressed service runs the request at; the only bound service counts as addressed when
	// the request names none.
	Alternatives []plan.Alternative `json:"alternatives"`
	Plan         *plan.Plan         `json:"plan"` // nil when there are errors
	Errors       []ScopeError       `json:"errors"`
	Warnings     []string           `json:"warnings"`
}

// BoundTree is the location of one service. Service is empty for the one that the request addresses.
type BoundTree struct {
	Service  string     `json:"service"`
	Location scope.Node `json:"location"`
}

// ScopeError says what is wrong and where: Detail has the picture, Position is a byte offset.
type ScopeError struct {
	Type     string `json:"type"`
	Detail   string `json:"detail"`
	Position int    `json:"position"`
}

// Explain parses, checks and resolves a scope, and plans the request as far as it is given. A wrong scope is part of
// the explanation; the error is for a request that makes no sense.
func (a *API) Explain(ctx context.Context, r ExplainRequest) (Explanation, error) {
	e := Explanation{Tree: []BoundTree{}, Alternatives: []plan.Alternative{}, Errors: []ScopeError{}, Warnings: []string{}}
	if r.Service != "" && a.service(engine.ServiceName(r.Service)) == nil {
		return e, refuse(422, "unknown-service", "there is no service %q in application %s", r.Service, a.Application)
	}
	if r.Path != "" && !strings.HasPrefix(r.Path, "/") {
		return e, badRequest("path is %q: give an absolute path, such as /images", r.Path)
	}
	text := scopeLine(r.Scope)
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	s, err := scope.Parse(text)
	var syntax *scope.SyntaxError
	if errors.As(err, &syntax) {
		e.Errors = append(e.Errors, ScopeError{"scope-syntax", syntax.Picture(), syntax.Offset})
		return e, nil
	}
	if err != nil {
		return e, err
	}
	e.Canonical = s.String()
	for _, b := range s.Bindings {
		e.Tree = append(e.Tree, BoundTree{b.Service, scope.Tree(b.Location)})
	}
	addressed := r.Service
	if addressed == "" && len(s.Bindings) == 1 {
		addressed = s.Bindings[0].Service
	}
	known := a.world(addressed)
	for _, p := range s.Check(known) {
		e.Errors = append(e.Errors, ScopeError{p.Type, p.Detail, p.Position})
	}
	if len(e.Errors) > 0 {
		return e, nil
	}
	l, bound := s.For(addressed, addressed)
	var found []scope.Alternative
	switch {
	case bound:
		if found, err = scope.Resolve(l, known); err != nil {
			return e, err
		}
	case addressed != "" || len(s.Bindings) == 0: // local-first
		if len(s.Bindings) > 0 {
			e.Warnings = append(e.Warnings, world.Unnamed(addressed, known.Self))
		}
		found = append(found, scope.Alternative{Mode: scope.One, Sites: []string{known.Self}})
	default:
		return e, nil // several services and no request: each binding's tree is all there is to tell
	}
	p := plan.NewPlanner(a.Sites())
	e.Alternatives = p.Measured(found)
	return e, a.plan(ctx, r, addressed, bound, p, &e)
}

func (a *API) world(addressed string) scope.World {
	services := make([]engine.ServiceName, len(a.Services))
	for i, s := range a.Services {
		services[i] = s.Name
	}
	w, _ := world.Of(a.Mesh, a.Application, services, addressed)
	return w
}

// route tells what a request to a service is about; ok is false when the catalog has nothing for its path.
func (a *API) route(service, method, path string) (glue.Match, bool) {
	s := a.service(engine.ServiceName(service))
	if s == nil {
		return glue.Match{}, false
	}
	r := glue.NewRouter(s.Kinds())
	path, _, _ = strings.Cut(path, "?")
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return glue.Match{}, false
	}
	return r.Match(method, u.EscapedPath(), nil)
}
