package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// postedTo handles a call that changes something of the resource in its path, as its body says, and answers what that makes.
func postedTo[Q, V any](status int, do func(c echo.Context, ref ResourceRef, q Q) (V, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		ref, err := resourceRef(c)
		if err != nil {
			return err
		}
		var q Q
		if err := decode(c, &q); err != nil {
			return err
		}
		v, err := do(c, ref, q)
		if err != nil {
			return err
		}
		return answer(c, status, v)
	}
}

// replica is the replica of a resource at one site.
type replica struct {
	row  engine.ResourceRow
	site engine.SiteID
	here bool // at this site
}

// replicaAt finds the replica that a call is about, for the site from, which has to share the resource.
func (a *API) replicaAt(ctx context.Context, ref ResourceRef, from engine.SiteID, site string) (replica, error) {
	row, err := a.row(ctx, ref)
	if err != nil {
		return replica{}, err
	}
	if _, ok := row.Sites[from]; !ok {
		return replica{}, refuse(http.StatusNotFound, "not-found", "no resource %q is shared with that site", ref.ID)
	}
	if site == "" {
		return replica{}, badRequest("site is missing: name the site whose replica is meant")
	}
	n := a.names()
	at, err := n.ID(site)
	if err != nil {
		return replica{}, err
	}
	if _, ok := row.Sites[at]; !ok {
		return replica{}, refuse(http.StatusUnprocessableEntity, "scope-type", "%s %s has no replica at %s", row.Kind, row.ID, n.Of(at))
	}
	here, err := a.here(from, at)
	return replica{row, at, here}, err
}

// steerElsewhere has another site change something of a resource and decodes its answer into v.
func (a *API) steerElsewhere(ctx context.Context, site engine.SiteID, row engine.ResourceRow, verb string, q, v any) error {
	target := "/resources/" + url.PathEscape(string(row.ID)) + "/" + verb + "?" +
		url.Values{"service": {string(row.Service)}, "kind": {string(row.Kind)}}.Encode()
	return a.askSite(ctx, site, http.MethodPost, target, q, v)
}
