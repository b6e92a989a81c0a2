package engine

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// hearing is what another agent's answer to a request that was handed to it means.
type hearing int

const (
	heardAnswer    hearing = iota // the request has been answered, for good
	heardElsewhere                // nothing has happened there; another site may take it
	heardLater                    // nothing has happened there now; it may be asked again, and so may others
	heardNothing                  // it may have happened there: only that site may be asked again
)

// hear reads what a Forwarder returned. Another agent's refusals arrive as problem details (RFC 9457), or as a Refusal
// from a Forwarder that needs no wire.
func hear(a Answer, err error) hearing {
	status, kind := a.Status, problemType(a)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		status, kind = refusal.Status, refusal.Type
	case errors.Is(err, ErrUnreachable):
		return heardLater
	case err != nil:
		return heardNothing
	}
	switch kind {
	case "not-replicated", "gone", "unreachable", "loop":
		return heardElsewhere
	case "storage":
		return heardLater
	case "in-progress": // the first try still runs there
		if status == http.StatusConflict {
			return heardNothing
		}
	case "upstream":
		if status == http.StatusBadGateway {
			return heardLater
		}
	}
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return heardLater
	case status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported:
		return heardAnswer
	case status >= 500 || status == http.StatusAccepted && a.Operation == "":
		return heardNothing
	}
	return heardAnswer
}

// problemType returns the last part of the type of a problem, empty for any other answer.
func problemType(a Answer) string {
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
	if !ok {
		return ""
	}
	return kind
}
