package api

import (
	"context"
	"fmt"

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

func (a *API) postKeep(c echo.Context, ref ResourceRef, r KeepRequest) (Kept, error) {
	return a.Keep(c.Request().Context(), ref, a.asker(c), r)
}

// Keep makes what the application of the site that r names shows what all sites show, for the site from.
func (a *API) Keep(ctx context.Context, ref ResourceRef, from engine.SiteID, r KeepRequest) (Kept, error) {
	at, err := a.replicaAt(ctx, ref, from, r.Site)
	if err != nil {
		return Kept{}, err
	}
	by := a.decider(ctx, from)
	a.note(ctx, "keep "+a.names().Of(at.site), by)
	if !at.here {
		var v Kept
		r.Site = string(at.site) // the name may not have come round yet
		err := a.steerElsewhere(ctx, at.site, at.row, "keep", r, &v)
		return v, err
	}
	id, err := a.Operator.Keep(ctx, at.row.Document, by, r.Force)
	if err != nil {
		return Kept{}, fmt.Errorf("keep %s: %w", ref.ID, err)
	}
	return Kept{string(id)}, nil
}
