package door

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
)

// handover is the listener of net/http: its connections are those that have had something to say that is not plain.
type handover struct {
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
	address net.Addr
}

// give hands a connection over. False: nobody takes any more.
func (h *handover) give(c net.Conn) bool {
	select {
	case h.conns <- c:
		return true
	case <-h.closed:
		return false
	}
}

// Accept implements net.Listener.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (h *handover) Addr() net.Addr { return h.address }

// begun is a connection of which something was read before. What was read comes first.
type begun struct {
	net.Conn
	before []byte // read by one goroutine at a time, as connections are
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.before) > 0 {
		n := copy(p, b.before)
		if b.before = b.before[n:]; len(b.before) == 0 {
			b.before = nil
		}
		return n, nil
	}
	return b.Conn.Read(p)
}

// CloseWrite is for who sends on a connection that has been taken over, such as a WebSocket's.
func (b *begun) CloseWrite() error {
	if w, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// secured is the key in a context for the state of TLS, which net/http itself finds only where it reads the connection from its beginning.
type secured struct{}

func rememberTLS(ctx context.Context, c net.Conn) context.Context {
	if b, ok := c.(*begun); ok {
		if t, ok := b.Conn.(*tls.Conn); ok {
			state := t.ConnectionState()
			return context.WithValue(ctx, secured{}, &state)
		}
	}
	return ctx
}

func withTLS(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if state, ok := r.Context().Value(secured{}).(*tls.ConnectionState); ok {
			r.TLS = state
		}
		h.ServeHTTP(w, r)
	})
}

// addressOf is the address of a client; not valid for one of this process.
func addressOf(a net.Addr) netip.Addr {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

func stack() string { return string(debug.Stack()) }
