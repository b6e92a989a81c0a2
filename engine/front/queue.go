package front

import (
	"cmp"
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// job names a piece of work that waits: a kept request to hand over or to run, an errand to settle, or a container to be looked into.
// Exactly one field is set.
type job struct {
	kept     engine.OperationID
	errand   engine.OperationID
	contents engine.DocumentID
}

// toOthers is the lane of what waits for other sites, ours of what this agent does by itself. No service can be called so.
const (
	toOthers engine.ServiceName = " others"
	ours     engine.ServiceName = " ours"
)

// queue holds each waiting job once, with the time before which it must not run, in the lane of what it waits for. What hangs in one
// service of the application takes no place from what is for others. Its size is bounded by the number of kept requests, errands and
// containers. It is safe for concurrent use.
type queue struct {
	now   func() time.Time
	width int
	wake  chan struct{} // capacity 1

	mu    sync.Mutex
	jobs  map[job]*waiting
	lanes map[engine.ServiceName]*lane
	added uint64 // counts additions, so that what is due at one time runs in the order in which it was added
}

type waiting struct {
	job    job
	lane   engine.ServiceName
	due    time.Time
	number uint64
	place  int // in the lane; -1 while it runs
	tries  int
	again  bool               // it was added while it runs
	runsIn engine.ServiceName // while it runs
}

type lane struct {
	heap    dueHeap
	running int
}

func newQueue(now func() time.Time, width int) *queue {
	return &queue{now: now, width: width, wake: make(chan struct{}, 1), jobs: map[job]*waiting{}, lanes: map[engine.ServiceName]*lane{}}
}

func (q *queue) laneOf(name engine.ServiceName) *lane {
	l := q.lanes[name]
	if l == nil {
		l = &lane{}
		q.lanes[name] = l
	}
	return l
}

// add makes j due after delay, or earlier when it is due earlier already.
func (q *queue) add(j job, in engine.ServiceName, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := q.now().Add(delay)
	w := q.jobs[j]
	switch {
	case w == nil:
		w = &waiting{job: j, lane: in, due: due}
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

func (q *queue) push(w *waiting) {
	q.added++
	w.number, w.again = q.added, false
	heap.Push(&q.laneOf(w.lane).heap, w)
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// hurry makes everything that waits in a lane due now.
func (q *queue) hurry(in engine.ServiceName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	for _, w := range q.laneOf(in).heap {
		w.due, w.tries = now, 0
	}
	heap.Init(&q.laneOf(in).heap)
	q.signal()
}

// take waits for a job that is due.
func (q *queue) take(ctx context.Context) (job, error) {
	for {
		j, wait := q.takeDue()
		if wait == 0 {
			return j, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return job{}, ctx.Err()
		case <-q.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// first returns the lane whose next job is due first, of those that have room; nil: there is none.
func (q *queue) first() *lane {
	var first *lane
	for _, l := range q.lanes {
		if len(l.heap) > 0 && l.running < q.width && (first == nil || l.heap[0].before(first.heap[0])) {
			first = l
		}
	}
	return first
}

// takeDue returns a job that is due, with a wait of zero, or how long it is until one will be.
func (q *queue) takeDue() (j job, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.first()
	if l == nil {
		return job{}, time.Hour // only an addition or the end of a job changes that
	}
	if wait = l.heap[0].due.Sub(q.now()); wait > 0 {
		return job{}, wait
	}
	w := heap.Pop(&l.heap).(*waiting)
	w.runsIn = w.lane
	l.running++
	return w.job, 0
}

// next returns when the next job is due; false when none waits.
func (q *queue) next() (due time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.first(); l != nil {
		return l.heap[0].due, true
	}
	return due, false
}

// due returns when j is due; zero: it runs, or does not wait.
func (q *queue) due(j job) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.jobs[j]; w != nil && w.place >= 0 {
		return w.due
	}
	return time.Time{}
}

// done ends the run of j. With retry it comes again after a delay that grows with the tries; without, only if it was added meanwhile.
func (q *queue) done(j job, retry bool, delay func(tries int) time.Duration) {
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

func (w *waiting) before(v *waiting) bool {
	return cmp.Or(w.due.Compare(v.due), cmp.Compare(w.number, v.number)) < 0
}

type dueHeap []*waiting

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].place, h[j].place = i, j }
func (h *dueHeap) Push(x any)        { w := x.(*waiting); w.place = len(*h); *h = append(*h, w) }
func (h *dueHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.place = -1
	return w
}
