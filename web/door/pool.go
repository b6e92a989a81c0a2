package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// idleLinks is how many connections to the application are kept that nothing goes over. One more is closed. With fewer, as many clients that
	// ask at once would have it accept a new one for each request.
	idleLinks = 1024
	// idleLink is how long one is kept. Many application servers close what was idle for 2 to 5 s. Closing first means that no request
	// meets a connection at the moment when the other side gives it up, which would leave its outcome unknown.
	idleLink = 1500 * time.Millisecond
	// linkRoom is how much room one has for what is read of it; largeRoom where a body goes on that the kernel cannot move.
	linkRoom, largeRoom = 16 << 10, 64 << 10
)

// link is a connection to the application. It belongs to one request at a time.
type link struct {
	stream
	idle time.Time // since when
	used bool      // by a request before
}

// Links are connections to the application, or to whoever else answers. The one used last is used next: so there are as few as can be, and a client
// that goes on has the same one. It is safe for concurrent use.
type Links struct {
	dial func(context.Context) (net.Conn, error)
	// prefix stands before the path of every request.
	prefix string
	agent  bool
	failed func(status int, fields []Field) bool

	mu     sync.Mutex
	free   []*link // that nothing goes over, the one used last at the end; guarded by mu
	closed bool    // guarded by mu
	sweep  *time.Timer
}

// Application is the way to an application: dial connects to it, within a time of its own, and prefix is what stands before the path of every
// request there.
func Application(dial func(context.Context) (net.Conn, error), prefix string) *Links {
	return &Links{dial: dial, prefix: prefix}
}

// Agent is the way to another site's agent, which is believed what it says in fields of its own. Dial does not wait for a site that cannot be
// reached now. Failed reports whether an answer says that there is none. Then, and where none comes, Config.Rest takes the request, which must
// be repeatable.
func Agent(dial func(context.Context) (net.Conn, error), failed func(status int, fields []Field) bool) *Links {
	return &Links{dial: dial, agent: true, failed: failed}
}

// stale is a connection that tells by itself that nothing is to be sent over it any more.
type stale interface{ Stale() bool }

// take returns a connection that the other side has not closed, as far as can be known. Fresh: nobody has used it before.
func (l *Links) take(fresh bool) (*link, error) {
	for !fresh {
		l.mu.Lock()
		n := len(l.free) - 1
		if n < 0 {
			l.mu.Unlock()
			break
		}
		k := l.free[n]
		l.free[n], l.free = nil, l.free[:n]
		l.mu.Unlock()
		if s, tells := k.conn.(stale); tells && s.Stale() {
			k.conn.Close()
			continue
		}
		if time.Since(k.idle) < idleLink && !k.stirs() {
			return k, nil
		}
		k.conn.Close()
	}
	conn, err := l.dial(context.Background()) // it bounds the time itself
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	k := &link{stream: newStream(conn)}
	k.buf = make([]byte, linkRoom)
	return k, nil
}

// give takes a connection back over which everything has gone.
func (l *Links) give(k *link) {
	if k.r, k.w, k.idle, k.used = 0, 0, time.Now(), true; len(k.buf) > linkRoom {
		k.buf = make([]byte, linkRoom)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.free) >= idleLinks {
		k.conn.Close()
		return
	}
	if l.free = append(l.free, k); len(l.free) > 1 {
		return
	}
	if l.sweep == nil {
		l.sweep = time.AfterFunc(idleLink, l.expire)
		return
	}
	l.sweep.Reset(idleLink)
}

// expire closes what was idle for too long.
func (l *Links) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.free) && time.Since(l.free[n].idle) >= idleLink {
		l.free[n].conn.Close()
		n++
	}
	if l.free = append(l.free[:0], l.free[n:]...); len(l.free) > 0 {
		l.sweep.Reset(idleLink - time.Since(l.free[0].idle))
	}
}

// close closes all that are idle, and from now on each that becomes so.
func (l *Links) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, k := range l.free {
		k.conn.Close()
	}
	l.free = nil
}

// ErrUnreachable: there is no connection to the application, and nothing was sent.
var ErrUnreachable = errors.New("the application cannot be reached")
