package crdt

import (
	"container/list"
	"context"
	"sync"

	"github.com/skerry/skerry/engine"
)

// cache keeps the documents that were used last. It holds up to size of them, and beyond that those with
// something in them that the store does not have yet: dropping one of these would let this site give the number
// of a change twice.
type cache struct {
	size int

	mu    sync.Mutex // guards what follows; never taken before a place's lock is waited for
	used  *list.List // of *place, the last used first
	byKey map[engine.DocumentID]*list.Element
}

// place is where one document is kept.
type place struct {
	id engine.DocumentID

	mu   sync.Mutex // held while the document is in use; guards what follows
	doc  *document  // nil until it is loaded
	gone bool       // not in the cache any more: ask again
}

func newCache(size int) *cache {
	return &cache{size: size, used: list.New(), byKey: map[engine.DocumentID]*list.Element{}}
}

// lock returns the place of a document, locked; the caller unlocks it.
func (c *cache) lock(id engine.DocumentID) *place {
	for {
		c.mu.Lock()
		e := c.byKey[id]
		if e == nil {
			e = c.used.PushFront(&place{id: id})
			c.byKey[id] = e
		}
		c.used.MoveToFront(e)
		c.mu.Unlock()
		p := e.Value.(*place)
		p.mu.Lock()
		if !p.gone {
			return p
		}
		p.mu.Unlock()
	}
}

// drop takes a place that the caller has locked out of the cache.
func (c *cache) drop(p *place) {
	p.gone, p.doc = true, nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[p.id]; e != nil {
		c.used.Remove(e)
		delete(c.byKey, p.id)
	}
}

// evictTries bounds how many documents one call of evict looks at.
const evictTries = 8

// evict drops documents that were not used for long while there are too many and stored says that the store has all
// of them. The caller holds no place.
func (c *cache) evict(ctx context.Context, stored func(context.Context, *document) bool) {
	for range evictTries {
		c.mu.Lock()
		if c.used.Len() <= c.size {
			c.mu.Unlock()
			return
		}
		e := c.used.Back()
		c.used.MoveToFront(e) // whatever comes of it, the next one is another
		c.mu.Unlock()
		p := e.Value.(*place)
		if !p.mu.TryLock() {
			continue
		}
		if !p.gone && (p.doc == nil || stored(ctx, p.doc)) {
			c.drop(p)
		}
		p.mu.Unlock()
	}
}
