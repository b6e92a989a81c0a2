package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/shape"
)

// ZoneRequest gives a zone its sites.
type ZoneRequest struct {
	Sites []string `json:"sites"` // names or keys
}

// Zones lists the zones by name.
func (a *API) Zones() []shape.Zone {
	n, list := a.names(), []shape.Zone{}
	for _, z := range a.Mesh.Zones() {
		list = append(list, n.Zone(z))
	}
	return list
}

// SetZone makes a zone or gives it other sites.
func (a *API) SetZone(ctx context.Context, name string, r ZoneRequest) (shape.Zone, error) {
	if !scope.Name(name) {
		return shape.Zone{}, badRequest("%q cannot be the name of a zone: a scope would read it as something else", name)
	}
	n, sites := a.names(), []engine.SiteID{}
	for _, s := range r.Sites {
		id, err := n.ID(s)
		if err != nil {
			return shape.Zone{}, err
		}
		if id == "" {
			return shape.Zone{}, badRequest("a site of the zone has no name")
		}
		sites = append(sites, id)
	}
	if err := a.Mesh.SetZone(ctx, engine.ZoneName(name), sites); err != nil {
		return shape.Zone{}, err
	}
	for _, z := range a.Mesh.Zones() {
		if string(z.Name) == name {
			return n.Zone(z), nil
		}
	}
	return shape.Zone{}, engine.ErrNotFound
}

func (a *API) getZones(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.Zones())
}

func (a *API) putZone(c echo.Context) error {
	var r ZoneRequest
	name, err := zoneName(c)
	if err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.SetZone(c.Request().Context(), name, r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) removeZone(ctx context.Context, name string) error {
	return a.Mesh.DeleteZone(ctx, engine.ZoneName(name))
}

func zoneName(c echo.Context) (string, error) {
	if _, err := params(c); err != nil {
		return "", err
	}
	return segment(c, "name")
}
