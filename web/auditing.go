package web

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/auth"
)

// changesNothing are calls that only look like changes.
var changesNothing = []string{"/api/v1/scope/explain", "/compose/check"}

// audit records what somebody has changed, or was refused to. What strangers try is not recorded, so that they cannot push out what
// is; attempts to log in are, which are slowed down.
func (s *Server) audit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		r := c.Request()
		p := auth.From(r.Context())
		login := r.Method == http.MethodPost && c.Path() == "/login"
		if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method) || slices.Contains(changesNothing, c.Path()) ||
			p.Role == auth.Anyone && !login {
			return err
		}
		record := audit.Record{
			At: s.now(), Account: p.Account, By: p.By, Token: p.Token, Role: p.Role.String(), Address: c.RealIP(),
			Method: r.Method, Path: r.URL.EscapedPath(), Status: c.Response().Status, Operation: operationOf(c.Response().Header()),
		}
		if err != nil {
			refusal := api.AsRefusal(err)
			record.Status, record.Problem = refusal.Status, refusal.Type
			if refusal.Operation != "" {
				record.Operation = string(refusal.Operation)
			}
		}
		if login {
			if record.Status == http.StatusTooManyRequests {
				return err
			}
			record.Account = r.PostFormValue("name")
		}
		if _, failed := s.api.Audit.Append(context.WithoutCancel(r.Context()), record); failed != nil {
			s.log.Error("record a call in the audit trail", "method", record.Method, "path", record.Path, "err", failed)
		}
		return err
	}
}

// operationOf returns the operation that an answer tells of, empty without one.
func operationOf(h http.Header) string {
	if id := h.Get("Skerry-Operation"); id != "" {
		return id
	}
	if l := h.Get("Location"); strings.Contains(l, "/operations/") {
		return path.Base(l)
	}
	return ""
}
