package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// KeepRequest says which site's replica all are to show. Force repairs again what repairs have not helped for.
type KeepRequest struct {
	Site  string `json:"site"`
	Force bool   `json:"force,omitempty"`
}

// Kept is the operation that corrects the other sites.
type Kept struct {
	Operation string `json:"operation"`
}

func (a *API) postKeep(c echo.Context) error {
	ref, err := resourceRef(c)
	if err != nil {
		return err
	}
	var r KeepRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.Keep(c.Request().Context(), ref, a.asker(c), r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusAccepted, v)
}

// Keep makes what the application of the site that r names shows what all sites show, for the site from.
func (a *API) Keep(ctx context.Context, ref ResourceRef, from engine.SiteID, r KeepRequest) (Kept, error) {
	row, err := a.row(ctx, ref)
	if err != nil {
		return Kept{}, err
	}
	if _, ok := row.Sites[from]; !ok {
		return Kept{}, refuse(http.StatusNotFound, "not-found", "no resource %q is shared with that site", ref.ID)
	}
	n := a.names()
	if r.Site == "" {
		return Kept{}, badRequest("site is missing: name the site whose replica is to be kept")
	}
	site, err := n.id(r.Site)
	if err != nil {
		return Kept{}, err
	}
	if _, ok := row.Sites[site]; !ok {
		return Kept{}, refuse(http.StatusUnprocessableEntity, "scope-type", "%s %s has no replica at %s", row.Kind, row.ID, n.of(site))
	}
	here, err := a.here(from, site)
	if err != nil {
		return Kept{}, err
	}
	if !here {
		var v Kept
		target := "/resources/" + url.PathEscape(string(row.ID)) + "/keep?" +
			url.Values{"service": {string(row.Service)}, "kind": {string(row.Kind)}}.Encode()
		r.Site = string(site) // the name may not have come round yet
		err := a.askSite(ctx, site, http.MethodPost, target, r, &v)
		return v, err
	}
	id, err := a.Operator.Keep(ctx, row.Document, "", r.Force)
	if err != nil {
		return Kept{}, fmt.Errorf("keep %s: %w", ref.ID, err)
	}
	return Kept{string(id)}, nil
}
