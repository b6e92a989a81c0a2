package lab

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxBody is the most bytes that a JSON body may have. Files have no limit.
const maxBody = 1 << 20

// reply is an answer before it is written, as it is remembered for an Idempotency-Key.
type reply struct {
	Status   int             `json:"status"`
	ETag     string          `json:"etag,omitempty"`
	Location string          `json:"location,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
}

func refuse(status int, detail string) reply {
	b, _ := json.Marshal(map[string]string{"error": detail}) // a map of strings always encodes
	return reply{Status: status, Body: b}
}

func (p *problem) reply() reply { return refuse(p.status, p.detail) }

func (a reply) write(w http.ResponseWriter) {
	if a.ETag != "" {
		w.Header().Set("ETag", a.ETag)
	}
	if a.Location != "" {
		w.Header().Set("Location", a.Location)
	}
	if a.Body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a client that has gone is no concern of ours
}

// readBody reads a JSON body whole.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, &problem{http.StatusRequestEntityTooLarge, "the body is over 1 MiB"}
	}
	if err != nil {
		return nil, &problem{http.StatusBadRequest, "the body ended early"}
	}
	return b, nil
}

// object decodes a JSON object; numbers keep the form they were sent in.
func object(b []byte) (map[string]any, *problem) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil || m == nil || d.More() {
		return nil, &problem{http.StatusBadRequest, "the body is not one JSON object"}
	}
	return m, nil
}
