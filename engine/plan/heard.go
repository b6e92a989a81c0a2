package plan

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Hearing is what another agent's answer to a request that was handed to it means.
type Hearing int

const (
	HeardAnswer    Hearing = iota // the request has been answered, for good
	HeardElsewhere                // nothing has happened there; another site may take it
	HeardLater                    // nothing has happened there now; it may be asked again, and so may others
	HeardNothing                  // it may have happened there: only that site may be asked again
)

// Says returns the status and the type of what an agent has refused, whether that came as an answer or as an error. The type is
// empty for any other answer.
func Says(a engine.Answer, err error) (status int, kind string) {
	var refusal *engine.Refusal
	if errors.As(err, &refusal) {
		return refusal.Status, refusal.Type
	}
	return a.Status, problemType(a)
}

// Hear reads what a Forwarder returned. Another agent's refusals arrive as problem details (RFC 9457), or as a Refusal from a
// Forwarder that needs no wire.
func Hear(a engine.Answer, err error) Hearing {
	status, kind := Says(a, err)
	var refusal *engine.Refusal
	switch {
	case errors.As(err, &refusal):
	case errors.Is(err, engine.ErrUnreachable):
		return HeardLater
	case err != nil:
		return HeardNothing
	}
	switch kind {
	case "not-replicated", "gone", "unreachable", "loop":
		return HeardElsewhere
	case "storage", "behind":
		return HeardLater
	case "in-progress": // the first try still runs there
		if status == http.StatusConflict {
			return HeardNothing
		}
	case "upstream":
		if status == http.StatusBadGateway {
			return HeardLater
		}
	}
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return HeardLater
	case status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported:
		return HeardAnswer
	case status >= 500 || status == http.StatusAccepted && a.Operation == "":
		return HeardNothing
	}
	return HeardAnswer
}

// problemType returns the last part of the type of a problem, empty for any other answer.
func problemType(a engine.Answer) string {
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json") {
		return ""
	}
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(a.Body, &p) != nil {
		return ""
	}
	kind, ok := strings.CutPrefix(p.Type, "/problems/")
	if !ok { // an application's own
		return ""
	}
	return kind
}

// Unreachable reports whether an error says that no site could be reached.
func Unreachable(err error) bool {
	var r *engine.Refusal
	return errors.Is(err, engine.ErrUnreachable) || errors.As(err, &r) && r.Type == "unreachable"
}

// Untouched reports whether it is certain that no application was asked: there was no connection to a site or to its application,
// or an agent refused before it called any.
func Untouched(a engine.Answer, err error) bool {
	var refusal *engine.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return errors.Is(err, engine.ErrUnreachable) || errors.Is(err, engine.ErrStorage)
	}
	switch status, kind := Says(a, err); kind {
	case "unreachable", "loop", "storage", "stranger", "unknown-service", "unknown-site", "catalog-mismatch", "no-replica", "rejoins", "aside":
		return true
	case "upstream":
		return status == http.StatusBadGateway
	}
	return false
}
