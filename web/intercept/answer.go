package intercept

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/problem"
)

// answer gives the client what became of its operation.
func (h *front) answer(q *request, a engine.Answer) {
	header := q.w.Header()
	header["Date"], header["Content-Type"] = nil, nil
	from := http.Header{}
	maps.Copy(from, a.Header)
	glue.RemoveHopByHop(from)
	for name, values := range from {
		if name == "Content-Length" || strings.HasPrefix(name, "Skerry-") {
			continue
		}
		header[name] = append([]string(nil), values...)
	}
	if location := header.Get("Location"); location != "" {
		header.Set("Location", q.prefixed(location, q.Host, h.upstream.Host))
	}
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	set("Skerry-Resource", string(a.Resource))
	// A change at one site is no operation that anyone could look up once it is answered.
	if a.Resource != "" || a.Status == http.StatusAccepted || q.from != "" {
		set("Skerry-Operation", string(a.Operation))
	}
	if a.Site != "" {
		header.Set("Skerry-Site", h.name(a.Site))
	}
	for _, name := range []string{"Skerry-Missing", "Skerry-Pending"} {
		set(name, a.Header.Get(name))
	}
	if q.from != "" {
		set(engine.HeaderSettled, a.Header.Get(engine.HeaderSettled))
	}
	for _, w := range q.warnings {
		header.Add("Warning", w)
	}
	if a.Status == http.StatusAccepted && a.Operation != "" {
		header.Set("Location", strings.TrimSuffix(h.API, "/")+"/api/v1/operations/"+string(a.Operation))
	}
	length := int64(len(a.Body))
	if a.Content != nil {
		defer a.Content.Close()
		length = a.Length
	}
	if length >= 0 && a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		header.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	q.w.WriteHeader(a.Status)
	if a.Content != nil {
		if _, err := io.Copy(q.w, a.Content); err != nil {
			panic(http.ErrAbortHandler) // so that nobody takes a part for the whole
		}
		return
	}
	_, _ = q.w.Write(a.Body) // a client that has gone needs no answer
}

// refuse answers with a problem of the agent's own.
func (h *front) refuse(q *request, status int, typ, format string, args ...any) {
	h.answered(q)
	problem.Write(q.w, status, typ, fmt.Sprintf(format, args...), nil)
}

// answered clears what was set for an answer of the application, and says which site refuses.
func (h *front) answered(q *request) {
	delete(q.w.Header(), "Date")
	q.w.Header().Set("Skerry-Site", h.name(h.Membership.Self()))
}

func (h *front) refuseTooLarge(q *request, limit int64) {
	q.w.Header().Set("Connection", "close") // the rest of the body is not waited for
	if limit >= h.Limits.Body {
		h.refuse(q, http.StatusRequestEntityTooLarge, "too-large",
			"the body is over %d bytes, the limit of this site for one request\nhelp: send less, or raise limits.body in the configuration of the site", limit)
		return
	}
	h.refuse(q, http.StatusRequestEntityTooLarge, "too-large",
		"the body is over %d bytes, the most of a JSON document that is kept equal between sites field by field; nothing has happened\nhelp: send less, or what is large as a body of another media type", limit)
}

// refuseError answers with what an error of the engine means.
func (h *front) refuseError(q *request, err error) {
	var r *engine.Refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &r):
	case errors.As(err, &tooLarge), errors.Is(err, engine.ErrIncomplete):
		h.refuseBody(q, err)
		return
	case q.Context().Err() != nil: // the client has gone, or had set itself a limit
		r = &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Detail: "no answer came in time"}
	case errors.Is(err, engine.ErrStorage):
		r = &engine.Refusal{Status: http.StatusInsufficientStorage, Type: "storage", Detail: "this site could not write to its disk, and nothing has happened; make room and try again"}
	case errors.Is(err, engine.ErrTooLarge):
		r = &engine.Refusal{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Detail: "the operation is too large to be kept equal between sites; nothing has happened"}
	case errors.Is(err, engine.ErrUnreachable):
		r = &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable", Detail: "no site of the scope can be reached now; nothing has happened"}
	default:
		r = &engine.Refusal{Status: http.StatusInternalServerError, Type: "internal", Detail: "the agent made a mistake; its log says more"}
	}
	if r.Status >= 500 {
		h.Log.Error("request refused", "method", q.Method, "path", q.path, "operation", r.Operation, "err", err)
	}
	var extra map[string]any
	if r.Operation != "" {
		q.w.Header().Set("Skerry-Operation", string(r.Operation))
		extra = map[string]any{"operation": r.Operation}
	}
	h.answered(q)
	problem.Write(q.w, r.Status, r.Type, r.Detail, extra)
}

// refuseBody answers a request whose body could not be read.
func (h *front) refuseBody(q *request, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		h.refuseTooLarge(q, tooLarge.Limit)
		return
	}
	h.refuse(q, http.StatusBadRequest, "body", "the body ended early or is malformed: nothing has happened")
}
