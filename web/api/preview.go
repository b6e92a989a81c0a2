package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Confirmed tells how many held deletions run now.
type Confirmed struct {
	Site      string `json:"site"`
	Confirmed int    `json:"confirmed"`
}

// siteParam reads the site that a path names.
func (a *API) siteParam(c echo.Context) (engine.SiteID, error) {
	name, err := segment(c, "name")
	if err != nil {
		return "", err
	}
	return a.names().ID(name)
}

func (a *API) getPreview(c echo.Context) error {
	q, err := params(c, "limit")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	site, err := a.siteParam(c)
	if err != nil {
		return err
	}
	v, err := a.Preview(c.Request().Context(), a.asker(c), site, n)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) postConfirm(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	site, err := a.siteParam(c)
	if err != nil {
		return err
	}
	v, err := a.Confirm(c.Request().Context(), a.asker(c), site)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// Preview asks a site for what it is about to do, for the site from: of resources that the two share. At most limit
// steps are listed (0: 100).
func (a *API) Preview(ctx context.Context, from, site engine.SiteID, limit int) (shape.Preview, error) {
	here, err := a.here(from, site)
	if err != nil {
		return shape.Preview{}, err
	}
	name := a.names().Of(site)
	if !here {
		target := "/sites/" + url.PathEscape(string(site)) + "/preview"
		if limit > 0 {
			target += "?limit=" + strconv.Itoa(limit)
		}
		var v shape.Preview
		err := a.askSite(ctx, site, http.MethodGet, target, nil, &v)
		return v, err
	}
	p, err := a.Operator.Preview(ctx, from, limit)
	if err != nil {
		return shape.Preview{}, fmt.Errorf("preview of %s: %w", name, err)
	}
	v := shape.PreviewOf(name, a.Now(), p)
	for i, s := range p.Items {
		rows, _, err := a.Store.Resources(ctx, engine.ResourceFilter{ID: s.Resource, Service: s.Service, Kind: s.Kind, Limit: 1})
		if err != nil {
			return v, fmt.Errorf("look up resource %s: %w", s.Resource, err)
		}
		if len(rows) > 0 {
			v.Items[i].Label = rows[0].Label
		}
	}
	return v, nil
}

// Confirm lets the deletions run that a site holds, as far as the site from shares their resources.
func (a *API) Confirm(ctx context.Context, from, site engine.SiteID) (Confirmed, error) {
	here, err := a.here(from, site)
	if err != nil {
		return Confirmed{}, err
	}
	name := a.names().Of(site)
	if !here {
		var v Confirmed
		err := a.askSite(ctx, site, http.MethodPost, "/sites/"+url.PathEscape(string(site))+"/confirm", nil, &v)
		return v, err
	}
	n, err := a.Operator.Confirm(ctx, from)
	if err != nil {
		return Confirmed{}, fmt.Errorf("confirm the deletions of %s: %w", name, err)
	}
	return Confirmed{name, n}, nil
}
