package request

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// Carried returns the headers that an operation of a kind has: those that describe its body, and what the catalog says that the application has for
// itself.
func Carried(k *engine.Kind, h http.Header) map[string]string {
	out := map[string]string{}
	for name := range h {
		if v := h.Get(name); v != "" && k.Carries(name) {
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
	for _, name := range slices.Concat(engine.TravellingHeaders(), []string{"Content-Length", "Expect", "Prefer", "Idempotency-Key", "Accept-Encoding", "X-Forwarded-Prefix"}) {
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
func Quoted(s string) string { return `"` + quoter.Replace(Printable(s)) + `"` }

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// Caller tells callers apart, for their Idempotency-Keys, without keeping what they authenticate with: by all that they show of
// themselves, and by their address.
func (q *Request) Caller() string {
	return digest(cmp.Or(q.Client, q.RemoteAddr), q.Shown())
}

// Shown tells those apart whom the application may tell apart, wherever they ask from: by their credentials, cookies and what stands in the query
// included, and by their certificate. It is empty for who shows nothing.
func (q *Request) Shown() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(q.Header)) {
		if credential(name) {
			parts = append(append(parts, name), q.Header[name]...)
			parts = append(parts, "") // no value is taken for a name
		}
	}
	if q.TLS != nil && len(q.TLS.PeerCertificates) > 0 {
		c := q.TLS.PeerCertificates[0]
		parts = append(parts, "certificate", string(c.RawIssuer), string(c.RawSubject))
	}
	if q.URL != nil {
		parts = append(parts, proofs(q.URL.RawQuery)...)
	}
	if parts == nil {
		return ""
	}
	return digest(parts...)
}

// telling are parts of the names of headers that say who asks, or prove it. A header that is taken for one by mistake tells two requests
// of one caller apart; one that is not mixes two callers up. So they are many.
var telling = []string{"auth", "token", "cookie", "key", "secret", "session", "credential", "password", "signature", "user", "identity", "subject",
	"account", "tenant", "project", "organization", "group", "role", "principal", "impersonate", "assertion", "client-cert", "csrf", "xsrf", "jwt", "remote-"}

// proving end the names of what proves in a query who asks: presigned addresses and tokens of programs that set no headers. What only says who,
// as "user" does, picks things in most queries.
var proving = []string{"auth", "authorization", "token", "key", "secret", "session", "sessionid", "session_id", "credential", "password", "passwd", "signature", "sig", "assertion", "jwt"}

// proofs are the fields of a query that prove who asks, as they were written.
func proofs(query string) (fields []string) {
	for field := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(field, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		name = strings.ToLower(name)
		if slices.ContainsFunc(proving, func(end string) bool { return strings.HasSuffix(name, end) }) {
			fields = append(fields, "?"+field)
		}
	}
	return fields
}

// plain are headers that are none of these, whatever their names look like.
var plain = []string{"Idempotency-Key", "User-Agent", "Sec-Fetch-User", "Sec-Websocket-Key", "Sec-Websocket-Extensions", "Surrogate-Key"}

// TellsCallersApart reports whether callers are told apart by a header: it says, or proves, who asks.
func TellsCallersApart(name string) bool { return credential(http.CanonicalHeaderKey(name)) }

func credential(name string) bool {
	if slices.Contains(plain, name) {
		return false
	}
	name = strings.ToLower(name)
	return slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(name, part) })
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
