package glue

import (
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// travelling are the headers of a client's request that go on to another site's application: those of HTTP itself (RFC 9110 and 9111), of
// credentials, of negotiated upgrades, and of tracing. Nothing in them says who asks on somebody's word alone, as X-Forwarded-User does: an
// application takes such a header from whoever stands in front of it, and no other site does.
var travelling = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`
		Accept Accept-Charset Accept-Encoding Accept-Language Accept-Patch Access-Control-Request-Headers Access-Control-Request-Method
		Authorization Cache-Control Connection Content-Disposition Content-Encoding Content-Language Content-Length Content-Location
		Content-MD5 Content-Range Content-Type Content-Digest Repr-Digest Want-Content-Digest Want-Repr-Digest Digest Want-Digest Cookie Date
		DNT Expect If If-Match If-Modified-Since If-None-Match If-Range If-Unmodified-Since Idempotency-Key Keep-Alive
		Last-Event-ID Max-Forwards Origin Pragma Prefer Priority Proxy-Connection Range Referer Save-Data TE Trailer
		Transfer-Encoding Upgrade Upgrade-Insecure-Requests User-Agent Via
		Sec-WebSocket-Extensions Sec-WebSocket-Key Sec-WebSocket-Protocol Sec-WebSocket-Version
		Soapaction X-Requested-With X-Csrf-Token X-Xsrf-Token
		X-Api-Key X-Api-Version X-Auth-Token X-Service-Token X-Subject-Token X-Vault-Token X-Consul-Token Private-Token
		Baggage B3 Traceparent Tracestate X-B3-Flags X-B3-Parentspanid X-B3-Sampled X-B3-Spanid X-B3-Traceid X-Correlation-Id X-Request-Id X-Openstack-Request-Id
		Grpc-Timeout Scope X-Scope`) {
		travelling[http.CanonicalHeaderKey(name)] = true
	}
}

// Common reports whether every service may have a use of its own for a header.
func Common(header string) bool {
	name := http.CanonicalHeaderKey(header)
	return travelling[name] || name == "Host" || name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "Skerry-")
}

// Travels reports whether a header of a client's request goes on to the application of another site: it is among those that always do, or
// the service's own.
func (c *Client) Travels(service engine.ServiceName, header string) bool {
	name := http.CanonicalHeaderKey(header)
	u := c.upstreams[service]
	return travelling[name] || u != nil && slices.ContainsFunc(u.Headers, func(h string) bool { return stands(strings.ToLower(h), strings.ToLower(name)) })
}

// Reaches reports whether other sites may pass requests for a path of a service on that belongs to no kind: a read of what says what the
// application is able to do, or a path that the catalog names beside the kinds.
func (c *Client) Reaches(service engine.ServiceName, method, path string) bool {
	u := c.upstreams[service]
	if u == nil || !plain(path) {
		return false
	}
	return u.Dialect != nil && u.Dialect.Inquires(method, path) || Safe(method) && (u.Dialect != nil && u.Dialect.Describes(path) || u.Describes != nil && u.Describes(path)) ||
		slices.ContainsFunc(u.Paths, func(p string) bool { return stands(p, path) })
}

// stands reports whether a name, or all that begin as one which ends in "*", stand for another.
func stands(one, name string) bool {
	prefix, all := strings.CutSuffix(one, "*")
	return one == name || all && strings.HasPrefix(name, prefix)
}

// plain reports whether all servers read an escaped path alike.
func plain(path string) bool {
	p, ok := splitPath(path, reading{})
	return ok && p.canonical && !p.escapedSlash && !p.parameters
}
