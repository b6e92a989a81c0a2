package engine

import (
	"context"
	"sync"
)

// lanes bound how many jobs of one service run at once: what hangs in one service of the application takes no worker from
// the others. It is safe for concurrent use.
type lanes struct {
	width int
	mu    sync.Mutex
	busy  map[ServiceName]int
	// waiting holds jobs for which their lane had no place, in the order in which they came. Each job is there once, since
	// the queue takes it for running.
	waiting map[ServiceName][]job
}

func newLanes(width int) *lanes {
	return &lanes{width: width, busy: map[ServiceName]int{}, waiting: map[ServiceName][]job{}}
}

// enter takes a place in a lane. Without one, the job waits there for leave to hand it out.
func (l *lanes) enter(service ServiceName, j job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[service] == l.widthOf(service) {
		l.waiting[service] = append(l.waiting[service], j)
		return false
	}
	l.busy[service]++
	return true
}

// bodyLane is the lane of bodies that are fetched. No service can be called so.
const bodyLane ServiceName = " bodies"

func (l *lanes) widthOf(service ServiceName) int {
	if service == bodyLane {
		return maxFetches
	}
	return l.width
}

// leave gives a place back, or keeps it for the job that it returns.
func (l *lanes) leave(service ServiceName) (job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.waiting[service]; len(w) > 0 {
		l.waiting[service] = w[1:]
		return w[0], true
	}
	l.busy[service]--
	return job{}, false
}

// serviceOf returns the service whose application a job asks; empty for one that asks other sites, or nobody. Bodies have a lane
// of their own.
func (s *Site) serviceOf(ctx context.Context, j job) ServiceName {
	switch {
	case j.body != (bodyJob{}):
		return bodyLane
	case j.document != "":
		if row, err := s.cfg.Store.ResourceByDocument(ctx, j.document); err == nil {
			return row.Service
		}
	case j.kept != "":
		if _, e, err := s.keptAs(ctx, j.kept); err == nil && e.Deferred {
			return e.Service
		}
	case j.intent != "":
		if c, ok := s.openIntent(ctx, j.intent); ok {
			return c.Service
		}
	}
	return ""
}
