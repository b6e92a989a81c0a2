package page

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/builder"
	"github.com/skerry/skerry/web/shape"
)

// steerURL is where a form posts that changes something of a resource.
func steerURL(id, service, kind, verb string) string {
	return "/resources/" + url.PathEscape(id) + "/" + verb + "?" + url.Values{"service": {service}, "kind": {kind}}.Encode()
}

// steer returns a handler that has do change something of the resource that the address names, and goes back to its view,
// which says why when it was refused.
func (p *Page) steer(do func(c echo.Context, r api.ResourceRef) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, err := ref(c)
		if err != nil {
			return p.Fail(c, err)
		}
		if err := do(c, r); err != nil {
			refusal, told := refusalOf(err)
			if !told || refusal.Status == http.StatusNotFound {
				return p.Fail(c, err)
			}
			return p.showResource(c, refusal.Status, r, refused{refusal.Detail, c.Request().PostForm["site"], refusal.Type == engine.ForceActions})
		}
		return c.Redirect(http.StatusSeeOther, resourceURL(r.ID, r.Service, r.Kind))
	}
}

// refused is what the view of a resource tells of a form that was refused.
type refused struct {
	Wrong    string
	Picked   []string // the sites that it named
	MayForce bool     // it may be sent again with force
}

func (p *Page) restore(c echo.Context, r api.ResourceRef) error {
	_, err := p.api.Restore(c.Request().Context(), r, p.api.Mesh.Self(), api.RestoreRequest{Path: c.FormValue("path"), From: c.FormValue("from")}, "")
	return err
}

func (p *Page) place(c echo.Context, r api.ResourceRef) error {
	q := api.PlacementRequest{Sites: append([]string{}, c.Request().PostForm["site"]...)}
	if c.FormValue("force") == engine.ForceActions {
		q.Force = []string{engine.ForceActions}
	}
	if as := builder.Shape(c.FormValue("as")); as != "" {
		q.Sites, q.Scope = nil, sharedScope(as, q.Sites)
	}
	_, err := p.api.Place(c.Request().Context(), r, p.api.Mesh.Self(), q)
	return err
}

// sharedScope is a scope of sites that share a resource as a shape says.
func sharedScope(as builder.Shape, sites []string) string {
	l := scope.Location{Op: scope.OpTogether}
	if as == builder.Spread {
		l.Op = scope.OpCross
	}
	for _, s := range sites {
		l.Args = append(l.Args, scope.Location{Op: scope.OpSite, Site: s})
	}
	if len(l.Args) == 1 {
		l = l.Args[0]
	}
	return l.String()
}

// otherwise is the other way in which the sites of a resource may share it: what it would be, or why it cannot be.
type otherwise struct {
	As                 string // empty: there is none
	Words, Shares, Not string
}

// otherwise finds out how the sites that a resource lives at would share it in the other way.
func (p *Page) otherwise(ctx context.Context, r api.ResourceRef, m *resourceModel) otherwise {
	sites := siteNames(m.Sites)
	as, o := builder.Spread, otherwise{Words: "Divide it over them from now on: one resource in parts that behaves as one"}
	if m.Collaboration == string(engine.Cross) {
		as, o.Words = builder.Copies, "Make it one replicated resource again: a copy at each of them"
	} else if len(sites) < 2 {
		return o
	}
	d, err := p.api.Divide(ctx, r, sharedScope(as, sites))
	if refusal, told := refusalOf(err); err != nil && (!told || refusal.Type != "scope-type") {
		return o
	} else if o.As = string(as); err != nil {
		o.Not, _, _ = strings.Cut(refusal.Detail, "; nothing has happened")
		return o
	}
	var parts []string
	for _, part := range d.Parts {
		for _, at := range slices.Sorted(maps.Keys(part.Share)) {
			parts = append(parts, fmt.Sprintf("%s %s at %s", at, part.Share[at], shape.List(part.Sites)))
		}
	}
	if len(parts) > 0 {
		o.Shares = "Where it lives now that would be " + strings.Join(parts, ", ") + "."
	}
	return o
}

func (p *Page) keep(c echo.Context, r api.ResourceRef) error {
	q := api.KeepRequest{Site: c.FormValue("site"), Force: c.FormValue("force") == "true"}
	_, err := p.api.Keep(c.Request().Context(), r, p.api.Mesh.Self(), q)
	return err
}

func (p *Page) checkResource(c echo.Context, r api.ResourceRef) error {
	_, err := p.api.Check(c.Request().Context(), r)
	return err
}

// pause returns what applies one of api.PauseVerbs.
func (p *Page) pause(verb string) func(c echo.Context, r api.ResourceRef) error {
	return func(c echo.Context, r api.ResourceRef) error {
		q := api.PauseRequest{Site: c.FormValue("site"), Reason: c.FormValue("reason")}
		_, err := p.api.SetPause(c.Request().Context(), r, p.api.Mesh.Self(), verb, q)
		return err
	}
}
