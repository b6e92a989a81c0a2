package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// drain is how long Attend waits for requests that are under way.
const drain = 10 * time.Second

// Attend has a server answer on l until ctx ends, lets requests under way finish, and closes l. It returns nil when it ended because ctx did.
func Attend(ctx context.Context, s *http.Server, l net.Listener) error {
	var open present
	s.ConnState = open.note
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	late, done := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer done()
	// Shutdown drops requests that have just come in. Before it, nobody new comes, and who is there is answered.
	l.Close()
	s.SetKeepAlivesEnabled(false)
	open.wait(late)
	if s.Shutdown(late) != nil {
		s.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// present counts the connections of a server that have a request, or none yet.
type present struct {
	mu     sync.Mutex
	states map[net.Conn]http.ConnState
}

// silent is how long a connection that has never had a request is waited for: what is on its way is there by then, on a loaded machine too.
const silent = 2 * time.Second

func (p *present) note(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state != http.StateNew && state != http.StateActive {
		delete(p.states, c)
		return
	}
	if p.states == nil {
		p.states = map[net.Conn]http.ConnState{}
	}
	p.states[c] = state
}

// wait returns when every request has been answered, or ctx ends.
func (p *present) wait(ctx context.Context) {
	begin, look := time.Now(), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	for p.any(time.Since(begin) < silent) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// any reports whether there is a connection with a request, or one that has had none yet, if those count.
func (p *present) any(fresh bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, state := range p.states {
		if fresh || state == http.StateActive {
			return true
		}
	}
	return false
}
