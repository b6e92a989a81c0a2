package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/shape"
)

func (a *API) postCheck(c echo.Context) error {
	ref, err := resourceRef(c)
	if err != nil {
		return err
	}
	v, err := a.Check(c.Request().Context(), ref)
	if err != nil {
		return err
	}
	return answer(c, http.StatusAccepted, v)
}

// Check has every site of a resource look at what its application shows, as soon as it hears of it, and returns the resource
// as it is known before.
func (a *API) Check(ctx context.Context, ref ResourceRef) (shape.Resource, error) {
	row, err := a.row(ctx, ref)
	if err != nil {
		return shape.Resource{}, err
	}
	if err := a.Operator.Check(ctx, row.Document); err != nil {
		return shape.Resource{}, fmt.Errorf("check %s: %w", ref.ID, err)
	}
	return a.names().Resource(row), nil
}
