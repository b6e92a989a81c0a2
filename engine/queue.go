package engine

import (
	"cmp"
	"container/heap"
	"context"
	"sync"
	"time"
)

// job names a piece of work that waits: a resource to bring up to date, an intent to settle, a kept request to deliver, a
// body to fetch, a service of the application to try again, a resource to look at, a container whose contents to tell, the next
// resources to have looked at, the end of waiting for other sites, rows to delete, a resource that others may rely on, one that may rely on
// others, or one that is no more and may have had parts. Exactly one field is set.
type job struct {
	document  DocumentID
	intent    OperationID
	kept      OperationID
	body      bodyJob
	probe     ServiceName
	look      DocumentID
	contents  DocumentID
	sweep     bool
	forget    bool
	alone     bool
	relied    DocumentID
	supported DocumentID
	owner     DocumentID
	vacate    SiteID
}

// low reports whether j waits for what is due besides.
func (j job) low() bool { return j.look != "" || j.contents != "" || j.sweep || j.forget }

// overdue is how long a low job may wait for others before one of them runs all the same.
const overdue = 5 * time.Second

// queue holds each waiting job once, with the time before which it must not run. Jobs that were added while they
// run are run once more. Its size is bounded by the number of documents, intents and kept requests. It is safe for
// concurrent use.
type queue struct {
	now   func() time.Time
	mu    sync.Mutex
	items map[job]*item
	heap  itemHeap
	low   itemHeap // jobs that wait for those of heap
	lows  int      // low jobs that run
	most  int      // low jobs that may run at once
	wake  chan struct{}
	tries map[job]int
	added uint64 // counts additions, so that what is due at one time runs in the order in which it was added
}

type item struct {
	job     job
	due     time.Time
	number  uint64
	at      int // in the heap, -1 while it runs
	again   bool
	running bool
}

func newQueue(now func() time.Time, lows int) *queue {
	return &queue{now: now, most: lows, items: map[job]*item{}, wake: make(chan struct{}, 1), tries: map[job]int{}}
}

func (q *queue) heapOf(j job) *itemHeap {
	if j.low() {
		return &q.low
	}
	return &q.heap
}

// add makes j due after delay, or earlier when it is due earlier already.
func (q *queue) add(j job, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := q.now().Add(delay)
	it := q.items[j]
	switch {
	case it == nil:
		q.added++
		it = &item{job: j, due: due, number: q.added}
		q.items[j] = it
		heap.Push(q.heapOf(j), it)
	case it.running:
		if !it.again || due.Before(it.due) {
			it.due = due
		}
		it.again = true
	case due.Before(it.due):
		it.due = due
		heap.Fix(q.heapOf(j), it.at)
	}
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// hurry makes everything that match selects due now.
func (q *queue) hurry(match func(job) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	for j, it := range q.items {
		if match(j) {
			it.due = now
			delete(q.tries, j)
		}
	}
	heap.Init(&q.heap)
	heap.Init(&q.low)
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

// takeDue returns a job that is due, with a wait of zero, or how long it is until one will be.
func (q *queue) takeDue() (j job, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	wait = time.Hour // only an addition or the end of a low job changes that
	from := (*itemHeap)(nil)
	if len(q.heap) > 0 {
		if wait = min(wait, q.heap[0].due.Sub(now)); wait <= 0 {
			from = &q.heap
		}
	}
	if len(q.low) > 0 && q.lows < q.most {
		due := q.low[0].due.Sub(now)
		wait = min(wait, due)
		if due <= 0 && (from == nil || q.lows == 0 && due < -overdue) {
			from = &q.low
		}
	}
	if from == nil {
		return job{}, wait
	}
	it := heap.Pop(from).(*item)
	it.running = true
	if it.job.low() {
		q.lows++
	}
	if len(q.heap)+len(q.low) > 0 {
		q.signal() // let the next worker look
	}
	return it.job, 0
}

// next returns when the next job is due; false when none waits.
func (q *queue) next() (due time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range []itemHeap{q.heap, q.low} {
		if len(h) > 0 && (!ok || h[0].due.Before(due)) {
			due, ok = h[0].due, true
		}
	}
	return due, ok
}

// due returns when j is due; zero: it runs, or does not wait.
func (q *queue) due(j job) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it := q.items[j]; it != nil && !it.running {
		return it.due
	}
	return time.Time{}
}

// done ends the run of j. With retry it comes again after a delay that grows with the tries; without, only if it
// was added meanwhile.
func (q *queue) done(j job, retry bool, delay func(tries int) time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.items[j]
	it.running = false
	if j.low() {
		q.lows--
		q.signal()
	}
	if retry {
		q.tries[j]++
		due := q.now().Add(delay(q.tries[j]))
		if !it.again || due.Before(it.due) {
			it.due = due
		}
		it.again = true
	} else {
		delete(q.tries, j)
	}
	if !it.again {
		delete(q.items, j)
		return
	}
	it.again = false
	q.added++
	it.number = q.added
	heap.Push(q.heapOf(j), it)
	q.signal()
}

type itemHeap []*item

func (h itemHeap) Len() int { return len(h) }
func (h itemHeap) Less(i, j int) bool {
	return cmp.Or(h[i].due.Compare(h[j].due), cmp.Compare(h[i].number, h[j].number)) < 0
}
func (h itemHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }
func (h *itemHeap) Push(x any)   { it := x.(*item); it.at = len(*h); *h = append(*h, it) }
func (h *itemHeap) Pop() any {
	old := *h
	it := old[len(old)-1]
	*h = old[:len(old)-1]
	it.at = -1
	return it
}
