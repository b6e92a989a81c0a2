package front

import (
	"context"
	"sync"

	"github.com/skerry/skerry/engine"
)

// turns lets one at a time have a thing: of those who make an object of one name, say, or who settle what was asked for it. Nobody
// who has a thing waits for one that is named after it here: a name in a container, a choice, what is made, what is settled. It is
// safe for concurrent use.
type turns struct {
	await func(ready func() bool) // Config.Await

	mu    sync.Mutex
	taken map[turn]chan struct{} // closed when it is given back
}

type turn struct {
	what    string
	service engine.ServiceName
	kind    engine.KindName
	name    string
}

func newTurns(await func(func() bool)) *turns {
	return &turns{await: await, taken: map[turn]chan struct{}{}}
}

// take waits for a thing; release gives it back.
func (t *turns) take(ctx context.Context, what string, k *engine.Kind, name string) (release func(), err error) {
	key := turn{what, k.Service, k.Name, name}
	for {
		release, wait := t.try(key)
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

// try takes a thing that is free. Else wait is closed when it may be.
func (t *turns) try(key turn) (release func(), wait <-chan struct{}) {
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
