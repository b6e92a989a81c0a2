package glue

import (
	"crypto/x509"
	"net/http"
)

// Identity is who makes a request, as the agent has found out.
type Identity struct {
	User   string
	Groups []string
	Extra  map[string][]string // what else there is to say, by name
}

// Asserter is a Dialect whose application believes who makes a request when the agent says so, in headers, and has shown a certificate of
// its own. Nobody else is to get such headers through: a client's are taken out before anything else happens.
type Asserter interface {
	// Presented returns whom a certificate, which an authority of clients has signed, stands for; ok is false where the application would
	// not know.
	Presented(*x509.Certificate) (who Identity, ok bool)
	// Assert says in a header who asks, in place of what it said of that.
	Assert(h http.Header, who Identity) error
	// Asserted reports who a header says asks, empty for nobody.
	Asserted(h http.Header) string
	// Silences reports whether a field of a header says who asks; Silence takes all of those out.
	Silences(name string) bool
	Silence(h http.Header)
}
