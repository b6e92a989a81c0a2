package glue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/skerry/skerry/engine"
)

// Upstream is this site's instance of one service of the application.
type Upstream struct {
	Service engine.ServiceName
	// URL is absolute, http or https; its path, if any, comes before the path of every request.
	URL *url.URL
	// TLS is for https; nil trusts the system's authorities.
	TLS *tls.Config
	// Front is how to speak TLS where the agent says who makes a request and is believed by its certificate, if the dialect is an
	// Asserter; nil: it is not.
	Front *tls.Config
	// UserHeader is the header by which the application believes the agent who makes a request, where there is no dialect; empty: it does not.
	UserHeader UserHeader
	// Credentials gives the headers that the agent sends with operations of other sites. Nil: none. It is called for
	// each such request, so that a renewed token counts at once.
	Credentials func() (http.Header, error)
	// Kinds are those of the catalog.
	Kinds []*engine.Kind
	// Dialect is what there is to know of its API beyond the catalog; nil for nothing.
	Dialect Dialect
	// Impersonator knows who asks and acts for others, where that is not for the dialect; nil: nobody does.
	Impersonator Impersonator
	// Refuser writes refusals where there is no dialect; nil: they are problems.
	Refuser Refuser
	// Describes reports whether the answer to a read of a path says what the application is able to do, where there is no dialect; nil: none.
	Describes func(path string) bool
	// Paths and Headers are the catalog's (Service), and what the service's glue knows of headers.
	Paths, Headers []string
}

type upstream struct {
	Upstream
	transport *http.Transport
	// once does not keep connections; ends counts those that the application has ended since one was used twice.
	once *http.Transport
	ends atomic.Int32
	// streams speaks HTTP/2, for what speaks nothing else.
	streams *http.Transport
	// front has the certificate by which the agent is believed who makes a request; nil without one.
	front    *http.Transport
	asserter Asserter
	askers   askers
	around   Around // nil: nothing is
}

// Around is around each request to the application: it sends it, perhaps with other headers, and returns what came of that as it is.
type Around func(s engine.ServiceName, r *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error)

func newUpstream(u Upstream, c ClientConfig) *upstream {
	up := &upstream{Upstream: u, streams: newTransport(u.TLS, c)}
	wired := c
	wired.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return up.wire(conn), nil
	}
	up.transport, up.once = newTransport(u.TLS, wired), newTransport(u.TLS, wired)
	up.once.DisableKeepAlives = true
	up.streams.Protocols = new(http.Protocols)
	up.streams.Protocols.SetHTTP2(true)
	up.streams.Protocols.SetUnencryptedHTTP2(true)
	if up.asserter, _ = u.Dialect.(Asserter); up.asserter != nil && u.Front != nil {
		up.front = newTransport(u.Front, wired)
	}
	if u.UserHeader != "" {
		up.asserter = u.UserHeader
	}
	return up
}

// RoundTrip implements http.RoundTripper. What says nothing of who asks goes without the agent's certificate, so that what its own
// credentials say counts.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") && r.ProtoMajor == 2 {
		if u.around != nil {
			return u.around(u.Service, r, u.streams.RoundTrip)
		}
		return u.streams.RoundTrip(r)
	}
	if u.front != nil && u.asserter.Asserted(r.Header) != "" {
		return u.over(u.front, r)
	}
	return u.over(u.transport, r)
}

func newTransport(t *tls.Config, c ClientConfig) *http.Transport {
	return &http.Transport{
		DialContext:           c.Dial,
		TLSClientConfig:       t,
		TLSHandshakeTimeout:   dialing,
		MaxIdleConns:          0, // bounded by host, and there is one
		MaxIdleConnsPerHost:   256,
		ResponseHeaderTimeout: c.HeaderTimeout,
		ExpectContinueTimeout: c.ContinueTimeout,
		// Many application servers close what was idle for 2 to 5 s. Closing first means that no request
		// meets a connection at the moment when the other side gives it up, which would leave its outcome unknown.
		IdleConnTimeout:        1500 * time.Millisecond,
		DisableCompression:     true, // bytes are the application's
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// account returns what a request is sent with: the caller's credentials, or the agent's own in the place of nil. A caller who has
// shown none gets none.
func (u *upstream) account(caller *engine.Credentials) (http.Header, error) {
	if caller != nil {
		return caller.Header, nil
	}
	if u.Credentials == nil {
		return nil, nil
	}
	header, err := u.Credentials()
	if err != nil {
		return nil, fmt.Errorf("%w: read the credentials of service %s: %w", engine.ErrUnreachable, u.Service, err)
	}
	return header, nil
}

// Target returns the URL of a request to an upstream whose path and query are sent byte for byte. The path is escaped.
func Target(up *url.URL, path, query string) *url.URL {
	path = strings.TrimSuffix(up.EscapedPath(), "/") + path
	u := &url.URL{Scheme: up.Scheme, Host: up.Host, RawQuery: query}
	if strings.HasPrefix(path, "//") {
		// An opaque part that begins like this would be taken for a host.
		u.RawPath = path
		u.Path, _ = url.PathUnescape(path)
		return u
	}
	u.Opaque = path
	return u
}

// Unreachable reports whether err, from the RoundTripper of Upstream, means that no connection was made.
func Unreachable(err error) bool {
	var op *net.OpError
	return errors.Is(err, engine.ErrUnreachable) || (errors.As(err, &op) && op.Op == "dial")
}
