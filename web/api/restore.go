package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// RestoreRequest says which lost value is to be set again.
type RestoreRequest struct {
	Path string `json:"path"`
	// From is the operation that had set it; empty where only one value was lost there.
	From string `json:"from,omitempty"`
}

// Restored is the operation that sets the value again.
type Restored struct {
	Operation string `json:"operation"`
}

func (a *API) postRestore(c echo.Context, ref ResourceRef, r RestoreRequest) (Restored, error) {
	return a.Restore(c.Request().Context(), ref, a.asker(c), r, c.Request().Header.Get("Authorization"))
}

// Restore sets a value again that a concurrent, later operation took the place of, at this site or, where this site has no
// replica, at one that has. Authorization goes to the application; empty: the agent's own credentials do.
func (a *API) Restore(ctx context.Context, ref ResourceRef, from engine.SiteID, r RestoreRequest, authorization string) (Restored, error) {
	path, err := engine.ParsePointer(r.Path)
	if err != nil || path == "" {
		return Restored{}, badRequest("path is %q: give a JSON pointer to a field, such as /name", r.Path)
	}
	row, err := a.row(ctx, ref)
	if err != nil {
		return Restored{}, err
	}
	if row.Local == "" && from == a.Mesh.Self() {
		return a.restoreElsewhere(ctx, row, r)
	}
	q := engine.RestoreRequest{Path: path, From: engine.OperationID(r.From)}
	if authorization != "" {
		q.Credentials = &engine.Credentials{Header: http.Header{"Authorization": {authorization}}}
	}
	got, err := a.Operator.Restore(ctx, row.Document, q)
	if err != nil {
		return Restored{}, fmt.Errorf("restore a value of %s: %w", ref.ID, err)
	}
	if got.Status >= 300 {
		return Restored{}, refuse(http.StatusConflict, "restore", "the application refuses the value with status %d: %.200s; nothing has happened", got.Status, got.Body)
	}
	return Restored{string(got.Operation)}, nil
}

// restoreElsewhere has the first site that can be reached do it.
func (a *API) restoreElsewhere(ctx context.Context, row engine.ResourceRow, r RestoreRequest) (Restored, error) {
	status := a.Network.Status()
	for site := range row.Sites {
		if site == a.Mesh.Self() || !status[site].Reachable {
			continue
		}
		var v Restored
		err := a.steerElsewhere(ctx, site, row, "restore", r, &v)
		return v, err
	}
	return Restored{}, refuse(http.StatusServiceUnavailable, "unreachable", "no site that has %s can be reached; nothing has happened", row.ID)
}
