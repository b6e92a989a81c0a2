package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Most calls differ in what they do and not in how they are read and answered.

// told answers with what get returns.
func told[V any](get func(context.Context) (V, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := params(c); err != nil {
			return err
		}
		v, err := get(c.Request().Context())
		if err != nil {
			return err
		}
		return answer(c, http.StatusOK, v)
	}
}

// posted answers with what do makes of the body.
func posted[R, V any](status int, do func(context.Context, R) (V, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := params(c); err != nil {
			return err
		}
		var r R
		if err := decode(c, &r); err != nil {
			return err
		}
		v, err := do(c.Request().Context(), r)
		if err != nil {
			return err
		}
		return answer(c, status, v)
	}
}

// removed takes away what the last part of the path names.
func removed(param string, do func(ctx context.Context, name string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := params(c); err != nil {
			return err
		}
		name, err := segment(c, param)
		if err != nil {
			return err
		}
		if err := do(c.Request().Context(), name); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}
}

// logged answers with a page of something that is numbered, newest first: what came before a number, at most so many.
func logged[V any](list func(ctx context.Context, before uint64, limit int) (V, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		before, n, err := logPage(c)
		if err != nil {
			return err
		}
		v, err := list(c.Request().Context(), before, n)
		if err != nil {
			return err
		}
		return answer(c, http.StatusOK, v)
	}
}

// logPage reads which page of something that is numbered is asked for.
func logPage(c echo.Context) (before uint64, n int, err error) {
	q, err := params(c, "before", "limit")
	if err != nil {
		return 0, 0, err
	}
	if n, err = limit(q); err != nil {
		return 0, 0, err
	}
	before, err = ParseBefore(q.Get("before"))
	return before, n, err
}
