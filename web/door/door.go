package door

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Desk knows which requests are plain. It is safe for concurrent use.
type Desk interface {
	// Plain reports whether a request passes as it is, apart from lines that it drops and adds. Of any other it changes nothing that counts.
	Plain(r *Request) bool
	// Unanswered tells the client of a plain request that the application gave no answer: ErrUnreachable, ErrLate, or anything else for one
	// that is none.
	Unanswered(r *Request, err error) (status int, header http.Header, body []byte)
	// Told is called once for each request that was taken here, when all is over: with the status that the client got, 0 for none; the length
	// of the answer's body, -1 where its head does not say; and the time until the answer began. Of a head that is malformed the rest of r is
	// empty.
	Told(r *Request, status int, length int64, took time.Duration)
}

// Config is what a Door is made of.
type Config struct {
	Desk Desk
	// Rest takes what is not plain.
	Rest http.Handler
	// Application takes what is plain, unless the Desk says who else; nil: it always does.
	Application *Links
	// Old says that HTTP/2 is not spoken.
	Old bool
	Limits
	Log *slog.Logger
}

// Limits bound what a Door takes. Zero fields stand for the defaults.
type Limits struct {
	// Head is the most bytes of the head of a request (64 KiB), HeadTimeout how long it may take to come in (10 s), Idle how long a
	// connection may have no request (2 min).
	Head              int
	HeadTimeout, Idle time.Duration
	// AnswerTimeout is how long the application may take until its answer begins (5 min).
	AnswerTimeout time.Duration
	// Drain is how long requests under way have to end when Serve does (10 s).
	Drain time.Duration
}

// Door takes the clients of one service.
type Door struct {
	Config

	closing atomic.Bool // set with mu held
	gaveWay atomic.Uint64
	// heir takes clients over once the door is left; nil before.
	heir    atomic.Pointer[func(Handed) bool]
	left    chan struct{} // closed when heir is set
	adopted chan Handed
	over    chan struct{} // closed when Serve has ended
	mu      sync.Mutex
	clients map[*client]struct{} // guarded by mu
	lent    map[*begun]struct{}  // connections that net/http has, or that a handler has of it; guarded by mu
	each    sync.WaitGroup       // of the clients' goroutines
}

// New returns a door that serves nobody yet.
func New(c Config) *Door {
	c.Head, c.HeadTimeout = cmp.Or(c.Head, 64<<10), cmp.Or(c.HeadTimeout, 10*time.Second)
	c.Idle, c.AnswerTimeout = cmp.Or(c.Idle, 2*time.Minute), cmp.Or(c.AnswerTimeout, 5*time.Minute)
	c.Drain = cmp.Or(c.Drain, 10*time.Second)
	return &Door{Config: c, left: make(chan struct{}), adopted: make(chan Handed), over: make(chan struct{}), clients: map[*client]struct{}{}, lent: map[*begun]struct{}{}}
}

// Serve answers on l until ctx ends, and lets requests under way finish. After Leave it ends as well when the last client has gone. It is
// called once.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	r := d.newRest(l.Addr())
	accepted := make(chan error, 1)
	go func() { accepted <- d.accept(ctx, l, r) }()
	defer close(d.over)
	go d.adopt(r)
	var err error
	select {
	case err = <-accepted:
	case <-ctx.Done():
		l.Close()
		<-accepted
	case <-d.left:
		l.Close()
		<-accepted
		r.leave(ctx)
	}
	d.close()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Drain)
	defer cancel()
	gone := make(chan struct{})
	go func() { d.each.Wait(); close(gone) }()
	d.all((*client).nudge)
	select {
	case <-gone:
	case <-late.Done():
		d.all(func(c *client) { c.conn.Close() })
	}
	err = errors.Join(err, r.end(late))
	<-gone
	if d.Application != nil {
		d.Application.close()
	}
	return err
}

// close has nobody enter any more.
func (d *Door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing.Store(true)
}

