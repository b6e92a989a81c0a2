package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// queues tells of all services of this site; of another, of those that do not let its agent in.
func (a *API) queues(m engine.Member) map[string]shape.Queue {
	all := m.Queues
	if m.ID == a.Mesh.Self() {
		all = a.Operator.Queues()
	}
	return shape.QueuesOf(all)
}

// ResumeRequest says which service of a site is to be tried again.
type ResumeRequest struct {
	Service string `json:"service,omitempty"` // empty: all of them
}

func (a *API) postResumeSite(c echo.Context) error {
	var r ResumeRequest
	if _, err := params(c); err != nil {
		return err
	}
	name, err := segment(c, "name")
	if err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.ResumeSite(c.Request().Context(), name, a.asker(c), r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// ResumeSite has a site try services of its application again that fail or do not let its agent in, at once and with one
// request each, for the site from. It returns the site as it shows itself then.
func (a *API) ResumeSite(ctx context.Context, name string, from engine.SiteID, r ResumeRequest) (shape.Site, error) {
	id, err := a.names().ID(name)
	if err != nil {
		return shape.Site{}, err
	}
	here, err := a.here(from, id)
	if err != nil {
		return shape.Site{}, err
	}
	if !here {
		var v shape.Site
		err := a.askSite(ctx, id, http.MethodPost, "/sites/"+url.PathEscape(string(id))+"/resume", r, &v)
		v.Self = false // it is that site's own view
		return v, err
	}
	if err := a.Operator.ResumeQueue(engine.ServiceName(r.Service)); errors.Is(err, engine.ErrNotFound) {
		return shape.Site{}, refuse(http.StatusUnprocessableEntity, "unknown-service", "%s has no service %q", a.names().Of(id), r.Service)
	} else if err != nil {
		return shape.Site{}, err
	}
	return a.Sites()[0], nil
}
