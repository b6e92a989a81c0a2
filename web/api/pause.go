package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// PauseVerbs let a site leave its replica of a resource as it is, and end that.
var PauseVerbs = []string{"pause", "resume"}

// PauseRequest says at which site, and, for a pause, why.
type PauseRequest struct {
	Site   string `json:"site"`
	Reason string `json:"reason,omitempty"`
}

// Pause is why a replica is left as it is.
type Pause struct {
	By     string    `json:"by"` // the site where it was asked for
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

func pauseOf(p *engine.Pause) *Pause {
	if p == nil {
		return nil
	}
	return &Pause{string(p.By), p.At, p.Reason}
}

func (a *API) postPause(c echo.Context, verb string) error {
	ref, err := resourceRef(c)
	if err != nil {
		return err
	}
	var r PauseRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.SetPause(c.Request().Context(), ref, a.asker(c), verb, r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// SetPause applies one of PauseVerbs at the site that r names, for the site from, and returns the resource as that site
// shows it then.
func (a *API) SetPause(ctx context.Context, ref ResourceRef, from engine.SiteID, verb string, r PauseRequest) (Resource, error) {
	row, err := a.row(ctx, ref)
	if err != nil {
		return Resource{}, err
	}
	if _, ok := row.Sites[from]; !ok {
		return Resource{}, refuse(http.StatusNotFound, "not-found", "no resource %q is shared with that site", ref.ID)
	}
	n := a.names()
	if r.Site == "" {
		return Resource{}, badRequest("site is missing: name the site whose replica is meant")
	}
	site, err := n.id(r.Site)
	if err != nil {
		return Resource{}, err
	}
	if _, ok := row.Sites[site]; !ok {
		return Resource{}, refuse(http.StatusUnprocessableEntity, "scope-type", "%s %s has no replica at %s", row.Kind, row.ID, n.of(site))
	}
	here, err := a.here(from, site)
	if err != nil {
		return Resource{}, err
	}
	if !here {
		var v Resource
		target := "/resources/" + url.PathEscape(string(row.ID)) + "/" + verb + "?" +
			url.Values{"service": {string(row.Service)}, "kind": {string(row.Kind)}}.Encode()
		r.Site = string(site) // the name may not have come round yet
		err := a.askSite(ctx, site, http.MethodPost, target, r, &v)
		return v, err
	}
	if verb == "pause" {
		err = a.Operator.Pause(ctx, row.Document, from, r.Reason)
	} else {
		err = a.Operator.Resume(ctx, row.Document)
	}
	if err != nil {
		return Resource{}, fmt.Errorf("%s %s: %w", verb, ref.ID, err)
	}
	return a.Resource(ctx, ResourceRef{string(row.ID), string(row.Service), string(row.Kind)})
}
