package request

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

// Answer gives the client what became of its operation.
func (h *Front) Answer(q *Request, a engine.Answer) {
	header := q.W.Header()
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
		header.Set("Location", q.Prefixed(location, q.Host, h.Upstream.Host))
	}
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	set("Skerry-Resource", string(a.Resource))
	// A change at one site is no operation that anyone could look up once it is answered.
	if a.Resource != "" || a.Status == http.StatusAccepted || q.From != "" {
		set("Skerry-Operation", string(a.Operation))
	}
	if a.Site != "" {
		header.Set("Skerry-Site", h.Name(a.Site))
	}
	for _, name := range []string{"Skerry-Missing", "Skerry-Pending", engine.HeaderAfter} {
		set(name, a.Header.Get(name))
	}
	if q.From != "" {
		set(engine.HeaderSettled, a.Header.Get(engine.HeaderSettled))
	}
	q.Warn(header)
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
	q.W.WriteHeader(a.Status)
	if a.Content != nil {
		if _, err := io.Copy(q.W, a.Content); err != nil {
			panic(http.ErrAbortHandler) // so that nobody takes a part for the whole
		}
		return
	}
	_, _ = q.W.Write(a.Body) // a client that has gone needs no answer
}

// Refuse answers with a problem of the agent's own.
func (h *Front) Refuse(q *Request, status int, typ, format string, args ...any) {
	h.Answered(q)
	problem.Write(q.W, status, typ, fmt.Sprintf(format, args...), nil)
}

// Answered clears what was set for an answer of the application, and says which site refuses.
func (h *Front) Answered(q *Request) {
	delete(q.W.Header(), "Date")
	q.W.Header().Set("Skerry-Site", h.Name(h.Membership.Self()))
}

// RefuseTooLarge answers a request with a body over a limit.
func (h *Front) RefuseTooLarge(q *Request, limit int64) {
	q.W.Header().Set("Connection", "close") // the rest of the body is not waited for
	if limit >= h.Limits.Body {
		h.Refuse(q, http.StatusRequestEntityTooLarge, "too-large",
			"the body is over %d bytes, the limit of this site for one request\nhelp: send less, or raise limits.body in the configuration of the site", limit)
		return
	}
	h.Refuse(q, http.StatusRequestEntityTooLarge, "too-large",
		"the body is over %d bytes, the most of a JSON document that is kept equal between sites field by field; nothing has happened\nhelp: send less, or what is large as a body of another media type", limit)
}

// RefuseError answers with what an error of the engine means.
func (h *Front) RefuseError(q *Request, err error) {
	var r *engine.Refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &r):
	case errors.As(err, &tooLarge), errors.Is(err, engine.ErrIncomplete), errors.Is(err, ErrSlow), errors.Is(err, ErrBusy):
		h.RefuseBody(q, err)
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
		h.Log.ErrorContext(q.Context(), "request refused", "method", q.Method, "path", q.Path, "operation", r.Operation, "err", err)
	}
	var extra map[string]any
	if r.Operation != "" {
		q.W.Header().Set("Skerry-Operation", string(r.Operation))
		extra = map[string]any{"operation": r.Operation}
	}
	h.Answered(q)
	problem.Write(q.W, r.Status, r.Type, r.Detail, extra)
}

// RefuseBody answers a request whose body could not be read.
func (h *Front) RefuseBody(q *Request, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		h.RefuseTooLarge(q, tooLarge.Limit)
		return
	}
	switch {
	case errors.Is(err, ErrSlow):
		q.W.Header().Set("Connection", "close")
		h.Refuse(q, http.StatusRequestTimeout, "slow", "the body came in too slowly: nothing has happened")
		return
	case errors.Is(err, ErrBusy):
		q.W.Header().Set("Retry-After", "5")
		q.W.Header().Set("Connection", "close")
		h.Refuse(q, http.StatusServiceUnavailable, "busy", "this site holds as many bodies as it may: nothing has happened, try again later")
		return
	}
	h.Refuse(q, http.StatusBadRequest, "body", "the body ended early or is malformed: nothing has happened")
}

// Warn puts what the client is to know into the head of its answer: as HTTP has it, which kubectl shows, and where the scope does not name the
// service as a header of our own, since what is not what was meant must not be overlooked.
func (q *Request) Warn(header http.Header) {
	for _, w := range q.Warnings {
		header.Add("Warning", w)
	}
	if q.Unnamed != "" {
		header.Set("Skerry-Warning", q.Unnamed)
	}
}
