package request

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// content are the headers that describe a body and travel with an operation.
var content = []string{"Content-Type", "Content-Language", "Content-Encoding"}

// ContentHeaders returns those that describe a body.
func ContentHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range content {
		if v := h.Get(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// Credentials returns the caller's own headers for the application where the operation runs first: all of them but
// those of the connection, of the body and of the agents. It is never nil: a caller who has shown nothing does not act as the
// agent.
func (q *Request) Credentials() *engine.Credentials {
	h := q.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	q.Strip(h)
	glue.StripAgent(h)
	glue.RemoveHopByHop(h)
	for _, name := range slices.Concat(content, []string{"Content-Length", "Expect", "Prefer", "Idempotency-Key", "Accept-Encoding", "X-Forwarded-Prefix"}) {
		h.Del(name)
	}
	return &engine.Credentials{Header: h}
}

// Who returns the name of the user who asks, as far as the request tells it.
func (q *Request) Who() string {
	user := q.User
	if name, _, ok := q.BasicAuth(); user == "" && ok {
		user = name
	}
	if user == "" && q.TLS != nil && len(q.TLS.PeerCertificates) > 0 {
		user = q.TLS.PeerCertificates[0].Subject.CommonName
	}
	return Printable(user)
}

// Printable returns text of somebody else so that it can stand in an answer: without control characters, and not long.
func Printable(s string) string {
	if len(s) > 256 {
		s = s[:256]
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s), "")
}

// Quoted writes a text as a quoted-string of HTTP.
func Quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Printable(s)) + `"`
}

// Caller tells callers apart, for their Idempotency-Keys, without keeping what they authenticate with.
func (q *Request) Caller() string {
	host, _, err := net.SplitHostPort(q.RemoteAddr)
	if err != nil {
		host = q.RemoteAddr
	}
	who := q.Header.Get("Authorization") + "\x00" + host
	if user := q.Who(); user != "" {
		who += "\x00" + user
	}
	sum := sha256.Sum256([]byte(who))
	return hex.EncodeToString(sum[:])
}
