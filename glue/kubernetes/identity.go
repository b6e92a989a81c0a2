package kubernetes

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/skerry/skerry/glue"
)

// The headers in which an API server takes the word of an authenticating proxy, by their usual names
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#authenticating-proxy).
const (
	remotePrefix = "X-Remote-"
	remoteUser   = remotePrefix + "User"
	remoteGroup  = remotePrefix + "Group"
	remoteExtra  = remotePrefix + "Extra-"
)

// credential is the name under which API servers tell which certificate a user has shown.
const credential = "authentication.kubernetes.io/credential-id"

// Presented implements glue.Asserter as an API server does it: the common name is the user, the organizations are the groups.
func (Dialect) Presented(c *x509.Certificate) (glue.Identity, bool) {
	return glue.Identity{
		User: c.Subject.CommonName, Groups: c.Subject.Organization,
		Extra: map[string][]string{credential: {fmt.Sprintf("X509SHA256=%x", sha256.Sum256(c.Raw))}},
	}, c.Subject.CommonName != ""
}

// Assert implements glue.Asserter. What would be another name after it has travelled in a header is refused.
func (d Dialect) Assert(h http.Header, who glue.Identity) error {
	for _, name := range append([]string{who.User}, who.Groups...) {
		if name == "" || strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("%q cannot be told as the name of a user or a group", name)
		}
	}
	d.Silence(h)
	h[remoteUser] = []string{who.User}
	if len(who.Groups) > 0 {
		h[remoteGroup] = slices.Clone(who.Groups)
	}
	for name, values := range who.Extra {
		h[http.CanonicalHeaderKey(remoteExtra+url.PathEscape(name))] = values
	}
	return nil
}

// Asserted implements glue.Asserter.
func (Dialect) Asserted(h http.Header) string { return h.Get(remoteUser) }

// Silences implements glue.Asserter.
func (Dialect) Silences(name string) bool { return isRemote(name) }

// Silence implements glue.Asserter.
func (Dialect) Silence(h http.Header) {
	for name := range h {
		if isRemote(name) {
			delete(h, name)
		}
	}
	kept := h["Connection"][:0:0]
	for _, line := range h["Connection"] { // what it names is taken out further on
		for part := range strings.SplitSeq(line, ",") {
			if name := strings.TrimSpace(part); name != "" && !isRemote(name) {
				kept = append(kept, name)
			}
		}
	}
	if h.Del("Connection"); len(kept) > 0 {
		h["Connection"] = []string{strings.Join(kept, ", ")}
	}
}

func isRemote(name string) bool {
	return len(name) >= len(remotePrefix) && strings.EqualFold(name[:len(remotePrefix)], remotePrefix)
}
