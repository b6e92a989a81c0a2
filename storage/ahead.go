package storage

import (
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
)

// ahead are the batches of which somebody has been told before they are durable. Who looks for what one of them is about waits for it, so
// that nobody misses what they know of. It is safe for concurrent use.
type ahead struct {
	mu  sync.Mutex
	now []*told // guarded by mu
}

type told struct {
	batch *engine.Batch
	over  chan struct{} // closed when it is durable, or has failed
}

// tell tells of b, if somebody is to be told, and returns what is to be called when b is over.
func (a *ahead) tell(b *engine.Batch) (over func()) {
	if b.Told == nil {
		return func() {}
	}
	t := &told{b, make(chan struct{})}
	a.mu.Lock()
	a.now = append(a.now, t)
	a.mu.Unlock()
	b.Told()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now = slices.DeleteFunc(a.now, func(o *told) bool { return o == t })
		close(t.over)
	}
}

// wait waits for the batches that are about something.
func (a *ahead) wait(about func(*engine.Batch) bool) {
	a.mu.Lock()
	var over []chan struct{}
	for _, t := range a.now {
		if about(t.batch) {
			over = append(over, t.over)
		}
	}
	a.mu.Unlock()
	for _, c := range over {
		<-c
	}
}

// anything is for lists: any batch may be about what they show.
func anything(*engine.Batch) bool { return true }

// called is for resources of a name: what others call it, or what this site does.
func called(service engine.ServiceName, kind engine.KindName, id string) func(*engine.Batch) bool {
	return func(b *engine.Batch) bool {
		for i := range b.Records {
			if r := &b.Records[i].Row; r.Service == service && r.Kind == kind && (string(r.ID) == id || string(r.Local) == id) {
				return true
			}
		}
		return false
	}
}
