package front

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
)

// What this site keeps for others about one resource is handed over in the order in which its clients asked for it, and what they
// ask for later waits behind that: an older request never overwrites a newer one of the same site.

// lines are the kept requests, by resource, oldest first. They are safe for concurrent use.
type lines struct {
	await func(ready func() bool) // Config.Await

	mu      sync.Mutex
	lines   map[lineKey]*line
	waiting int // in all lines
}

type lineKey struct {
	service engine.ServiceName
	kind    engine.KindName
	target  string // empty for what makes something new, which waits for nothing
}

type line struct {
	turn chan struct{}        // held by whoever hands a request of the line over, or drops one
	ids  []engine.OperationID // guarded by the lines' mu
	used int                  // how many have the turn or wait for it; likewise
}

func newLines(await func(func() bool)) lines {
	return lines{await: await, lines: map[lineKey]*line{}}
}

// lineOf names the line of a request.
func lineOf(r engine.Request) lineKey { return lineKey{r.Kind.Service, r.Kind.Name, chosenName(r)} }

// byAge orders kept requests, the oldest first.
func byAge(a, b engine.Kept) int {
	return cmp.Or(a.KeptAt.Compare(b.KeptAt), cmp.Compare(a.Operation, b.Operation))
}

// of returns a line, which it makes where there is none. The caller holds mu.
func (w *lines) of(key lineKey) *line {
	l := w.lines[key]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		w.lines[key] = l
	}
	return l
}

// tidy forgets a line in which nothing waits. The caller holds mu.
func (w *lines) tidy(key lineKey) {
	if l := w.lines[key]; l != nil && len(l.ids) == 0 && l.used == 0 {
		delete(w.lines, key)
	}
}

// join puts a request at the end of its line, unless it is in it. It reports whether nothing is before it.
func (w *lines) join(key lineKey, id engine.OperationID) (first bool) {
	if key.target == "" {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.of(key)
	if !slices.Contains(l.ids, id) {
		l.ids = append(l.ids, id)
		w.waiting++
	}
	return l.ids[0] == id
}

// leave takes a request out of its line, and returns the one that is first then.
func (w *lines) leave(key lineKey, id engine.OperationID) (first engine.OperationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[key]
	if l == nil {
		return ""
	}
	before := len(l.ids)
	l.ids = slices.DeleteFunc(l.ids, func(o engine.OperationID) bool { return o == id })
	w.waiting += len(l.ids) - before
	if len(l.ids) > 0 {
		return l.ids[0]
	}
	w.tidy(key)
	return ""
}

// empty reports whether nothing waits in any line.
func (w *lines) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting == 0
}

// before lists what is to be handed over before a request.
func (w *lines) before(key lineKey, id engine.OperationID) []engine.OperationID {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[key]
	if l == nil {
		return nil
	}
	if i := slices.Index(l.ids, id); i >= 0 {
		return slices.Clone(l.ids[:i])
	}
	return slices.Clone(l.ids)
}

// inTurn runs f while nothing else of a line is handed over.
func (w *lines) inTurn(ctx context.Context, key lineKey, f func() error) error {
	if key.target == "" {
		return f()
	}
	w.mu.Lock()
	l := w.of(key)
	l.used++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.used--
		w.tidy(key)
	}()
	if w.await != nil {
		w.await(func() bool { return len(l.turn) == 0 || ctx.Err() != nil })
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	return f()
}

// catchUp hands over what this site's clients have asked for before, and reports whether some of that still waits.
func (o *Outbox) catchUp(ctx context.Context, r engine.Request) (waits bool, err error) {
	key := lineOf(r)
	if len(o.lines.before(key, r.Operation)) == 0 {
		return false, nil
	}
	err = o.lines.inTurn(ctx, key, func() error {
		for _, id := range o.lines.before(key, r.Operation) {
			again, err := o.handOver(ctx, id)
			if waits = again || err != nil; waits {
				return err
			}
		}
		return nil
	})
	return waits, err
}

// deliver tries again to hand a kept request over, when nothing of its line is before it: whoever is handed over calls the next. It
// reports whether to try again later.
func (o *Outbox) deliver(ctx context.Context, id engine.OperationID) (again bool, err error) {
	_, e, err := o.read(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	key := lineOf(e.Request)
	o.lines.join(key, id)
	err = o.lines.inTurn(ctx, key, func() error {
		if len(o.lines.before(key, id)) > 0 {
			return nil
		}
		again, err = o.handOver(ctx, id)
		return err
	})
	return again || err != nil, err
}
