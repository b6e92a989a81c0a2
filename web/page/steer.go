package page

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
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
	_, err := p.api.Place(c.Request().Context(), r, p.api.Mesh.Self(), q)
	return err
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
