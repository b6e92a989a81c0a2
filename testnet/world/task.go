package world

import (
	"iter"
	"runtime/debug"
	"slices"
	"time"
)

// task is something that takes its time at a process: a coroutine that waits again and again.
type task struct {
	p      *Process
	ready  func() bool // nil: it has not begun
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	wakes  time.Time // when it is ready by itself; zero: something else has to happen
}

// died unwinds a task whose process has died.
type died struct{}

func (died) String() string { return "the process has died" }

// spawn has f done at a process, beginning with the next Settle.
func (w *World) spawn(p *Process, f func()) {
	t := &task{p: p}
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != (died{}) {
				w.Problem("a panic: %v\n%s", r, debug.Stack())
			}
		}()
		t.yield = yield
		f()
	})
	w.tasks = append(w.tasks, t)
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
		if t.p.dead {
			w.tasks = slices.Delete(w.tasks, i, i+1)
			t.stop()
			continue
		}
		w.current = t
		_, more := t.resume()
		w.current = nil
		if !more {
			w.tasks = slices.DeleteFunc(w.tasks, func(o *task) bool { return o == t })
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
		if t.p.dead || !t.yield(struct{}{}) {
			panic(died{})
		}
	}
	if t != nil && t.p.dead {
		panic(died{})
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
		t.stop()
	}
	w.tasks = nil
}
