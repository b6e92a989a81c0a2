package door

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"
)

// rest is net/http, for what is not plain. It has two servers, since they end differently: of those that speak HTTP/1, clients that have no
// request under way can go to another process, and those that speak HTTP/2 are told to come again.
type rest struct {
	d                 *Door
	requests, streams *handover
	plain, multi      *http.Server
	ended             chan error
}

func (d *Door) newRest(address net.Addr) *rest {
	r := &rest{d: d, requests: newHandover(address), streams: newHandover(address), plain: d.server(), multi: d.server(), ended: make(chan error, 2)}
	r.plain.ConnState = d.noteState
	go func() { r.ended <- r.plain.Serve(r.requests) }()
	go func() { r.ended <- r.multi.Serve(r.streams) }()
	return r
}

func (d *Door) server() *http.Server {
	return &http.Server{Handler: d.engage(d.Rest), ConnContext: remember, ReadHeaderTimeout: d.HeadTimeout, IdleTimeout: d.Idle, MaxHeaderBytes: d.Head,
		ErrorLog: slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug)}
}

// end lets requests under way finish until late ends.
func (r *rest) end(late context.Context) error {
	var errs []error
	for _, s := range []*http.Server{r.plain, r.multi} {
		if s.Shutdown(late) != nil {
			s.Close()
		}
	}
	for range 2 {
		if err := <-r.ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// handover is the listener of net/http: its connections are those that have had something to say that is not plain.
type handover struct {
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
	address net.Addr
}

func newHandover(address net.Addr) *handover {
	return &handover{conns: make(chan net.Conn), closed: make(chan struct{}), address: address}
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
	door   *Door
	tls    *tls.ConnectionState // nil without
	once   bool                 // it ends with the next answer
	before []byte               // read by one goroutine at a time, as connections are

	mu sync.Mutex // guards the rest
	// idle says that net/http waits for the next request, and nothing of it has come; ahead that it has read some of that already.
	idle, ahead bool
	// taken says that net/http was told that the client has gone, which the heir gets.
	taken bool
}

// errTaken is what net/http hears of a client that the heir gets.
var errTaken = errors.New("another process takes the client over")

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.before) > 0 {
		n := copy(p, b.before)
		if b.before = b.before[n:]; len(b.before) == 0 {
			b.before = nil
		}
		return n, nil
	}
	if b.take() {
		return 0, errTaken
	}
	n, err := b.Conn.Read(p)
	b.mu.Lock()
	if n > 0 {
		// While it serves a request net/http reads one byte beyond, to see its client go.
		b.ahead = !b.idle && len(p) == 1
		if b.idle && b.door.heir.Load() != nil {
			_ = b.Conn.SetReadDeadline(time.Time{})
		}
		b.idle = false
	}
	b.mu.Unlock()
	if n == 0 && late(err) && b.take() {
		return 0, errTaken
	}
	return n, err
}

// take reports whether the heir is to get the client now, and marks it so.
func (b *begun) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = b.taken || b.idle && b.door.heir.Load() != nil
	return b.taken
}

// SetReadDeadline implements net.Conn. Who is to be taken over does not wait.
func (b *begun) SetReadDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle && b.door.heir.Load() != nil {
		t = past
	}
	return b.Conn.SetReadDeadline(t)
}

// waits notes that net/http has ended a request.
func (b *begun) waits() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle, b.ahead = !b.ahead, false
}

// nudge has a read under way end, if the client has no request.
func (b *begun) nudge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle {
		_ = b.Conn.SetReadDeadline(past)
	}
}

// Close implements net.Conn.
func (b *begun) Close() error {
	b.mu.Lock()
	taken := b.taken
	b.taken, b.idle = false, false
	b.mu.Unlock()
	if heir := b.door.heir.Load(); taken && (*heir)(Handed{Conn: b.Conn, TLS: b.tls}) {
		return nil
	}
	return b.Conn.Close()
}

// CloseWrite is for who sends on a connection that has been taken over, such as a WebSocket's.
func (b *begun) CloseWrite() error {
	if w, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// noteState keeps the connections that net/http has.
func (d *Door) noteState(c net.Conn, state http.ConnState) {
	b := c.(*begun) // all are
	switch state {
	case http.StateNew:
		d.mu.Lock()
		d.lent[b] = struct{}{}
		d.mu.Unlock()
	case http.StateIdle:
		b.waits()
	case http.StateHijacked, http.StateClosed:
		d.mu.Lock()
		delete(d.lent, b)
		d.mu.Unlock()
	}
}

// connection is the key in a context for a connection that was begun. It has the state of TLS, which net/http itself finds only where it reads the
// connection from its beginning.
type connection struct{}

func remember(ctx context.Context, c net.Conn) context.Context {
	if b, ok := c.(*begun); ok {
		return context.WithValue(ctx, connection{}, b)
	}
	return ctx
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
