package door

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// Handed is a client whose next request another process answers.
type Handed struct {
	Conn net.Conn
	// TLS is what was agreed with the client, whose bytes Conn has in clear; nil without.
	TLS *tls.ConnectionState
	// Before is what was read of the request. It is valid until the call returns.
	Before []byte
}

// Leave has another process answer from now on: the listener is closed, and each client goes to heir as soon as no request of it is under
// way, or it asks something that is not plain. Heir reports whether it has the client, and then closes the connection. Leave returns when
// nothing that is not plain is under way any more, or has begun to come in, but what Pass was called for; after Drain at the latest. The rest of
// what is under way goes on until it has ended, or Serve's ctx does.
func (d *Door) Leave(ctx context.Context, heir func(Handed) bool) {
	d.mu.Lock()
	d.heir.Store(&heir)
	d.mu.Unlock()
	close(d.left)
	ctx, cancel := context.WithTimeout(ctx, d.Drain)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for quiet := time.Now(); ; {
		settled, multi, streams := d.settled()
		if streams {
			quiet = time.Now()
		}
		if settled && !(multi && time.Since(quiet) < settles) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// settles is how long clients of HTTP/2, if there are any, must have had nothing that is not plain: net/http tells of a stream only once its
// handler runs, and not when its client knows that there are to be no more.
const settles = 250 * time.Millisecond

// settled reports whether all that net/http has of HTTP/1 is settled; whether it has clients of HTTP/2, and streams of theirs that are not.
func (d *Door) settled() (all, multi, streams bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all = true
	for b := range d.lent {
		is := b.settled()
		all, multi, streams = all && is, multi || b.multi, streams || b.multi && !is
	}
	return all, multi, streams
}

// Adopt serves a client that another process has left; from then on h is the door's. It reports false, and has done nothing, when ctx ends before
// Serve takes it, or Serve has.
func (d *Door) Adopt(ctx context.Context, h Handed) bool {
	select {
	case d.adopted <- h:
		return true
	case <-d.over:
		heir := d.heir.Load()
		return heir != nil && (*heir)(h)
	case <-ctx.Done():
		return false
	}
}

// giveIdle gives the heir those that have no request under way.
func (d *Door) giveIdle() {
	d.all((*client).nudge)
	d.mu.Lock()
	defer d.mu.Unlock()
	for b := range d.lent {
		b.nudge()
	}
}

// leave waits until nobody is there any more, or ctx ends.
func (r *rest) leave(ctx context.Context) {
	var over sync.WaitGroup
	over.Go(func() { _ = r.multi.Shutdown(ctx) }) // those that it leaves are ended later
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for r.d.occupied() {
		r.d.giveIdle()
		select {
		case <-ctx.Done():
		case <-look.C:
			continue
		}
		break
	}
	over.Wait()
}

// occupied reports whether a client is there.
func (d *Door) occupied() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.clients)+len(d.lent) > 0
}

// attention is the key in a context for what Pass ends.
type attention struct{}

// engage notes the requests that Rest has.
func (d *Door) engage(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := r.Context().Value(connection{}).(*begun) // all are
		pass, over := b.handles()
		defer over()
		if b.tls != nil {
			r.TLS = b.tls
		}
		if b.once {
			w = &lastAnswer{ResponseWriter: w}
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), attention{}, pass)))
	})
}

// lastAnswer has the client come again for the next one.
type lastAnswer struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter. What came before an answer may have taken the header away.
func (l *lastAnswer) WriteHeader(status int) {
	if status >= 200 {
		l.begun = true
		l.Header().Set("Connection", "close")
	}
	l.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (l *lastAnswer) Write(b []byte) (int, error) {
	if !l.begun {
		l.WriteHeader(http.StatusOK)
	}
	return l.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (l *lastAnswer) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Pass says of a request that Rest has that it needs nobody but the application and its client any more.
func Pass(ctx context.Context) {
	if pass, ok := ctx.Value(attention{}).(func()); ok {
		pass()
	}
}
