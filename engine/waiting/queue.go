package waiting

import (
	"cmp"
	"container/heap"
	"context"
	"sync"
	"time"
)

// Lane names what jobs wait for: so many of one lane run at once, whatever becomes of those of others.
type Lane string

// Queue holds each waiting job once, with the time before which it must not run. Its size is bounded by who fills it. It is safe for
// concurrent use.
type Queue[J comparable] struct {
	now   func() time.Time
	width int
	wake  chan struct{} // capacity 1

	mu    sync.Mutex
	jobs  map[J]*waiting[J]
	lanes map[Lane]*lane[J]
	added uint64 // counts additions, so that what is due at one time runs in the order in which it was added
}

type waiting[J comparable] struct {
	job    J
	lane   Lane
	due    time.Time
	number uint64
	place  int // in the lane; -1 while it runs
	tries  int
	again  bool // it was added while it runs
	runsIn Lane // while it runs
}

type lane[J comparable] struct {
	heap    dueHeap[J]
	running int
}

// NewQueue returns an empty queue; width is how many jobs of one lane run at once.
func NewQueue[J comparable](now func() time.Time, width int) *Queue[J] {
	return &Queue[J]{now: now, width: width, wake: make(chan struct{}, 1), jobs: map[J]*waiting[J]{}, lanes: map[Lane]*lane[J]{}}
}

func (q *Queue[J]) laneOf(name Lane) *lane[J] {
	l := q.lanes[name]
	if l == nil {
		l = &lane[J]{}
		q.lanes[name] = l
	}
	return l
}

// Add makes j due after delay, or earlier when it is due earlier already.
func (q *Queue[J]) Add(j J, in Lane, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := q.now().Add(delay)
	w := q.jobs[j]
	switch {
	case w == nil:
		w = &waiting[J]{job: j, lane: in, due: due}
		q.jobs[j] = w
		q.push(w)
	case w.place < 0:
		if !w.again || due.Before(w.due) {
			w.due = due
		}
		w.again, w.lane = true, in
	case due.Before(w.due):
		w.due = due
		heap.Fix(&q.laneOf(w.lane).heap, w.place)
	}
	q.signal()
}

func (q *Queue[J]) push(w *waiting[J]) {
	q.added++
	w.number, w.again = q.added, false
	heap.Push(&q.laneOf(w.lane).heap, w)
}

func (q *Queue[J]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Hurry makes everything that waits in a lane due now.
func (q *Queue[J]) Hurry(in Lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	for _, w := range q.laneOf(in).heap {
		w.due, w.tries = now, 0
	}
	heap.Init(&q.laneOf(in).heap)
	q.signal()
}

// Take waits for a job that is due. Whoever has one calls Done.
func (q *Queue[J]) Take(ctx context.Context) (J, error) {
	for {
		j, wait := q.Due()
		if wait == 0 {
			return j, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return j, ctx.Err()
		case <-q.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// first returns the lane whose next job is due first, of those that have room; nil: there is none.
func (q *Queue[J]) first() *lane[J] {
	var first *lane[J]
	for _, l := range q.lanes {
		if len(l.heap) > 0 && l.running < q.width && (first == nil || l.heap[0].before(first.heap[0])) {
			first = l
		}
	}
	return first
}

// Due returns a job that is due, with a wait of zero, or how long it is until one will be.
func (q *Queue[J]) Due() (j J, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.first()
	if l == nil {
		return j, time.Hour // only an addition or the end of a job changes that
	}
	if wait = l.heap[0].due.Sub(q.now()); wait > 0 {
		return j, wait
	}
	w := heap.Pop(&l.heap).(*waiting[J])
	w.runsIn = w.lane
	l.running++
	return w.job, 0
}

// Next returns when the next job is due; false when none waits.
func (q *Queue[J]) Next() (due time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.first(); l != nil {
		return l.heap[0].due, true
	}
	return due, false
}

// At returns when j is due; zero: it runs, or does not wait.
func (q *Queue[J]) At(j J) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.jobs[j]; w != nil && w.place >= 0 {
		return w.due
	}
	return time.Time{}
}

// Done ends the run of j. With retry it comes again after a delay that grows with the tries; without, only if it was added meanwhile.
func (q *Queue[J]) Done(j J, retry bool, delay func(tries int) time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.jobs[j]
	q.laneOf(w.runsIn).running--
	if retry {
		w.tries++
		if due := q.now().Add(delay(w.tries)); !w.again || due.Before(w.due) {
			w.due = due
		}
	} else {
		w.tries = 0
	}
	if retry || w.again {
		q.push(w)
	} else {
		delete(q.jobs, j)
	}
	q.signal()
}

func (w *waiting[J]) before(v *waiting[J]) bool {
	return cmp.Or(w.due.Compare(v.due), cmp.Compare(w.number, v.number)) < 0
}

type dueHeap[J comparable] []*waiting[J]

func (h dueHeap[J]) Len() int           { return len(h) }
func (h dueHeap[J]) Less(i, j int) bool { return h[i].before(h[j]) }
func (h dueHeap[J]) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].place, h[j].place = i, j }
func (h *dueHeap[J]) Push(x any)        { w := x.(*waiting[J]); w.place = len(*h); *h = append(*h, w) }
func (h *dueHeap[J]) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.place = -1
	return w
}
