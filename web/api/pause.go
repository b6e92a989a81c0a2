package api

import (
	"context"
	"fmt"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// PauseVerbs let a site leave its replica of a resource as it is, and end that.
var PauseVerbs = []string{"pause", "resume"}

// PauseRequest says at which site, and, for a pause, why.
type PauseRequest struct {
	Site   string `json:"site"`
	Reason string `json:"reason,omitempty"`
}

func (a *API) postPause(verb string) func(c echo.Context, ref ResourceRef, r PauseRequest) (shape.Resource, error) {
	return func(c echo.Context, ref ResourceRef, r PauseRequest) (shape.Resource, error) {
		return a.SetPause(c.Request().Context(), ref, a.asker(c), verb, r)
	}
}

// SetPause applies one of PauseVerbs at the site that r names, for the site from, and returns the resource as that site
// shows it then.
func (a *API) SetPause(ctx context.Context, ref ResourceRef, from engine.SiteID, verb string, r PauseRequest) (shape.Resource, error) {
	at, err := a.replicaAt(ctx, ref, from, r.Site)
	if err != nil {
		return shape.Resource{}, err
	}
	if !at.here {
		var v shape.Resource
		r.Site = string(at.site) // the name may not have come round yet
		err := a.steerElsewhere(ctx, at.site, at.row, verb, r, &v)
		return v, err
	}
	row := at.row
	if verb == "pause" {
		err = a.Operator.Pause(ctx, row.Document, from, r.Reason)
	} else {
		err = a.Operator.Resume(ctx, row.Document)
	}
	if err != nil {
		return shape.Resource{}, fmt.Errorf("%s %s: %w", verb, ref.ID, err)
	}
	return a.Resource(ctx, ResourceRef{string(row.ID), string(row.Service), string(row.Kind)})
}
