package api

import (
	"context"
	"net/http"
	"sync"

	"github.com/skerry/skerry/web/auth"
)

// streams counts the streams of events that are open. It is safe for concurrent use.
type streams struct {
	all, viewer int // how many there may be, and how many one viewer may have

	mu   sync.Mutex
	open int            // guarded by mu
	of   map[string]int // by account; guarded by mu
}

func (s *streams) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// EnterStream takes one of the bounded number of open streams, for who makes the request of ctx; leave gives it back. The tokens of an account are
// the account: it makes as many as it likes. Where nobody has to log in, each token and each browser that was let in by a link is a viewer, and all
// that say nothing of who they are are one.
func (a *API) EnterStream(ctx context.Context) (leave func(), err error) {
	p, s := auth.From(ctx), a.streams
	who := p.Account
	if who == "" { // nobody logs in; no account has such a name
		who = " " + p.Key
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open >= s.all:
		return nil, refuse(http.StatusServiceUnavailable, "too-many-streams", "%d event streams are open already; close one", s.all)
	case s.of[who] >= s.viewer:
		return nil, refuse(http.StatusServiceUnavailable, "too-many-streams", "you have %d event streams open already; close one", s.viewer)
	}
	s.open++
	s.of[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		if s.of[who]--; s.of[who] == 0 {
			delete(s.of, who)
		}
	}, nil
}
