package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// keepName decides which of two objects keeps a name that was to be at one site and is at two: the other is deleted where it is, by a
// request as a client there would make it.
func (a *API) keepName(ctx context.Context, c engine.Conflict, from engine.SiteID, r ResolveRequest, authorization string) (Resolution, error) {
	n := a.names()
	if from != a.Mesh.Self() {
		return Resolution{}, refuse(http.StatusForbidden, "settle", "which site keeps a name is decided at the agent that is asked, and not passed on; nothing has happened")
	}
	kept, err := n.ID(r.Site)
	if err != nil {
		return Resolution{}, err
	}
	lost := c.Site
	switch kept {
	case c.Holder:
	case c.Site:
		lost = c.Holder
	default:
		return Resolution{}, refuse(http.StatusUnprocessableEntity, "settle", "site is %q: the name is at %s and at %s, name the one that keeps it; nothing has happened",
			r.Site, n.Of(c.Holder), n.Of(c.Site))
	}
	k := a.kind(c.Service, c.KindName)
	if k == nil {
		return Resolution{}, refuse(http.StatusUnprocessableEntity, "unknown-service", "this site's catalog has no kind %s.%s any more", c.Service, c.KindName)
	}
	q := IssueRequest{Service: string(c.Service), Method: http.MethodDelete, Path: itemPath(k, c.Resource), Scope: fmt.Sprintf("{%s: %s}", c.Service, n.Of(lost))}
	if authorization != "" {
		q.Headers = map[string]string{"Authorization": authorization}
	}
	got, err := a.Issue(ctx, q, "", "")
	if err != nil {
		return Resolution{}, err
	}
	if s := got.Answer.Status; s >= 300 && s != http.StatusNotFound && s != http.StatusGone {
		return Resolution{}, refuse(http.StatusConflict, "settle", "the application of %s answers %d to the deletion of %s; nothing has happened", n.Of(lost), s, c.Resource)
	}
	return Resolution{Conflict: string(c.ID), Action: r.Action, Site: n.Of(lost)}, nil
}

// ConflictSides asks every site that a conflict is between, all at once, what its application shows of the resource, and compares. Header is
// the caller's; its Authorization goes with the questions.
func (a *API) ConflictSides(ctx context.Context, id string, header http.Header, remote string) (shape.Comparison, error) {
	c, err := a.conflictFor(ctx, id, a.Mesh.Self())
	if err != nil {
		return shape.Comparison{}, err
	}
	if c.Resource == "" {
		return shape.Comparison{}, refuse(http.StatusUnprocessableEntity, "settle", "what this is about has no identifier yet: there is nothing to compare")
	}
	sites := c.Sites
	if len(sites) == 0 {
		sites = []engine.SiteID{c.Site}
	}
	about := engine.ResourceRow{ID: c.Resource, Service: c.Service, Kind: c.KindName}
	if row, err := a.Store.ResourceByDocument(ctx, c.Document); err == nil {
		about.Collaboration = row.Collaboration
	}
	return a.compare(ctx, about, sites, header, remote)
}

func (a *API) getConflictSides(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	v, err := a.ConflictSides(c.Request().Context(), id, c.Request().Header, c.Request().RemoteAddr)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
