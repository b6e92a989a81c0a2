package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// Preview is what a site's agent is about to do at its application.
type Preview struct {
	Site string    `json:"site"`
	At   time.Time `json:"at"`
	// Waiting counts the resources with something left to do, Examined those that Steps counts by what is done.
	Waiting  int            `json:"waiting"`
	Examined int            `json:"examined"`
	Steps    map[string]int `json:"steps"`
	Held     int            `json:"held"` // deletions that wait to be confirmed
	Items    []Planned      `json:"items"`
}

// Planned is the next step of one resource.
type Planned struct {
	Resource   string   `json:"resource"`
	Service    string   `json:"service"`
	Kind       string   `json:"kind"`
	Does       string   `json:"does"`
	Operations []string `json:"operations"`
	// Set and Unset are the paths that a correction sets and removes.
	Set   []string `json:"set"`
	Unset []string `json:"unset"`
	Waits string   `json:"waits"` // why it does not happen now; empty when nothing is in its way
}

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
	return a.names().id(name)
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
func (a *API) Preview(ctx context.Context, from, site engine.SiteID, limit int) (Preview, error) {
	here, err := a.here(from, site)
	if err != nil {
		return Preview{}, err
	}
	name := a.names().of(site)
	if !here {
		target := "/sites/" + url.PathEscape(string(site)) + "/preview"
		if limit > 0 {
			target += "?limit=" + strconv.Itoa(limit)
		}
		var v Preview
		err := a.askSite(ctx, site, http.MethodGet, target, nil, &v)
		return v, err
	}
	p, err := a.Operator.Preview(ctx, from, limit)
	if err != nil {
		return Preview{}, fmt.Errorf("preview of %s: %w", name, err)
	}
	v := Preview{Site: name, At: a.Now(), Waiting: p.Waiting, Examined: p.Examined, Steps: p.Steps, Held: p.Held, Items: []Planned{}}
	for _, i := range p.Items {
		v.Items = append(v.Items, Planned{
			Resource: string(i.Resource), Service: string(i.Service), Kind: string(i.Kind), Does: i.Does,
			Operations: texts(i.Operations), Set: texts(i.Set), Unset: texts(i.Unset), Waits: i.Waits,
		})
	}
	return v, nil
}

// Confirm lets the deletions run that a site holds, as far as the site from shares their resources.
func (a *API) Confirm(ctx context.Context, from, site engine.SiteID) (Confirmed, error) {
	here, err := a.here(from, site)
	if err != nil {
		return Confirmed{}, err
	}
	name := a.names().of(site)
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

func texts[T ~string](list []T) []string {
	s := make([]string, len(list))
	for i, t := range list {
		s[i] = string(t)
	}
	return s
}
