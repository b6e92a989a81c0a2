package engine

import (
	"context"
	"sync"
)

// naming lets one request at a time make or end an object of one name at this site's application, whichever document it is
// for. A name is taken after the turn of a resource, and no turn is taken by who has one. It is safe for concurrent use.
type naming struct {
	mu    sync.Mutex
	taken map[nameKey]chan struct{} // closed when it is released
}

type nameKey struct {
	kindKey
	name ResourceID
}

// take waits for a name; release gives it back.
func (n *naming) take(ctx context.Context, k *Kind, name ResourceID) (release func(), err error) {
	key := nameKey{kindKey{k.Service, k.Name}, name}
	for {
		n.mu.Lock()
		wait, taken := n.taken[key]
		if !taken {
			break
		}
		n.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer n.mu.Unlock()
	done := make(chan struct{})
	n.taken[key] = done
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.taken, key)
		close(done)
	}, nil
}
