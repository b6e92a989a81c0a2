package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

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
	k, id, err := a.named(c, lost)
	if err != nil {
		return Resolution{}, err
	}
	q := IssueRequest{Service: string(c.Service), Method: http.MethodDelete, Path: itemPath(k, id), Scope: fmt.Sprintf("{%s: %s}", c.Service, n.Of(lost))}
	if authorization != "" {
		q.Headers = map[string]string{"Authorization": authorization}
	}
	got, err := a.Issue(ctx, q, "", "")
	if err != nil {
		return Resolution{}, err
	}
	if s := got.Answer.Status; s >= 300 && s != http.StatusNotFound && s != http.StatusGone {
		return Resolution{}, refuse(http.StatusConflict, "settle", "the application of %s answers %d to the deletion of %s; nothing has happened", n.Of(lost), s, id)
	}
	return Resolution{Conflict: string(c.ID), Action: r.Action, Site: n.Of(lost)}, nil
}

// named is what a site has under a name that two sites have given: the resource itself, or what lies inside it.
func (a *API) named(c engine.Conflict, site engine.SiteID) (*engine.Kind, engine.ResourceID, error) {
	container := a.kind(c.Service, c.KindName)
	if container == nil {
		return nil, "", refuse(http.StatusUnprocessableEntity, "unknown-service", "this site's catalog has no kind %s.%s any more", c.Service, c.KindName)
	}
	if len(c.Twins) == 0 {
		return container, c.Resource, nil
	}
	for _, twin := range c.Twins {
		if k := a.kind(c.Service, twin.Kind); twin.Site == site && k != nil {
			return k, engine.ResourceID(k.Inside(container.AsContainer(string(c.Resource)), twin.Local)), nil
		}
	}
	return nil, "", refuse(http.StatusUnprocessableEntity, "settle", "what %s has under that name is not known here", a.names().Of(site))
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
	if len(c.Twins) > 0 {
		return a.compareTwins(ctx, c, header, remote)
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

// compareTwins asks the sites of two things of one name what they show of them.
func (a *API) compareTwins(ctx context.Context, c engine.Conflict, header http.Header, remote string) (shape.Comparison, error) {
	at := map[engine.SiteID]engine.ResourceID{}
	var k *engine.Kind
	var sites []engine.SiteID
	for _, twin := range c.Twins {
		kind, id, err := a.named(c, twin.Site)
		if err != nil {
			return shape.Comparison{}, err
		}
		if k, at[twin.Site] = kind, id; !slices.Contains(sites, twin.Site) {
			sites = append(sites, twin.Site)
		}
	}
	about := engine.ResourceRow{ID: engine.ResourceID(c.Twins[0].Name), Service: c.Service, Kind: k.Name}
	return a.compareBy(ctx, about, sites, func(site engine.SiteID) engine.ResourceID { return at[site] }, header, remote)
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
