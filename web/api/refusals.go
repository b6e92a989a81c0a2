package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/problem"
)

func refuse(status int, typ, format string, args ...any) *engine.Refusal {
	return &engine.Refusal{Status: status, Type: typ, Detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *engine.Refusal {
	return refuse(http.StatusBadRequest, "bad-request", format, args...)
}

// AsRefusal gives err the form that a client gets. What is nobody's fault but ours keeps its words for the log.
func AsRefusal(err error) *engine.Refusal {
	var r *engine.Refusal
	var h *echo.HTTPError
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, engine.ErrNotFound):
		return &engine.Refusal{Status: http.StatusNotFound, Type: "not-found", Detail: "there is no such thing at this site", Err: err}
	case errors.Is(err, engine.ErrRefused):
		detail := err.Error() // what comes before the sentinel is for the log
		if _, why, ok := strings.Cut(detail, engine.ErrRefused.Error()+": "); ok {
			detail = why
		}
		return &engine.Refusal{Status: http.StatusBadRequest, Type: "bad-request", Detail: detail, Err: err}
	case errors.Is(err, engine.ErrTooLarge):
		return &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Detail: err.Error(), Err: err}
	case errors.Is(err, engine.ErrStorage):
		return &engine.Refusal{Status: http.StatusInsufficientStorage, Type: "storage",
			Detail: "this site could not write to its disk, and nothing has happened; make room and try again", Err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Detail: "no answer in time", Err: err}
	case errors.As(err, &h):
		return fromEcho(h)
	}
	return &engine.Refusal{Status: http.StatusInternalServerError, Type: "internal",
		Detail: "the agent made a mistake; its log says more", Err: err}
}

func fromEcho(h *echo.HTTPError) *engine.Refusal {
	switch h.Code {
	case http.StatusNotFound:
		return refuse(h.Code, "not-found", "there is nothing at this address; /openapi.yaml lists the calls")
	case http.StatusMethodNotAllowed:
		return refuse(h.Code, "method", "this address does not take that method; /openapi.yaml lists the calls")
	}
	return &engine.Refusal{Status: h.Code, Type: "bad-request", Detail: fmt.Sprint(h.Message), Err: h}
}

// WriteRefusal answers with err as a problem and logs it when it is ours.
func (a *API) WriteRefusal(w http.ResponseWriter, r *http.Request, err error) {
	p := AsRefusal(err)
	if p.Status >= 500 && p.Err != nil && r.Context().Err() == nil {
		a.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", p.Err)
	}
	extra := map[string]any{}
	if p.Operation != "" {
		extra["operation"] = string(p.Operation)
		w.Header().Set("Skerry-Operation", string(p.Operation))
	}
	var am *ambiguous
	if errors.As(err, &am) {
		extra["candidates"] = am.candidates
	}
	problem.Write(w, p.Status, p.Type, p.Detail, extra)
}