// past is a deadline that has been.
var past = time.Unix(1, 0)

func (d *Door) all(do func(*client)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.clients {
		do(c)
	}
}

// accept takes connections until the listener is closed.
func (d *Door) accept(ctx context.Context, l net.Listener, r *rest) error {
	for wait := time.Duration(0); ; {
		conn, err := l.Accept()
		if err == nil {
			wait = 0
			c := d.client(conn)
			c.first = true
			if !d.enter(c, r) {
				conn.Close()
			}
			continue
		}
		if passing, ok := err.(interface{ Temporary() bool }); !ok || !passing.Temporary() {
			return err
		}
		// There are no files left, most often: whoever keeps one waiting gives his up, and what else is open may be closed meanwhile.
		GiveWay(slices.Values([]*Door{d}))
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		d.Log.Warn("no connection can be accepted for a while", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (d *Door) client(conn net.Conn) *client {
	c := &client{d: d, stream: newStream(conn)}
	c.began()
	_, c.busy = conn.(*tls.Conn) // which nobody nudges while it agrees on that
	return c
}

// enter has a client served. It reports false where the door is closing.
func (d *Door) enter(c *client, r *rest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing.Load() {
		return false
	}
	d.clients[c] = struct{}{}
	d.each.Go(func() { d.meet(c, r) })
	return true
}

// adopt serves those that another process has left, until Serve ends.
func (d *Door) adopt(r *rest) {
	for {
		select {
		case h := <-d.adopted:
			c := d.client(h.Conn)
			// While it has its TLS, the process before cannot end.
			c.once, c.first = h.TLS != nil, true
			c.request.TLS = h.TLS
			c.remember(h.Before)
			if !d.enter(c, r) {
				h.Conn.Close()
			}
		case <-d.over:
			return
		}
	}
}

// meet serves one client until it goes, or hands it over.
func (d *Door) meet(c *client, r *rest) {
	handed := false
	defer func() {
		if p := recover(); p != nil {
			d.Log.Error("a request has met a defect of the agent", "err", fmt.Sprint(p), "stack", stack())
		}
		d.mu.Lock()
		delete(d.clients, c)
		d.mu.Unlock()
		if !handed {
			c.conn.Close()
		}
	}()
	c.request.Remote = c.conn.RemoteAddr()
	c.request.Client = addressOf(c.request.Remote)
	if t, ok := c.conn.(*tls.Conn); ok && !d.secure(c, t) || !c.serve() {
		return
	}
	c.isBusy(true) // nobody nudges it any more
	c.by(time.Time{})
	b := &begun{Conn: c.conn, door: d, rest: r, next: Request{Remote: c.request.Remote, Client: c.request.Client, TLS: c.request.TLS}, tls: c.request.TLS, once: c.once, before: c.buf[c.r:c.w]}
	if b.multi = bytes.HasPrefix(b.before, preface); !b.multi {
		b.engaged = 1
	} else if d.Old {
		return
	}
	handed = r.lend(b)
}

// preface is what clients of HTTP/2 begin with.
var preface = []byte("PRI * HTTP/2.0\r\n\r\n")

// secure sets TLS up. Who speaks HTTP there is told so.
func (d *Door) secure(c *client, t *tls.Conn) bool {
	_ = t.SetDeadline(time.Now().Add(d.HeadTimeout))
	err := t.Handshake()
	_ = t.SetDeadline(time.Time{})
	if err == nil {
		state := t.ConnectionState()
		c.request.TLS = &state
		return true
	}
	var other tls.RecordHeaderError
	if errors.As(err, &other) && other.Conn != nil && all(other.RecordHeader[:3], &tokens) {
		told := client{d: d, stream: newStream(other.Conn)}
		told.buf = make([]byte, 512)
		told.refuse(http.StatusBadRequest, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte("this address speaks HTTPS: ask for https://"))
	}
	return false
}
