package world

import (
	"iter"
	"runtime/debug"
	"slices"
	"time"
)

// task is something that takes its time at a process, and waits again and again.
type task struct {
	p     *Process
	on    *coroutine
	do    func()
	over  bool
	ready func() bool // nil: it has not begun
	wakes time.Time   // when it is ready by itself; zero: something else has to happen
	told  bool        // what it waits for has left the process: it goes on with that even if the process dies
}

// coroutine does one task after the other: its stack has grown as large as tasks need it.
type coroutine struct {
	task    *task
	stopped bool
	resume  func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
}

// died unwinds a task whose process has died.
type died struct{}

func (died) String() string { return "the process has died" }

// spawn has f done at a process, beginning with the next Settle.
func (w *World) spawn(p *Process, f func()) {
	t := &task{p: p, do: f}
	if last := len(w.idle) - 1; last >= 0 {
		t.on, w.idle = w.idle[last], w.idle[:last]
	} else {
		t.on = w.newCoroutine()
	}
	t.on.task = t
	w.tasks = append(w.tasks, t)
}

func (w *World) newCoroutine() *coroutine {
	c := &coroutine{}
	c.resume, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for w.finish(c.task); !c.stopped && yield(struct{}{}); w.finish(c.task) {
		}
	})
	return c
}

// finish does a task to its end.
func (w *World) finish(t *task) {
	defer func() {
		t.over = true
		if r := recover(); r != nil && r != (died{}) {
			w.Problem("a panic: %v\n%s", r, debug.Stack())
		}
	}()
	t.do()
}

// end ends a task that waits. It may wait again where its agent contains what unwinds it, and does not come further there either.
func (w *World) end(t *task) {
	w.current, t.on.stopped = t, true
	t.on.stop()
	w.current = nil
}

// Do has f done at a process, as far as it comes without anything else happening first.
func (w *World) Do(p *Process, f func()) {
	w.spawn(p, f)
	w.Settle()
}

// endless is how many tasks may go on one after the other before something is wrong.
const endless = 20_000

// Settle lets tasks go on until all of them wait. In a task it does nothing: whoever runs that goes on with the others.
func (w *World) Settle() {
	if w.current != nil {
		return
	}
	for range endless {
		i := slices.IndexFunc(w.tasks, func(t *task) bool { return t.p.dead || t.ready == nil || t.ready() })
		if i < 0 {
			return
		}
		t := w.tasks[i]
		if t.p.dead && !t.told {
			w.tasks = slices.Delete(w.tasks, i, i+1)
			w.end(t)
			continue
		}
		w.current = t
		t.on.resume()
		w.current = nil
		if t.over {
			w.tasks = slices.DeleteFunc(w.tasks, func(o *task) bool { return o == t })
			w.idle = append(w.idle, t.on)
		}
	}
	w.Problem("one thing happens after the other and it never ends")
}

// wait lets others go on until something is ready. A task that is not under way cannot wait.
func (w *World) wait(ready func() bool) { w.waitUntil(ready, time.Time{}) }

func (w *World) waitUntil(ready func() bool, wakes time.Time) {
	t := w.current
	for !ready() {
		if t == nil {
			panic("something waits that is no task")
		}
		t.ready, t.wakes = ready, wakes
		if t.p.dead || !t.on.yield(struct{}{}) {
			panic(died{})
		}
	}
	if t != nil {
		told := t.told
		if t.told = false; t.p.dead && !told {
			panic(died{})
		}
	}
}

// tell has a process tell something: who waits for that gets it, whatever becomes of the process then.
func (w *World) tell(p *Process, tells func()) {
	var waiting []*task
	for _, t := range w.tasks {
		if t.p == p && t.ready != nil && !t.ready() {
			waiting = append(waiting, t)
		}
	}
	tells()
	for _, t := range waiting {
		t.told = t.ready()
	}
}

// sleep lets time pass for a task.
func (w *World) sleep(d time.Duration) {
	if d > 0 {
		at := w.Now.Add(d)
		w.waitUntil(func() bool { return !w.Now.Before(at) }, at)
	}
}

// Close ends all tasks.
func (w *World) Close() {
	for _, t := range w.tasks {
		w.end(t)
	}
	for _, c := range w.idle {
		c.stop()
	}
	w.tasks, w.idle = nil, nil
}
