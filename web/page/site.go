package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// siteModel is one site with all that its view shows.
type siteModel struct {
	shape.Site
	Preview *shape.Preview // nil: NotTold says why
	NotTold string
	// Unsettled are replicas of the site that are not converged, the worst first; Conflicts what waits for a person there.
	Unsettled []shape.Resource
	Conflicts []shape.Conflict
	Wrong     string // why a form was refused
}

// unsettledOfEach is how many resources of each state are shown.
const unsettledOfEach = 20

func (p *Page) site(c echo.Context) error {
	name, err := param(c, "name")
	if err != nil {
		return p.Fail(c, err)
	}
	return p.showSite(c, http.StatusOK, name, "")
}

// siteNamed is a site as it has told last.
func (p *Page) siteNamed(ctx context.Context, name string) (shape.Site, error) {
	sites, err := p.api.SiteStates(ctx)
	if err != nil {
		return shape.Site{}, err
	}
	for _, s := range sites {
		if s.Name == name {
			return s, nil
		}
	}
	return shape.Site{}, &engine.Refusal{Status: http.StatusNotFound, Type: "unknown-site", Detail: fmt.Sprintf("there is no site %q in this mesh", name)}
}

func (p *Page) showSite(c echo.Context, status int, name, wrong string) error {
	ctx, self := c.Request().Context(), p.api.Mesh.Self()
	site, err := p.siteNamed(ctx, name)
	if err != nil {
		return p.Fail(c, err)
	}
	m := siteModel{Site: site, Wrong: wrong}
	preview, err := p.api.Preview(ctx, self, engine.SiteID(site.PeerID), heldShown)
	var refusal *engine.Refusal
	switch {
	case err == nil:
		m.Preview = &preview
	case errors.As(err, &refusal):
		m.NotTold = refusal.Detail
	default:
		return p.Fail(c, err)
	}
	for _, state := range []engine.State{engine.StateConflict, engine.StateDegraded, engine.StateConverging} {
		list, err := p.api.Resources(ctx, api.ResourceQuery{Site: name, State: string(state), Limit: unsettledOfEach})
		if err != nil {
			return p.Fail(c, err)
		}
		m.Unsettled = append(m.Unsettled, list.Items...)
	}
	conflicts, err := p.api.Conflicts(ctx, api.ConflictQuery{Site: name, Limit: unsettledOfEach})
	if err != nil {
		return p.Fail(c, err)
	}
	m.Conflicts = conflicts.Items
	f := p.frame(c, name, "sites", "/api/v1"+siteURL(name)+"/preview")
	if !site.Self {
		f.Reload = "" // asking another site again with each event would be a burden
	}
	return render(c, status, siteView(f, m))
}

// steerSite returns a handler that has do change something at the site that the address names, and goes back to its view.
func (p *Page) steerSite(do func(c echo.Context, s shape.Site) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		name, err := param(c, "name")
		if err != nil {
			return p.Fail(c, err)
		}
		site, err := p.siteNamed(c.Request().Context(), name)
		if err != nil {
			return p.Fail(c, err)
		}
		if err := do(c, site); err != nil {
			r, told := refusalOf(err)
			if !told {
				return p.Fail(c, err)
			}
			return p.showSite(c, r.Status, name, r.Detail)
		}
		return c.Redirect(http.StatusSeeOther, siteURL(name))
	}
}

// chosenDeletions are those that a form names.
func chosenDeletions(c echo.Context) api.DeletionsRequest {
	q := api.DeletionsRequest{Operations: []engine.OperationID{}}
	for _, id := range c.Request().PostForm["operation"] {
		q.Operations = append(q.Operations, engine.OperationID(id))
	}
	return q
}

func (p *Page) confirm(c echo.Context, s shape.Site) error {
	q := chosenDeletions(c)
	if len(q.Operations) == 0 {
		return nothingChosen
	}
	_, err := p.api.Confirm(c.Request().Context(), p.api.Mesh.Self(), engine.SiteID(s.PeerID), q)
	return err
}

func (p *Page) reject(c echo.Context, s shape.Site) error {
	q := chosenDeletions(c)
	if len(q.Operations) == 0 {
		return nothingChosen
	}
	v, err := p.api.Reject(c.Request().Context(), p.api.Mesh.Self(), engine.SiteID(s.PeerID), q)
	if err != nil || len(v.Refused) == 0 {
		return err
	}
	why := make([]string, len(v.Refused))
	for i, u := range v.Refused {
		why[i] = u.Reason
	}
	return &engine.Refusal{Status: http.StatusConflict, Type: "settle", Detail: fmt.Sprintf("%d were brought back, %d were not: %s", len(v.Back), len(v.Refused), strings.Join(slices.Compact(why), "; "))}
}

// nothingChosen refuses a form about several things in which none is chosen.
var nothingChosen = &engine.Refusal{Status: http.StatusBadRequest, Type: "bad-request", Detail: "nothing was chosen: nothing has happened"}

func (p *Page) resumeService(c echo.Context, s shape.Site) error {
	_, err := p.api.ResumeSite(c.Request().Context(), s.Name, p.api.Mesh.Self(), api.ResumeRequest{Service: c.FormValue("service")})
	return err
}

// takeOut returns a handler that takes the site out of the mesh for good, when its name was typed once more, and goes to the list.
func (p *Page) takeOut(do func(context.Context, engine.SiteID) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		name, err := param(c, "name")
		if err != nil {
			return p.Fail(c, err)
		}
		site, err := p.siteNamed(c.Request().Context(), name)
		if err != nil {
			return p.Fail(c, err)
		}
		if c.FormValue("name") != name {
			return p.showSite(c, http.StatusBadRequest, name, fmt.Sprintf("To take it out, type its name: %q is another. Nothing has happened.", c.FormValue("name")))
		}
		if err := do(c.Request().Context(), engine.SiteID(site.PeerID)); err != nil {
			r, told := refusalOf(err)
			if !told {
				return p.Fail(c, err)
			}
			return p.showSite(c, r.Status, name, r.Detail)
		}
		return c.Redirect(http.StatusSeeOther, "/sites")
	}
}

// heldWords says how many deletions came in, how many of them have run, and how many wait.
func heldWords(p shape.Preview) string {
	if p.Ran == 0 {
		return fmt.Sprintf("%d deletions that came in while it was away wait until somebody lets them run or brings back what they are about: they are more than it carries out unasked. Others came before them and have run, up to the limit of its configuration; how many is not known, since its agent began anew.", p.Held)
	}
	return fmt.Sprintf("%d deletions came in while it was away, more than it carries out unasked: %d have run, up to the limit of its configuration, and %d wait until somebody lets them run or brings back what they are about.", p.Held+p.Ran, p.Ran, p.Held)
}

// doing says in words what a step of a preview does at the application.
func doing(does string) string {
	switch does {
	case engine.DoesDelete:
		return "take it away"
	case engine.DoesCreate:
		return "make it"
	case engine.DoesRun:
		return "run a request as it was sent"
	case engine.DoesCorrect:
		return "set what differs"
	case engine.DoesSettle:
		return "nothing: it is there already, or void"
	case engine.DoesWait:
		return "wait for a person"
	}
	return does
}
