package sim

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// pipes carry the connections between a site's clients, its agent and its application, in virtual time. They are safe for
// concurrent use.
type pipes struct {
	mu        sync.Mutex
	listeners map[string]*pipeListener // by host
}

func newPipes() *pipes { return &pipes{listeners: map[string]*pipeListener{}} }

// pipeListener takes the connections to one host. While alive is false, nothing gets out of them.
type pipeListener struct {
	host   string
	pipes  *pipes
	alive  func() bool
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// listen opens a host, in the place of one of that name which a dead process has left.
func (p *pipes) listen(host string, alive func() bool) *pipeListener {
	l := &pipeListener{host: host, pipes: p, alive: alive, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[host] = l
	return l
}

// dial connects to the host of an address.
func (p *pipes) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	l := p.listeners[host]
	p.mu.Unlock()
	if l == nil || !l.alive() {
		return nil, fmt.Errorf("dial %s: %w", host, syscall.ECONNREFUSED)
	}
	here, there := net.Pipe()
	select {
	case l.conns <- pipeConn{there, l.alive}:
		return here, nil
	case <-l.closed:
		return nil, fmt.Errorf("dial %s: %w", host, syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	l.pipes.mu.Lock()
	defer l.pipes.mu.Unlock()
	if l.pipes.listeners[l.host] == l {
		delete(l.pipes.listeners, l.host)
	}
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr(l.host) }

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// pipeConn is the end of a connection that a process holds: a dead one says nothing more.
type pipeConn struct {
	net.Conn
	alive func() bool
}

func (c pipeConn) Write(b []byte) (int, error) {
	if !c.alive() {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}
