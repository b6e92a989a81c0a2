package api

import (
	"context"
	"errors"
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
	var q DeletionsRequest
	if _, err := params(c); err != nil {
		return err
	}
	if c.Request().ContentLength != 0 {
		if err := decode(c, &q); err != nil {
			return err
		}
	}
	site, err := a.siteParam(c)
	if err != nil {
		return err
	}
	v, err := a.Confirm(c.Request().Context(), a.asker(c), site, q)
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
		v := shape.Preview{Deletions: []shape.Deletion{}}
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
	return v, a.tellDeletions(ctx, p, &v)
}

// tellDeletions fills in which deletions wait, and which have run, each with who has deleted it.
func (a *API) tellDeletions(ctx context.Context, p engine.Preview, v *shape.Preview) error {
	t := a.teller()
	tell := func(id engine.OperationID, held bool) error {
		row, err := a.Store.Operation(ctx, id)
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look up operation %s: %w", id, err)
		}
		v.Deletions = append(v.Deletions, t.Deletion(row, a.label(ctx, t, row.Document), held))
		return nil
	}
	for _, s := range p.Items {
		if s.Does != engine.DoesDelete || !s.Held {
			continue
		}
		if err := tell(s.Operations[0], true); err != nil {
			return err
		}
	}
	for _, id := range p.Ran {
		if err := tell(id, false); err != nil {
			return err
		}
	}
	return nil
}

// DeletionsRequest says which deletions are meant; nil: all that are held.
type DeletionsRequest struct {
	Operations []engine.OperationID `json:"operations"`
}

// Confirm lets the deletions run that a site holds, as far as the site from shares their resources.
func (a *API) Confirm(ctx context.Context, from, site engine.SiteID, q DeletionsRequest) (Confirmed, error) {
	here, err := a.here(from, site)
	if err != nil {
		return Confirmed{}, err
	}
	name := a.names().Of(site)
	if !here {
		var v Confirmed
		err := a.askSite(ctx, site, http.MethodPost, "/sites/"+url.PathEscape(string(site))+"/confirm", q, &v)
		return v, err
	}
	for i, id := range q.Operations {
		if row, err := a.operationFor(ctx, string(id), from); err == nil { // the beginning of it may have been given
			q.Operations[i] = row.ID
		}
	}
	by := a.decider(ctx, from)
	a.note(ctx, chosen("confirm", q.Operations), by)
	n, err := a.Operator.Confirm(ctx, by, q.Operations)
	if err != nil {
		return Confirmed{}, fmt.Errorf("confirm the deletions of %s: %w", name, err)
	}
	return Confirmed{name, n}, nil
}
