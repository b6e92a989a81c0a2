package door

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// rest is net/http, for what is not plain. It has two servers, since they end differently: of those that speak HTTP/1, clients that have no
// request under way can go to another process, and those that speak HTTP/2 are told to come again. What TLS there is lies below both, so that
// HTTP/2 comes in one way, whether the client has agreed on it or knows that it is spoken.
type rest struct {
	d                 *Door
	requests, streams *handover
	plain, multi      *http.Server
	ended             chan error
}

func (d *Door) newRest(address net.Addr) *rest {
	r := &rest{d: d, requests: newHandover(address), streams: newHandover(address), plain: d.server(), multi: d.server(), ended: make(chan error, 2)}
	r.plain.Protocols, r.multi.Protocols = new(http.Protocols), new(http.Protocols)
	r.plain.Protocols.SetHTTP1(true)
	r.multi.Protocols.SetUnencryptedHTTP2(true)
	go func() { r.ended <- r.plain.Serve(r.requests) }()
	go func() { r.ended <- r.multi.Serve(r.streams) }()
	return r
}

func (d *Door) server() *http.Server {
	return &http.Server{Handler: d.engage(d.Rest), ConnContext: remember, ConnState: d.noteState, ReadHeaderTimeout: d.HeadTimeout, IdleTimeout: d.Idle, MaxHeaderBytes: d.Head,
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

// lend gives a client whose next request has begun, and is not plain, to net/http, or to the heir where the door is left. It reports false
// where nobody takes it.
func (r *rest) lend(b *begun) bool {
	d, to := r.d, r.requests
	if b.multi {
		to = r.streams
	}
	d.mu.Lock()
	heir := d.heir.Load()
	if heir == nil {
		d.lent[b] = struct{}{} // from here on the door is not left without it
	}
	d.mu.Unlock()
	if heir == nil {
		if to.give(b) {
			return true
		}
		d.returned(b)
		heir = d.heir.Load()
	}
	return heir != nil && (*heir)(Handed{Conn: b.Conn, TLS: b.tls, Before: b.before})
}

// back has the door wait for the next request of a client that net/http had. It reports false where the door waits for none any more.
func (r *rest) back(b *begun) bool {
	_ = b.Conn.SetDeadline(time.Time{})
	c := r.d.client(b.Conn)
	c.once, c.request.TLS = b.once, b.tls
	c.remember(b.before)
	return r.d.enter(c, r)
}

// returned notes that net/http has no more to do with a connection.
func (d *Door) returned(b *begun) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.lent, b)
}

// begun is a connection of which something was read before. What was read comes first.
type begun struct {
	net.Conn
	door   *Door
	rest   *rest
	tls    *tls.ConnectionState // nil without
	once   bool                 // it ends with the next answer
	multi  bool                 // it speaks HTTP/2
	before []byte               // read by one goroutine at a time, as connections are

	mu sync.Mutex // guards the rest
	// past says that reads are to end at once; reading is closed then, by who waits for that.
	past    bool
	reading chan struct{}
	// idle says that net/http waits for the next request, and nothing of it has come; ahead that it has read some of that already.
	idle, ahead bool
	// room is how much net/http wants where it has nothing that it has not looked at: it wants less behind the beginning of a request.
	room int
	// handled are the requests of it that handlers have. Engaged are those under way that Pass was not called for: of HTTP/1 from the first byte
	// on, and until net/http waits for the next one.
	handled, engaged int
	// hijacked says that a handler has taken it out of net/http's hands.
	hijacked bool
	// waits is since when it is read from in vain, for the next request or the rest of one.
	waits time.Time
	// next is for looking at the next request.
	next Request
	// taken says that net/http was told that the client has gone, which the door gets back, or the heir.
	taken bool
}

// errTaken is what net/http hears of a client whose next request somebody else answers.
var errTaken = errors.New("the door takes the client back")

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	b.wants(len(p))
	if b.take() {
		return 0, errTaken
	}
	if len(b.before) > 0 {
		n := copy(p, b.before)
		if b.before = b.before[n:]; len(b.before) == 0 {
			b.before = nil
		}
		return n, nil
	}
	b.awaits(len(p))
	n, err := b.Conn.Read(p)
	if n > 0 && b.forDoor(p[:n]) {
		return 0, errTaken
	}
	if n > 0 && !b.multi && b.read(p[:n], len(p)) {
		return 0, os.ErrDeadlineExceeded
	}
	if n == 0 && late(err) && b.take() {
		return 0, errTaken
	}
	return n, err
}

