package p2p

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

const (
	httpProtocol = engine.HTTPCall
	// acceptQueue is how many streams may wait for the peer server; more are refused.
	acceptQueue = 256
	openTimeout = 5 * time.Second
	// idleStreams to one site wait for another read, each for idleStream: less than the other site lets one wait.
	idleStreams = 8
	idleStream  = 10 * time.Second
)

// Transport returns a RoundTripper that carries requests to other sites: the URL's host is the SiteID of the target,
// its scheme http. Bodies are streamed both ways and upgrades pass. An error wraps engine.ErrUnreachable when it is
// certain that nothing was sent. A request that changes something has a stream of its own, so that it never meets one that the
// other side has just given up. Reads take turns on a few streams: net/http asks again by itself where one has ended.
func (n *Network) Transport() http.RoundTripper {
	once := &http.Transport{
		DialContext:            n.dialHTTP,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 1 << 20,
		ReadBufferSize:         32 << 10,
		WriteBufferSize:        32 << 10,
	}
	again := once.Clone()
	again.DisableKeepAlives, again.MaxIdleConnsPerHost, again.IdleConnTimeout = false, idleStreams, idleStream
	return &transport{once, again}
}

// transport chooses how a request travels.
type transport struct{ once, again *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.Body == nil || r.Body == http.NoBody) && r.Header["Upgrade"] == nil {
		return t.again.RoundTrip(r)
	}
	return t.once.RoundTrip(r)
}

// dialHTTP opens a stream to the site that address, a host and a port, names.
func (n *Network) dialHTTP(ctx context.Context, _, address string) (net.Conn, error) {
	site, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("open stream: %w: %w", engine.ErrUnreachable, err)
	}
	l := n.link(engine.SiteID(site))
	if l == nil {
		return nil, fmt.Errorf("open stream: %w: %s is no other member", engine.ErrUnreachable, site)
	}
	if err := l.ready(ctx); err != nil {
		return nil, fmt.Errorf("open stream: %w", err)
	}
	return n.openHTTP(ctx, l)
}

// Open opens a lane, or a stream, for requests to a site that has just given a sign of life. Any other is not waited for: that is engine.ErrUnreachable.
// The connection tells (Stale) when it should not be used for another request.
func (n *Network) Open(ctx context.Context, site engine.SiteID) (net.Conn, error) {
	l := n.link(site)
	if l == nil || !l.fits() {
		return nil, fmt.Errorf("open stream: %w: site %s has not been heard lately", engine.ErrUnreachable, site)
	}
	if c := l.openLane(ctx); c != nil {
		return c, nil
	}
	return n.openHTTP(ctx, l)
}

func (n *Network) openHTTP(ctx context.Context, l *link) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(network.WithNoDial(ctx, "http"), openTimeout)
	defer cancel()
	s, err := n.host.NewStream(ctx, l.pid, httpProtocol)
	if err != nil {
		return nil, fmt.Errorf("open stream: %w: site %s: %w", engine.ErrUnreachable, l.site, err)
	}
	return &streamConn{Stream: s, link: l, local: siteAddr(n.self), remote: siteAddr(l.site)}, nil
}

// Listener returns the listener on which the other members' requests arrive; RemoteAddr().String() of its connections
// is the SiteID of the site that asks, proved by its key. The end of Run closes it.
func (n *Network) Listener() net.Listener { return n.streams }

// acceptHTTP hands an inbound stream to whoever accepts. The stream counts as open until that one closes it.
func (n *Network) acceptHTTP(ctx context.Context, s network.Stream) {
	l := n.admit(ctx, s, httpProtocol)
	if l == nil {
		return
	}
	c := &streamConn{Stream: s, link: l, local: siteAddr(n.self), remote: siteAddr(l.site), done: func() { l.closed(httpProtocol) }}
	if !n.streams.offer(c) {
		n.log.Warn("too many requests of other sites are waiting", "peer", l.site)
		_ = c.Reset()
	}
}

// siteAddr is a SiteID as a net.Addr.
type siteAddr engine.SiteID

func (a siteAddr) Network() string { return "skerry" }
func (a siteAddr) String() string  { return string(a) }

// streamConn is a stream as a net.Conn.
type streamConn struct {
	network.Stream
	link          *link
	local, remote siteAddr
	heard         atomic.Bool // something has come from the other side
	ended         sync.Once
	done          func() // unless nil, called when the connection is closed
}

func (c *streamConn) Read(b []byte) (int, error) {
	n, err := c.Stream.Read(b)
	if n > 0 {
		c.heard.Store(true)
	}
	// Not every multiplexer has its deadlines end as net.Conn says. That the connection below has died is a timeout too, and no passing one.
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		if p, ok := err.(interface{ Temporary() bool }); ok && p.Temporary() {
			err = os.ErrDeadlineExceeded
		}
	}
	return n, err
}

// Stale reports whether another request had better go over another connection: the site has not been heard lately, this one's connection is gone,
// or there are lanes by now.
func (c *streamConn) Stale() bool {
	return c.Conn().IsClosed() || !c.link.fits() || c.link.lanes.known()
}

// peerConn is a connection of another site's agent.
type peerConn interface {
	net.Conn
	Reset() error
}

// CloseWrite ends what this side sends. The other side may be done with the stream by then: that is an error to libp2p and none
// to us, because what it has sent is still there to be read, and who copies both ways would give that up.
func (c *streamConn) CloseWrite() error {
	_ = c.Stream.CloseWrite()
	return nil
}

// Close ends the stream both ways, and what still waits to be written: a stream alone lets that wait for the other side, for as long as that
// keeps the connection up and reads nothing. A stream from which nothing has come is reset: to close it would wait until the other
// side has agreed to the protocol, or ten seconds, and net/http closes a connection while it holds its lock.
func (c *streamConn) Close() error {
	c.end()
	if !c.heard.Load() {
		return c.Stream.Reset()
	}
	_ = c.SetWriteDeadline(time.Unix(1, 0))
	return c.Stream.Close()
}

// Reset closes the connection without regard to what is under way.
func (c *streamConn) Reset() error {
	c.end()
	return c.Stream.Reset()
}

func (c *streamConn) end() {
	if c.done != nil {
		c.ended.Do(c.done)
	}
}

func (c *streamConn) LocalAddr() net.Addr  { return c.local }
func (c *streamConn) RemoteAddr() net.Addr { return c.remote }

// streamListener is a net.Listener over inbound streams.
type streamListener struct {
	addr  siteAddr
	conns chan peerConn

	mu     sync.Mutex
	done   chan struct{}
	closed bool
}

func newStreamListener(self engine.SiteID) *streamListener {
	return &streamListener{addr: siteAddr(self), conns: make(chan peerConn, acceptQueue), done: make(chan struct{})}
}

func (l *streamListener) offer(c peerConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	select {
	case l.conns <- c:
		return true
	default:
		return false
	}
}

func (l *streamListener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close resets the streams that nobody accepted.
func (l *streamListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.done)
	for {
		select {
		case c := <-l.conns:
			_ = c.Reset()
		default:
			return nil
		}
	}
}

func (l *streamListener) Addr() net.Addr { return l.addr }
