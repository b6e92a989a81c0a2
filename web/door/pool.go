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
	// idleLinks is how many connections to the application are kept that nothing goes over. One more is closed.
	idleLinks = 256
	// idleLink is how long one is kept. Many application servers close what was idle for 2 to 5 s. Closing first means that no request
	// meets a connection at the moment when the other side gives it up, which would leave its outcome unknown.
	idleLink = 1500 * time.Millisecond
)

// link is a connection to the application. It belongs to one request at a time.
type link struct {
	stream
	idle time.Time // since when
	used bool      // by a request before
}

// links are the connections to the application. The one used last is used next: so there are as few as can be, and a client that goes on
// has the same one. It is safe for concurrent use.
type links struct {
	dial func(context.Context) (net.Conn, error)

	mu     sync.Mutex
	free   []*link // that nothing goes over, the one used last at the end; guarded by mu
	closed bool    // guarded by mu
	sweep  *time.Timer
}

// take returns a connection that the application has not closed, as far as can be known. Fresh: nobody has used it before.
func (l *links) take(fresh bool) (*link, error) {
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
	k.buf = make([]byte, 16<<10)
	return k, nil
}

// give takes a connection back over which everything has gone.
func (l *links) give(k *link) {
	k.r, k.w, k.idle, k.used = 0, 0, time.Now(), true
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
func (l *links) expire() {
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
func (l *links) close() {
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
