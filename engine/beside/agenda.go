package beside

import (
	"cmp"
	"container/heap"
	"context"
	"sync"
	"time"
)

// agenda says what is to be done when, each thing once. What is added while it is being done is done once more. It is bounded by how
// many things there are. Goroutines drive it, or a simulation steps it, which so decides what happens when. It is safe for concurrent
// use.
type agenda[K comparable] struct {
	now     func() time.Time
	backoff func(tries int) time.Duration
	most    int           // done at once
	rings   chan struct{} // capacity 1

	mu      sync.Mutex
	chores  map[K]*chore[K]
	waiting choreHeap[K]
	added   uint64
	running int
}

// chore is one thing to be done.
type chore[K comparable] struct {
	key     K
	due     time.Time
	number  uint64 // what is due at one time is done in the order in which it was added
	tries   int
	place   int // among those that wait
	running bool
	again   bool // it was added while it was being done
}

func newAgenda[K comparable](now func() time.Time, backoff func(tries int) time.Duration, most int) *agenda[K] {
	return &agenda[K]{now: now, backoff: backoff, most: most, rings: make(chan struct{}, 1), chores: map[K]*chore[K]{}}
}

// add has k done after a delay, or earlier where it is to be done earlier already.
func (a *agenda[K]) add(k K, delay time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	due, c := a.now().Add(delay), a.chores[k]
	switch {
	case c == nil:
		c = &chore[K]{key: k, due: due}
		a.chores[k] = c
		a.push(c)
	case c.running:
		if !c.again || due.Before(c.due) {
			c.due = due
		}
		c.again = true
	case due.Before(c.due):
		c.due = due
		heap.Fix(&a.waiting, c.place)
	}
	a.ring()
}

func (a *agenda[K]) push(c *chore[K]) {
	a.added++
	c.number = a.added
	heap.Push(&a.waiting, c)
}

func (a *agenda[K]) ring() {
	select {
	case a.rings <- struct{}{}:
	default:
	}
}

// hurry has everything that match selects done now, as if it had not been tried before.
func (a *agenda[K]) hurry(match func(K) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for k, c := range a.chores {
		if match(k) {
			c.tries = 0
			if !c.running && now.Before(c.due) {
				c.due = now
			}
		}
	}
	heap.Init(&a.waiting)
	a.ring()
}

// step does one thing that is due, if there is one and not too many are being done, and returns when the next is due; zero: none
// waits that could be done. Do reports whether to try again later.
func (a *agenda[K]) step(now time.Time, do func(K) (again bool)) (next time.Time) {
	if c := a.take(now); c != nil {
		a.done(c, do(c.key))
	}
	return a.next()
}

func (a *agenda[K]) take(now time.Time) *chore[K] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running >= a.most || len(a.waiting) == 0 || now.Before(a.waiting[0].due) {
		return nil
	}
	c := heap.Pop(&a.waiting).(*chore[K])
	c.running = true
	a.running++
	if len(a.waiting) > 0 {
		a.ring() // somebody else may do the next
	}
	return c
}

func (a *agenda[K]) done(c *chore[K], again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	c.running = false
	if !again {
		c.tries = 0
	} else {
		c.tries++
		if due := a.now().Add(a.backoff(c.tries)); !c.again || due.Before(c.due) {
			c.due = due
		}
		c.again = true
	}
	if !c.again {
		delete(a.chores, c.key)
	} else {
		c.again = false
		a.push(c)
	}
	a.ring()
}

// next is when something is to be done; zero: nothing waits that could be done now or later by itself.
func (a *agenda[K]) next() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running >= a.most || len(a.waiting) == 0 {
		return time.Time{}
	}
	return a.waiting[0].due
}

// drive calls step whenever there is something to do, until ctx ends. As many may drive an agenda as may be done at once.
func (a *agenda[K]) drive(ctx context.Context, step func(context.Context, time.Time) time.Time) {
	for ctx.Err() == nil {
		next := step(ctx, a.now())
		wait := time.Hour // only what is added, or the end of what is being done, changes that
		if !next.IsZero() {
			wait = next.Sub(a.now())
		}
		if wait <= 0 {
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-a.rings:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

type choreHeap[K comparable] []*chore[K]

func (h choreHeap[K]) Len() int { return len(h) }

func (h choreHeap[K]) Less(i, j int) bool {
	return cmp.Or(h[i].due.Compare(h[j].due), cmp.Compare(h[i].number, h[j].number)) < 0
}

func (h choreHeap[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *choreHeap[K]) Push(x any) {
	c := x.(*chore[K])
	c.place = len(*h)
	*h = append(*h, c)
}

func (h *choreHeap[K]) Pop() any {
	old := *h
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return c
}
