package engine

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// hold says why a resource is not tried now: to all sites when people have to do something about it, else here. The caller
// holds r.mu, and r.view is loaded.
func (s *Site) hold(ctx context.Context, r *resource, w *Waiting) error {
	v := r.view
	published := v.replicas[s.cfg.Self].Waits
	changed := v.wait(w)
	tell := w != nil && (w.State == QueuePaused || w.State == QueueMismatch)
	switch {
	case tell && (published == nil || *published != *w):
		entry := v.withSettled(v.local(), s.cfg.Now())
		entry.Waits = w
		return s.write(ctx, r, []Entry{v.replicaAs(entry)}, &Batch{})
	case !tell && published != nil:
		return s.write(ctx, r, []Entry{s.replicaEntry(v, v.local())}, &Batch{})
	case !changed:
		return nil
	}
	return s.store(ctx, r, &Batch{})
}

// note remembers why an operation has to be tried again, so that it is visible.
func (s *Site) note(ctx context.Context, r *resource, o *Operation, reply Reply, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, openErr := s.open(ctx, r)
	if openErr != nil {
		return openErr
	}
	s.attempt(v, o, reply, err)
	v.touched[o.ID] = true
	if wait := s.respite(reply); wait > 0 {
		r.notBefore = s.cfg.Now().Add(wait)
	}
	return s.store(ctx, r, &Batch{})
}

// later has an operation tried again, after an answer to a request of the agent's own that did not settle it. Alone: the
// service lets the agent in, but not to this resource.
func (s *Site) later(ctx context.Context, r *resource, o *Operation, reply Reply, err error, alone bool) error {
	unlock := r.lock()
	defer unlock()
	v, openErr := s.open(ctx, r)
	if openErr == nil {
		w := s.waitingFor(v.about.Service)
		if alone {
			w = &Waiting{QueuePaused, s.cfg.Now(), "the application does not let the agent do this: " + tell(reply, err)}
			if old := v.replicas[s.cfg.Self].Waits; old != nil && old.Reason == w.Reason {
				w = old
			}
		}
		openErr = s.hold(ctx, r, w)
	}
	unlock()
	if openErr != nil {
		return openErr
	}
	return s.note(ctx, r, o, reply, err)
}

// maxRespite bounds what an application may ask for with Retry-After.
const maxRespite = 10 * time.Minute

// respite is how long an application is to be left alone after this answer; zero: as long as the backoff says.
func (s *Site) respite(r Reply) time.Duration {
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
		return s.cfg.RetryMax // somebody has to change the credentials
	}
	after := r.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int(maxRespite/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(at.Sub(s.cfg.Now()), maxRespite)
	}
	return 0
}

func (s *Site) attempt(v *view, o *Operation, reply Reply, err error) {
	t := Attempt{At: s.cfg.Now(), Status: reply.Status}
	if err != nil || reply.Status >= 300 {
		t.Error = tell(reply, err)
	}
	v.tried(o.ID, t)
}
