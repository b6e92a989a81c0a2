package engine

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// resource is the live state of one document. Two locks guard it, because a call to the application may take long
// and documents must go on merging meanwhile.
type resource struct {
	id DocumentID
	// turn is held by whoever runs requests for the resource at the application: one at a time, in the order in
	// which they came. It is taken before mu.
	turn chan struct{}
	// mu guards view and every use of the document. It is held over a commit, never over a call to the application.
	mu   sync.Mutex
	view *view // nil: not loaded, or to be loaded anew
	// notBefore is when the application wants to be asked again. Guarded by mu.
	notBefore time.Time
	// news is closed when the document has changed; nil while nobody waits for that. Guarded by mu.
	news chan struct{}
	// crossings counts the beginnings and the ends of requests that change something at the application.
	crossings atomic.Uint64

	refs int           // owned by the registry
	idle *list.Element // owned by the registry
}

// take waits for the turn.
func (r *resource) take(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *resource) pass() { <-r.turn }

// lock locks mu and returns what unlocks it, once. It is deferred, too: what panics in between leaves nothing locked.
func (r *resource) lock() (unlock func()) {
	r.mu.Lock()
	return sync.OnceFunc(r.mu.Unlock)
}

// watch returns what is closed when the document changes. The caller holds mu.
func (r *resource) watch() <-chan struct{} {
	if r.news == nil {
		r.news = make(chan struct{})
	}
	return r.news
}

// changed tells those who watch. The caller holds mu.
func (r *resource) changed() {
	if r.news != nil {
		close(r.news)
		r.news = nil
	}
}

// crossing says that a request that may change the resource at the application begins; what it returns says that it has
// ended. The caller holds the turn. A nil resource has nothing to look at.
func (r *resource) crossing() (ended func()) {
	if r == nil {
		return func() {}
	}
	r.crossings.Add(1)
	return func() { r.crossings.Add(1) }
}

// crossed returns a number that is another one when a request has crossed meanwhile, and whether one is under way.
func (r *resource) crossed() (n uint64, under bool) {
	n = r.crossings.Load()
	return n, n%2 == 1
}

// registry hands out the one resource of each document and keeps the most recently used ones that nobody holds.
type registry struct {
	mu   sync.Mutex
	byID map[DocumentID]*resource
	idle *list.List // of *resource, most recently used first
	keep int
}

func newRegistry(keep int) *registry {
	return &registry{byID: map[DocumentID]*resource{}, idle: list.New(), keep: keep}
}

// acquire returns the resource of id; the caller calls release when it is done.
func (g *registry) acquire(id DocumentID) *resource {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.byID[id]
	if r == nil {
		r = &resource{id: id, turn: make(chan struct{}, 1)}
		g.byID[id] = r
	}
	if r.idle != nil {
		g.idle.Remove(r.idle)
		r.idle = nil
	}
	r.refs++
	return r
}

func (g *registry) release(r *resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.refs--; r.refs > 0 {
		return
	}
	r.idle = g.idle.PushFront(r)
	for g.idle.Len() > g.keep {
		oldest := g.idle.Remove(g.idle.Back()).(*resource)
		delete(g.byID, oldest.id)
	}
}
