package waiting

import "sync"

// Bell wakes all who wait for it. Its zero value may be used. It is safe for concurrent use.
type Bell struct {
	mu   sync.Mutex
	ring chan struct{} // closed by the next strike; nil: nobody waits
}

// Wait returns what the next strike closes.
func (b *Bell) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil {
		b.ring = make(chan struct{})
	}
	return b.ring
}

// Strike wakes them.
func (b *Bell) Strike() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring != nil {
		close(b.ring)
		b.ring = nil
	}
}

// Callers wait for what comes of something, each for another thing. They are safe for concurrent use.
type Callers[K comparable, R any] struct {
	mu      sync.Mutex
	results map[K]chan R
}

// Add has somebody wait for one result, until forget is called.
func (w *Callers[K, R]) Add(key K) (done <-chan R, forget func()) {
	c := make(chan R, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.results == nil {
		w.results = map[K]chan R{}
	}
	w.results[key] = c
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.results, key)
	}
}

// Tell gives a result to who waits for it, if anybody does, and once.
func (w *Callers[K, R]) Tell(key K, result R) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.results[key]; c != nil {
		c <- result
		delete(w.results, key)
	}
}
