package agent

import (
	"net"
	"net/netip"
	"sync"
)

// connections bounds how many connections clients may have open, in all and from one address. It is shared by listeners, and safe for
// concurrent use.
type connections struct {
	most Connections

	mu   sync.Mutex
	open map[netip.Prefix]int // by what one client may have all of; guarded by mu
	all  int                  // guarded by mu
}

func newConnections(most Connections) *connections {
	return &connections{most: most, open: map[netip.Prefix]int{}}
}

// enter counts a connection from an address, unless it would be one too many.
func (b *connections) enter(from netip.Prefix) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	// What comes over loopback is not one client: services of this machine, or a proxy, speak for many.
	if b.all >= b.most.All || !from.Addr().IsLoopback() && b.open[from] >= b.most.Client {
		return false
	}
	b.all++
	b.open[from]++
	return true
}

// adopt counts a connection that is there already.
func (b *connections) adopt(c net.Conn) net.Conn {
	from := clientOf(c.RemoteAddr())
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

// bounded is a listener whose connections are counted. Those that are too many are closed at once.
type bounded struct {
	net.Listener
	bound *connections
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := clientOf(c.RemoteAddr())
		if l.bound.enter(from) {
			return &counted{Conn: c, left: sync.OnceFunc(func() { l.bound.leave(from) })}, nil
		}
		c.Close()
	}
}

// clientOf is what an address counts as: one client has all of an IPv6 network of 64 bits.
func clientOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() || ip.IsLoopback() {
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
