package glue

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/skerry/skerry/engine"
)

// errStale: the application had closed a connection before a request was to go over it. Nothing was sent.
var errStale = errors.New("the application had closed the connection")

// fewEnds is how many connections in a row an application has to end at once after its answer, none of them used twice, to count as one that does
// so always.
const fewEnds = 2

// atOnce is how soon after its answer an application that ends each connection has done so. What ends later was idle for too long.
const atOnce = time.Second

// wire is a connection to the application that knows whether anything was sent over it.
type wire struct {
	net.Conn
	raw   syscall.RawConn // nil where there is none, as in simulations
	wrote atomic.Int64
	again atomic.Bool   // a request is to go over it that is not its first, and has not begun to
	heard atomic.Int64  // when something was last read, in nanoseconds
	ends  *atomic.Int32 // of the upstream
}

func (u *upstream) wire(c net.Conn) net.Conn {
	w := &wire{Conn: c, ends: &u.ends}
	if s, ok := c.(syscall.Conn); ok {
		w.raw, _ = s.SyscallConn()
	}
	return w
}

func (w *wire) Read(b []byte) (n int, err error) {
	n, err = w.Conn.Read(b)
	switch now := time.Now(); {
	case n > 0:
		w.heard.Store(now.UnixNano())
	case errors.Is(err, io.EOF) && now.Sub(time.Unix(0, w.heard.Load())) < atOnce:
		w.ends.Add(1)
	}
	return n, err
}

// Write sends nothing where the application has closed the connection after its last answer: a request would never be read, and nobody could say so.
func (w *wire) Write(b []byte) (n int, err error) {
	if w.stale() {
		return 0, errStale
	}
	n, err = w.Conn.Write(b)
	w.wrote.Add(int64(n))
	return n, err
}

// ReadFrom sends what can be spliced or sent as a file.
func (w *wire) ReadFrom(r io.Reader) (n int64, err error) {
	if w.stale() {
		return 0, errStale
	}
	n, err = io.Copy(w.Conn, r)
	w.wrote.Add(n)
	return n, err
}

// CloseWrite ends one direction of what was upgraded.
func (w *wire) CloseWrite() error {
	if half, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

func (w *wire) stale() bool { return w.again.Swap(false) && w.raw != nil && hungUp(w.raw) }

// over sends a request, and tells where it is certain that nothing of it has been sent.
func (u *upstream) over(t *http.Transport, r *http.Request) (*http.Response, error) {
	if u.around != nil {
		return u.around(u.Service, r, func(r *http.Request) (*http.Response, error) { return u.goes(t, r) })
	}
	return u.goes(t, r)
}

func (u *upstream) goes(t *http.Transport, r *http.Request) (*http.Response, error) {
	var on *wire
	var before int64
	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		conn := got.Conn
		if secure, ok := conn.(*tls.Conn); ok {
			conn = secure.NetConn()
		}
		if on, reused = nil, got.Reused; conn != nil {
			if on, _ = conn.(*wire); on != nil {
				before = on.wrote.Load()
				on.again.Store(reused)
			}
		}
	}}
	resp, err := t.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	switch {
	case err == nil && reused:
		u.ends.Store(0) // it keeps connections
	case err != nil && on != nil && on.wrote.Load() == before && r.Context().Err() == nil:
		if reused {
			err = fmt.Errorf("%w: %w", errStale, err)
		}
		err = fmt.Errorf("%w: %w", engine.ErrUnreachable, err)
	}
	return resp, err
}

// keeps reports whether the application keeps connections. Some servers close each after its answer without saying so. What changes something must
// not meet that: it has a connection of its own there.
func (u *upstream) keeps() bool { return u.ends.Load() < fewEnds }