// read notes what has come when so many bytes were wanted. While it serves a request net/http reads one byte beyond, to see its client go. When
// the door is left that byte is the heir's, with the request that it begins: it is kept, and net/http has what it wants with it, which is to wait.
func (b *begun) read(p []byte, wanted int) (kept bool) {
	b.mu.Lock()
	b.waits = time.Time{}
	beyond := !b.idle && wanted == 1
	if !beyond || b.door.heir.Load() == nil {
		b.ahead = beyond
		b.begins()
		b.mu.Unlock()
		return false
	}
	b.before = []byte{p[0]}
	over := make(chan struct{})
	if b.reading = over; b.past {
		close(over)
		b.reading = nil
	}
	b.mu.Unlock()
	<-over
	return true
}

// wants notes how much net/http wants to read.
func (b *begun) wants(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.room == 0 {
		b.room = n
	}
	if n < b.room {
		b.begins()
	}
}

// stop ends who waits to be told that reads end. The lock is held.
func (b *begun) stop() {
	if b.reading != nil {
		close(b.reading)
		b.reading = nil
	}
}

// begins notes that a request is under way. The lock is held.
func (b *begun) begins() {
	if b.idle {
		b.idle, b.engaged = false, 1
		if b.door.heir.Load() != nil { // it may have been nudged
			_ = b.Conn.SetReadDeadline(time.Time{})
		}
	}
}

// awaits notes that so many bytes are waited for at most. While it serves a request net/http waits for one byte beyond, which nobody misses.
func (b *begun) awaits(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle || n > 1 {
		b.waits = time.Now()
	}
}

// take reports whether the heir is to get the client now, and marks it so.
func (b *begun) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = b.taken || b.idle && b.door.heir.Load() != nil
	return b.taken
}

// forDoor reports whether the next request has come and is the door's, and marks the client so: it is plain, or malformed, which the door refuses.
func (b *begun) forDoor(p []byte) bool {
	b.mu.Lock()
	idle := b.idle
	b.mu.Unlock()
	if !idle || b.door.closing.Load() {
		return false
	}
	n, err := end(p, 0, true)
	if err == nil && n > 0 {
		err = b.next.read(p[:n])
	}
	if err == nil && (n == 0 || b.next.special || !b.door.Desk.Plain(&b.next)) {
		return false
	}
	if b.next.Leave != nil {
		b.next.Leave(false) // it is looked at once more
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before, b.taken, b.waits = bytes.Clone(p), true, time.Time{}
	return true
}

// SetReadDeadline implements net.Conn. Who is to be taken over does not wait.
func (b *begun) SetReadDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle && b.door.heir.Load() != nil {
		t = past
	}
	if b.past = !t.IsZero() && t.Before(time.Now()); b.past {
		b.stop()
	}
	return b.Conn.SetReadDeadline(t)
}

// handles notes that a handler has a request. Pass is for when that needs nobody any more but the application and its client, over for when the
// handler has ended.
func (b *begun) handles() (pass, over func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begins()
	b.handled++
	if b.engaged++; !b.multi {
		b.engaged = 1
	}
	pass = sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.engaged--
	})
	return pass, func() {
		b.mu.Lock()
		b.handled--
		left := b.hijacked && b.handled == 0
		b.mu.Unlock()
		if b.multi || left {
			pass()
		}
		if left {
			b.door.returned(b)
		}
	}
}

// ends notes that net/http waits for the next request.
func (b *begun) ends() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle, b.engaged = !b.ahead, 0
	if b.ahead {
		b.ahead, b.engaged = false, 1
	}
}

// nudge has a read under way end, if the client has no request.
func (b *begun) nudge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle {
		_ = b.Conn.SetReadDeadline(past)
	}
}

// settled reports whether it has no request that Pass was not called for, and cannot get one: an idle one goes to the heir first.
func (b *begun) settled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.engaged == 0 && !b.idle
}

// Close implements net.Conn.
func (b *begun) Close() error {
	b.mu.Lock()
	taken := b.taken
	b.taken, b.idle = false, false
	b.stop()
	b.mu.Unlock()
	if heir := b.door.heir.Load(); taken && (heir != nil && (*heir)(Handed{Conn: b.Conn, TLS: b.tls, Before: b.before}) || heir == nil && b.rest.back(b)) {
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
	switch {
	case state == http.StateIdle && !b.multi:
		b.ends()
	case state == http.StateHijacked: // its handler goes on
		b.mu.Lock()
		b.hijacked = true
		b.mu.Unlock()
	case state == http.StateClosed:
		d.returned(b)
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
