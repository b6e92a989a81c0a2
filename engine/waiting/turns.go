package waiting

import (
	"context"
	"sync"
)

// Turns lets one at a time have a thing. It is safe for concurrent use.
type Turns[K comparable] struct {
	await func(ready func() bool)

	mu    sync.Mutex
	taken map[K]chan struct{} // closed when it is given back
}

// NewTurns returns turns of which nobody has any. Await, unless nil, is called by who has to wait, and returns when ready is true.
func NewTurns[K comparable](await func(ready func() bool)) *Turns[K] {
	return &Turns[K]{await: await, taken: map[K]chan struct{}{}}
}

// Take waits for a thing; release gives it back.
func (t *Turns[K]) Take(ctx context.Context, key K) (release func(), err error) {
	for {
		release, wait := t.Try(key)
		if release != nil {
			return release, nil
		}
		if t.await != nil {
			t.await(func() bool { return struck(wait) || ctx.Err() != nil })
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func struck(ring <-chan struct{}) bool {
	select {
	case <-ring:
		return true
	default:
		return false
	}
}

// Try takes a thing that is free. Else release is nil, and wait is closed when it may be free.
func (t *Turns[K]) Try(key K) (release func(), wait <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait, taken := t.taken[key]; taken {
		return nil, wait
	}
	done := make(chan struct{})
	t.taken[key] = done
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.taken, key)
		close(done)
	}, nil
}
