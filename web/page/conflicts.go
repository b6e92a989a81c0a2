package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// eachKind is how many conflicts of a kind are shown where all kinds are.
const eachKind = 20

// conflictGroup is the conflicts of one kind.
type conflictGroup struct {
	About string
	api.ConflictList
}

// conflicts lists what waits for a person: kind after kind, the worst first, or page after page of one kind.
func (p *Page) conflicts(c echo.Context) error {
	q := c.QueryParams()
	query := api.ConflictQuery{
		Resource: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind"), About: q.Get("about"), Site: q.Get("site"),
		Accepted: q.Get("accepted") == "true", Limit: pageSize, Cursor: q.Get("cursor"),
	}
	kinds := []engine.ConflictKind{engine.ConflictKind(query.About)}
	if query.About == "" {
		kinds, query.Limit, query.Cursor = shape.ConflictKinds, eachKind, ""
	}
	var groups []conflictGroup
	for _, k := range kinds {
		query.About = string(k)
		list, err := p.api.Conflicts(c.Request().Context(), query)
		if err != nil {
			return p.Fail(c, err)
		}
		if len(list.Items) > 0 {
			groups = append(groups, conflictGroup{string(k), list})
		}
	}
	f := p.frame(c, "Conflicts", "conflicts", with("/api/v1/conflicts", pick(q, "resource", "service", "kind", "about", "site", "accepted", "cursor")))
	services, _ := p.services()
	return render(c, http.StatusOK, conflictsView(f, groups, listModel{Query: q, Services: services, Sites: p.siteOptions()}))
}

// conflictModel is one conflict with what a person needs to decide.
type conflictModel struct {
	api.ConflictDetail
	// Holders are the sites that can be kept.
	Holders []string
	// Lost are the values of the resource that can be restored.
	Lost []shape.Superseded
	// AsksLocal says that an object can be adopted whose identifier its site alone knows; Local is that identifier.
	AsksLocal bool
	Local     string
	Wrong     string // why a decision was refused
}

// AsksWhich reports whether somebody has to say first which object is meant, before anybody can tell what adopting it would overwrite.
func (m conflictModel) AsksWhich() bool {
	return m.AsksLocal && (m.Local == "" || m.Differences == nil)
}

// Unborn reports whether the request is in no document: then nothing tells what it would overwrite, since it has made the object itself.
func (m conflictModel) Unborn() bool {
	return m.About == string(engine.ConflictUncertain) && len(m.Sites) == 0
}

// Likely reports whether one of the actions is most likely wanted. Of what is uncertain that is so where something speaks for it, and what deletes
// or gives up something is never put forward.
func (m conflictModel) Likely(i int) bool {
	switch engine.ConflictKind(m.About) {
	case engine.ConflictUncertain:
		return i == 0 && m.Evidence != ""
	case engine.ConflictRival, engine.ConflictUnseen, engine.ConflictName:
		return false
	}
	return i == 0
}

// overwrites says how much of an object is lost when it is adopted.
func overwrites(fields int) string {
	if fields == 1 {
		return "It changes 1 field of the object:"
	}
	return fmt.Sprintf("It changes %d fields of the object:", fields)
}

func (p *Page) conflict(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	return p.showConflict(c, http.StatusOK, id, c.QueryParam("local_id"), "")
}

func (p *Page) showConflict(c echo.Context, status int, id, local, wrong string) error {
	ctx := c.Request().Context()
	d, err := p.api.Conflict(ctx, id, p.api.Mesh.Self(), local)
	if err != nil {
		return p.Fail(c, err)
	}
	m := conflictModel{ConflictDetail: d, Local: local, Wrong: wrong}
	m.AsksLocal = slices.Contains(d.Actions, string(engine.ActionAdopt)) && !p.natural(d.Service, d.Kind)
	if d.Resource != "" {
		r, err := p.api.ResourceDetail(ctx, api.ResourceRef{ID: d.Resource, Service: d.Service, Kind: d.Kind})
		if refusal, told := refusalOf(err); err != nil && (!told || refusal.Status != http.StatusNotFound) {
			return p.Fail(c, err)
		}
		m.Holders, m.Lost = siteNames(r.Sites), r.Superseded
	}
	about := d.Resource
	if about == "" {
		about = shape.An(d.Kind)
	}
	f := p.frame(c, "Conflict: "+about+" at "+d.Site, "conflicts", with("/api/v1"+conflictURL(d.ID), nil, "local_id", local))
	f.Reload = "" // asking the application again with each event would be a burden, and what is being written must stay
	return render(c, status, conflictView(f, m))
}

// natural reports whether clients choose the identifiers of a kind, so that all sites have the same.
func (p *Page) natural(service, kind string) bool {
	for _, s := range p.api.Services {
		for _, k := range s.Kinds() {
			if string(s.Name) == service && string(k.Name) == kind {
				return k.Natural()
			}
		}
	}
	return false
}

// resolve does what a person has decided, and goes on to what it is about.
func (p *Page) resolve(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	ctx, self, local := c.Request().Context(), p.api.Mesh.Self(), c.FormValue("local_id")
	before, err := p.api.Conflict(ctx, id, self, local)
	if err != nil {
		return p.Fail(c, err)
	}
	_, err = p.api.Resolve(ctx, id, self, api.ResolveRequest{Action: c.FormValue("action"), LocalID: local, Site: c.FormValue("site")}, "")
	if err != nil {
		r, told := refusalOf(err)
		if !told || r.Status == http.StatusNotFound {
			return p.Fail(c, err)
		}
		return p.showConflict(c, r.Status, id, local, r.Detail)
	}
	if action := c.FormValue("action"); action == string(engine.ActionDismiss) || action == string(engine.ActionDrop) {
		return c.Redirect(http.StatusSeeOther, decidedURL(id))
	}
	if before.Resource != "" {
		return c.Redirect(http.StatusSeeOther, resourceURL(before.Resource, before.Service, before.Kind))
	}
	return c.Redirect(http.StatusSeeOther, "/conflicts")
}

// same reports whether a field has one value on two sides, or is absent on both.
func same(a, b json.RawMessage) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func conflictNames() []string {
	names := make([]string, len(shape.ConflictKinds))
	for i, k := range shape.ConflictKinds {
		names[i] = string(k)
	}
	return names
}

// wrote says who asked for an operation and where, up to when.
func wrote(a shape.Author) string {
	if a.User == "" {
		return "at " + a.Site + ", "
	}
	return "by " + a.User + " at " + a.Site + ", "
}
