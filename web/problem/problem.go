// Package problem writes the agent's own refusals as problem details for HTTP APIs (RFC 9457). The REST API and
// the interception of requests share it, so that a client meets one form only.
package problem

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
)

// MediaType is the media type of what Write writes.
const MediaType = "application/problem+json"

// Prefix comes before the last part of every problem's type. It is a relative reference: the types belong to the
// program, not to a host.
const Prefix = "/problems/"

// Write answers with a problem. Type is the last part of its type, such as "scope-syntax"; detail is for
// people and says what to do. Extra members, such as "position" or "operation", are added unless they would hide
// one of the members that RFC 9457 defines.
func Write(w http.ResponseWriter, status int, typ, detail string, extra map[string]any) {
	p := make(map[string]any, len(extra)+4)
	maps.Copy(p, extra)
	p["type"] = Prefix + typ
	p["title"] = http.StatusText(status)
	p["status"] = status
	p["detail"] = detail
	b, err := encode(p)
	if err != nil { // an extra member that JSON cannot hold: the rest still tells the story
		b, _ = encode(map[string]any{"type": Prefix + typ, "title": http.StatusText(status), "status": status, "detail": detail})
	}
	h := w.Header()
	h.Set("Content-Type", MediaType)
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// encode writes a problem on one line. A scope's & stays readable: nothing here becomes part of an HTML page.
func encode(p map[string]any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(p)
	return b.Bytes(), err
}
