package site

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// item is one thing that waits for the loop: an input for a replica, what has come in a letter, or a job that has the loop to itself.
type item struct {
	document engine.DocumentID
	about    *about // makes the replica where it is not here; nil: it is here, or the input is for nobody
	input    replica.Input
	// to, unless nil, is who asked for what the input answers. When that was forgotten meanwhile, the answer is, too.
	to *resident
	// job runs in place of an input.
	job func(*wakeUp)
	// arrived is taken in, in place of an input.
	arrived *arrived
	// done is told once it is durable, or why it is not; nil: nobody is.
	done func(error)
	// lost is told that there is no replica for it; nil: done is.
	lost func(error)
	// until is how long it may wait for others, so that one commit serves them all; zero: not at all.
	until time.Time
}

// gather is how long what other sites say of themselves waits for more of that at most, when nobody waits for it; told is how long what
// this site says of itself to two others does. To more sites it is told less often, though no less often than gather: each of them checks a
// signature each time, and has as many more such letters to take in.
const (
	gather = 50 * time.Millisecond
	told   = 10 * time.Millisecond
)

// about is what a document begins with, as it was and decoded.
type about struct {
	engine.About
	raw []byte
}

// inbox holds what waits for the loop, in the order in which it came, and when it is to wake up by itself. It is safe for concurrent
// use. It is bounded by who fills it: clients, members and calls each wait for what they have put in.
type inbox struct {
	rings chan struct{} // capacity 1

	mu     sync.Mutex
	items  []item
	later  []item    // those that may wait for each other
	gather time.Time // until when they do; zero: there are none
	spare  []item
	timers timers
}

func newInbox() *inbox {
	return &inbox{rings: make(chan struct{}, 1), timers: timers{at: map[engine.DocumentID]*timer{}}}
}

func (b *inbox) put(i item) {
	b.mu.Lock()
	rings := true
	switch {
	case i.until.IsZero():
		b.items = append(b.items, i)
	case b.gather.IsZero() || i.until.Before(b.gather):
		b.later, b.gather = append(b.later, i), i.until
	default:
		b.later, rings = append(b.later, i), false // it is waited for already
	}
	b.mu.Unlock()
	if rings {
		b.ring()
	}
}

// hurry has what may wait taken with the next turn: somebody waits for it.
func (b *inbox) hurry(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.gather.IsZero() {
		b.gather = now
		b.ring()
	}
}

func (b *inbox) ring() {
	select {
	case b.rings <- struct{}{}:
	default:
	}
}

// wakeAt has a document woken at a time, or earlier where that was asked for.
func (b *inbox) wakeAt(id engine.DocumentID, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timers.set(id, at)
}

// most bounds how much one wake-up takes, so that one commit does not take for ever.
const most = 512

// take takes what waits and the documents whose time has come. More says that there is more.
func (b *inbox) take(now time.Time) (items []item, due []engine.DocumentID, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.gather.IsZero() && !b.gather.After(now) {
		b.items, b.gather = append(b.items, b.later...), time.Time{}
		clear(b.later)
		b.later = b.later[:0]
	}
	if len(b.items) <= most {
		items, b.items, b.spare = b.items, b.spare[:0], nil
	} else {
		items, more = append(b.spare[:0], b.items[:most]...), true
		b.items = append(b.items[:0], b.items[most:]...)
		b.spare = nil
	}
	for len(due) < most {
		id, ok := b.timers.due(now)
		if !ok {
			break
		}
		due = append(due, id)
	}
	return items, due, more || len(due) == most
}

// back hands the slice of take back.
func (b *inbox) back(items []item) {
	clear(items)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spare == nil {
		b.spare = items[:0]
	}
}

// next is when there is something to do: now where something waits, else when the first timer is due; ok is false for never.
func (b *inbox) next(now time.Time) (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) > 0 {
		return now, true
	}
	at, ok = b.timers.first()
	if !b.gather.IsZero() && (!ok || b.gather.Before(at)) {
		at, ok = b.gather, true
	}
	return at, ok
}

// wait waits until there is something to do; false: ctx has ended.
func (b *inbox) wait(ctx context.Context, now func() time.Time) bool {
	for ctx.Err() == nil {
		at, ok := b.next(now())
		d := at.Sub(now())
		if ok && d <= 0 {
			return true
		}
		if !ok {
			d = time.Hour
		}
		t := time.NewTimer(d)
		select {
		case <-b.rings:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return false
}

// timers are when documents are to be woken, each at most once.
type timers struct {
	at   map[engine.DocumentID]*timer
	heap timerHeap
}

type timer struct {
	document engine.DocumentID
	at       time.Time
	place    int
}

func (t *timers) set(id engine.DocumentID, at time.Time) {
	switch old := t.at[id]; {
	case old == nil:
		n := &timer{document: id, at: at}
		t.at[id] = n
		heap.Push(&t.heap, n)
	case at.Before(old.at):
		old.at = at
		heap.Fix(&t.heap, old.place)
	}
}

func (t *timers) first() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return t.heap[0].at, true
}

func (t *timers) due(now time.Time) (engine.DocumentID, bool) {
	if len(t.heap) == 0 || t.heap[0].at.After(now) {
		return "", false
	}
	n := heap.Pop(&t.heap).(*timer)
	delete(t.at, n.document)
	return n.document, true
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timerHeap) Push(x any) {
	n := x.(*timer)
	n.place = len(*h)
	*h = append(*h, n)
}

func (h *timerHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return n
}
