package agent

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/web/intercept/request"
)

// connections bounds how many connections clients may have open, in all and from one address. It is shared by listeners, and safe for
// concurrent use.
type connections struct {
	most Connections
	// proxies speak for many clients, as loopback does.
	proxies request.Proxies
	// giveWay has a client lose its connection that keeps one waiting, to make room, and reports whether there is one; nil: nobody gives way.
	giveWay func() bool

	mu   sync.Mutex
	open map[netip.Prefix]int // by what one client may have all of; guarded by mu
	all  int                  // guarded by mu
	// refused counts by the reason, telling those that are being told.
	refused [2]uint64
	telling int
}

// Why a connection is refused.
const (
	noRoom  = iota // there are as many as there may be, and nobody gives way
	tooMany        // its address has as many as one may have
)

func newConnections(most Connections, proxies request.Proxies) *connections {
	return &connections{most: most, proxies: proxies, open: map[netip.Prefix]int{}}
}

// enter counts a connection from an address, unless it would be one too many.
func (b *connections) enter(from netip.Prefix) bool {
	for range 2 {
		b.mu.Lock()
		if !b.many(from.Addr()) && b.open[from] >= b.most.Client {
			b.refused[tooMany]++
			b.mu.Unlock()
			return false
		}
		if b.all < b.most.All {
			b.all++
			b.open[from]++
			b.mu.Unlock()
			return true
		}
		b.mu.Unlock()
		if b.giveWay == nil || !b.giveWay() {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused[noRoom]++
	return false
}

const (
	// toldAtOnce is how many are told at once that there is no room for them. Others are told nothing: their connection is closed.
	toldAtOnce = 64
	// telling is how long that may take to arrive: what is closed while something comes in loses what it has said.
	telling = 200 * time.Millisecond
	noMore  = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 45\r\nRetry-After: 5\r\nConnection: close\r\n\r\n" +
		"there are too many connections: try it later\n"
)

// refuse ends a connection that is too many. In clear its client is told why.
func (b *connections) refuse(c net.Conn, clear bool) {
	b.mu.Lock()
	tell := clear && b.telling < toldAtOnce
	if tell {
		b.telling++
	}
	b.mu.Unlock()
	if !tell {
		c.Close()
		return
	}
	_, _ = io.WriteString(c, noMore) // there is room for it on a connection that is new
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
	time.AfterFunc(telling, func() {
		c.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.telling--
	})
}

// adopt counts a connection that is there already.
func (b *connections) adopt(c net.Conn) net.Conn {
	from := b.clientOf(c.RemoteAddr())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all++
	b.open[from]++
	return &counted{Conn: c, left: sync.OnceFunc(func() { b.leave(from) })}
}

func (b *connections) leave(from netip.Prefix) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all--
	if b.open[from]--; b.open[from] == 0 {
		delete(b.open, from)
	}
}

// bounded is a listener whose connections are counted. Those that are too many are refused.
type bounded struct {
	net.Listener
	bound *connections
	clear bool // it speaks HTTP without TLS
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := l.bound.clientOf(c.RemoteAddr())
		if l.bound.enter(from) {
			return &counted{Conn: c, left: sync.OnceFunc(func() { l.bound.leave(from) })}, nil
		}
		l.bound.refuse(c, l.clear)
	}
}

// many reports whether what comes from an address is not one client: services of this machine, or a proxy that is trusted to say who asks.
func (b *connections) many(from netip.Addr) bool { return from.IsLoopback() || b.proxies.Trusts(from) }

// clientOf is what an address counts as: one client has all of an IPv6 network of 64 bits.
func (b *connections) clientOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() || b.many(ip) {
		bits = ip.BitLen()
	}
	p, _ := ip.Prefix(bits) // which every address has
	return p
}

type counted struct {
	net.Conn
	left func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.left()
	return c.Conn.Close()
}

// Bare implements door.Bare.
func (c *counted) Bare() net.Conn { return c.Conn }

// CloseWrite is for who sends on a connection that has been taken over, such as a WebSocket's.
func (c *counted) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// connectionMetrics shows what becomes of connections to the services.
type connectionMetrics struct {
	clients *connections
	gaveWay func() uint64
}

var (
	openConnections = prometheus.NewDesc("skerry_service_connections", "Connections of clients to the services that are open.", nil, nil)
	endedForOthers  = prometheus.NewDesc("skerry_service_connections_refused_total",
		"Connections of clients that limits.connections has refused or ended, by why: full (there was no room), client (one address has too many), gave-way (it kept the agent waiting while others wanted room).", []string{"why"}, nil)
)

// Describe implements prometheus.Collector.
func (m connectionMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- openConnections
	ch <- endedForOthers
}

// Collect implements prometheus.Collector.
func (m connectionMetrics) Collect(ch chan<- prometheus.Metric) {
	m.clients.mu.Lock()
	all, refused := m.clients.all, m.clients.refused
	m.clients.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(openConnections, prometheus.GaugeValue, float64(all))
	for why, n := range map[string]uint64{"full": refused[noRoom], "client": refused[tooMany], "gave-way": m.gaveWay()} {
		ch <- prometheus.MustNewConstMetric(endedForOthers, prometheus.CounterValue, float64(n), why)
	}
}
