package web

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/auth"
)

// changesNothing are calls that only look like changes.
var changesNothing = []string{"/api/v1/scope/explain", "/compose/check"}

// audit records what somebody is about to change, and what came of it; without the first record nothing happens. What strangers try is not
// recorded. Attempts to log in that fail, and calls that are refused, are so in bounds, so that nobody can push out what is.
func (s *Server) audit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		p := auth.From(r.Context())
		login := r.Method == http.MethodPost && c.Path() == "/login"
		if reads(c) || p.Role == auth.Anyone && !login {
			return next(c)
		}
		record := audit.Record{At: s.now(), Account: p.Account, By: p.By, Token: p.Token, Role: p.Role.String(), Address: c.RealIP(),
			Method: r.Method, Path: r.URL.EscapedPath()}
		if role, _ := Need(r.Method, c.Path()); !login && p.Role >= role {
			return s.recorded(c, next, record, "")
		}
		err := next(c)
		outcome(c, err, &record)
		source := "refused to " + p.Account + " with " + p.Token
		if login {
			source, record.Account = "to log in", r.PostFormValue("name")
		}
		if record.Status < 400 {
			source = ""
		}
		if record.Status != http.StatusTooManyRequests {
			_, failed := s.note(r.Context(), source, record)
			s.unrecorded(record, failed)
		}
		return err
	}
}

// auditMembers records what the agents of other sites have this one do, in bounds.
func (s *Server) auditMembers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if reads(c) {
			return next(c)
		}
		r := c.Request()
		name, as := s.api.SiteName(engine.SiteID(r.RemoteAddr)), ""
		if call := engine.PeerCallOf(r.Method + " " + c.Path()); call != nil && call.Runs == engine.AsTheAgent {
			as = string(engine.AsAgent)
		}
		return s.recorded(c, next, audit.Record{At: s.now(), Account: name, By: audit.ByMember, Role: auth.Operator.String(), As: as, Method: r.Method,
			Path: r.URL.EscapedPath()}, "member "+name)
	}
}

// auditMesh records what has changed about who belongs to the mesh and who may what in it, whichever site has caused it, until ctx ends.
func (s *Server) auditMesh(ctx context.Context) error {
	after, err := s.api.Audit.Heard(ctx)
	if err != nil {
		return err
	}
	return s.api.Follow(ctx, after, time.Hour, func(events []engine.Event) error {
		for _, e := range events {
			if kind, what, _ := strings.Cut(e.Type, "."); kind != "zone" && kind != "authority" && (kind != "site" || slices.Contains(passing, what)) {
				continue
			}
			err := s.api.Audit.Hear(ctx, e.Seq, audit.Record{At: e.Time, By: audit.ByMember, Role: auth.Admin.String(), Method: "EVENT", Path: e.Type + " " + e.Subject, Status: http.StatusOK})
			if err != nil && ctx.Err() == nil {
				s.log.Error("record an event in the audit trail", "event", e.Type, "err", err)
			}
		}
		return nil
	})
}

// passing are events of sites that nobody has decided about.
var passing = []string{"up", "down", "held"}

// reads reports whether a call changes nothing.
func reads(c echo.Context) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, c.Request().Method) || slices.Contains(changesNothing, c.Path())
}

// recorded runs a call between the record that it is about to happen and the one of what came of it.
func (s *Server) recorded(c echo.Context, next echo.HandlerFunc, record audit.Record, source string) error {
	n, err := s.note(c.Request().Context(), source, record)
	if err != nil {
		return &engine.Refusal{Status: http.StatusInsufficientStorage, Type: "storage", Err: err,
			Detail: "this site could not write its audit trail, and nothing has happened; make room and try again"}
	}
	ctx, choice := audit.Noting(c.Request().Context())
	c.SetRequest(c.Request().WithContext(ctx))
	err = next(c)
	if n == 0 { // one of too many
		return err
	}
	record.At, record.Of, record.Choice = s.now(), n, *choice
	outcome(c, err, &record)
	_, failed := s.note(c.Request().Context(), "", record)
	s.unrecorded(record, failed)
	return err
}

// note writes a record, of a source in bounds; it returns 0 for one that is over them.
func (s *Server) note(ctx context.Context, source string, r audit.Record) (uint64, error) {
	ctx = context.WithoutCancel(ctx)
	if source != "" {
		return s.api.Audit.Paced(ctx, source, r)
	}
	r, err := s.api.Audit.Append(ctx, r)
	return r.N, err
}

func (s *Server) unrecorded(r audit.Record, err error) {
	if err != nil {
		s.log.Error("record a call in the audit trail", "method", r.Method, "path", r.Path, "err", err)
	}
}

// outcome puts into a record what a call was answered.
func outcome(c echo.Context, err error, record *audit.Record) {
	record.Status, record.Operation = c.Response().Status, operationOf(c.Response().Header())
	if err == nil {
		return
	}
	refusal := api.AsRefusal(err)
	record.Status, record.Problem = refusal.Status, refusal.Type
	if refusal.Operation != "" {
		record.Operation = string(refusal.Operation)
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
