package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// What this site keeps for others about one resource is handed over in the order in which its clients asked for it, and what they
// ask for later waits behind that: an older request never overwrites a newer one of the same site.

// waitingLines are the kept requests, by resource, oldest first. They are safe for concurrent use.
type waitingLines struct {
	mu      sync.Mutex
	lines   map[queueKey]*waitingLine
	waiting int // in all lines
}

type queueKey struct {
	service ServiceName
	kind    KindName
	target  string
}

type waitingLine struct {
	turn chan struct{} // held by whoever hands a request of the line over, or drops one
	ids  []OperationID // guarded by the lines' mu
}

// lineOf names the line of a request; its target is empty for one that makes something new, which waits for nothing.
func queueKeyOf(k *Kind, r Request) queueKey {
	key := queueKey{k.Service, k.Name, r.Target}
	if r.Target == "" && k.Natural() {
		key.target = k.inside(r.Within, ChosenID(k, r.Body))
	}
	return key
}

func (w *waitingLines) of(key queueKey) *waitingLine {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[key]
	if l == nil {
		l = &waitingLine{turn: make(chan struct{}, 1)}
		w.lines[key] = l
	}
	return l
}

// join puts a request at the end of its line, unless it is in it.
func (w *waitingLines) join(key queueKey, id OperationID) {
	l := w.of(key)
	w.mu.Lock()
	defer w.mu.Unlock()
	if key.target != "" && !slices.Contains(l.ids, id) {
		l.ids = append(l.ids, id)
		w.waiting++
	}
}

// leave takes a request out of its line, and returns the one that is first then.
func (w *waitingLines) leave(key queueKey, id OperationID) (first OperationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lines[key]
	if l == nil {
		return ""
	}
	before := len(l.ids)
	l.ids = slices.DeleteFunc(l.ids, func(o OperationID) bool { return o == id })
	if w.waiting += len(l.ids) - before; len(l.ids) == 0 {
		return ""
	}
	return l.ids[0]
}

// empty reports whether nothing waits in any line.
func (w *waitingLines) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting == 0
}

// before lists what is to be handed over before a request.
func (w *waitingLines) before(key queueKey, id OperationID) []OperationID {
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
func (w *waitingLines) inTurn(ctx context.Context, key queueKey, f func() error) error {
	if key.target == "" {
		return f()
	}
	l := w.of(key)
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	return f()
}

// catchUp hands over what this site's clients have asked for before, and reports whether some of that still waits.
func (s *Site) catchUp(ctx context.Context, r Request) (waits bool, err error) {
	key := queueKeyOf(r.Kind, r)
	if len(s.lines.before(key, r.Operation)) == 0 {
		return false, nil
	}
	err = s.lines.inTurn(ctx, key, func() error {
		for _, id := range s.lines.before(key, r.Operation) {
			again, err := s.handOver(ctx, id)
			if waits = again || err != nil; waits {
				return err
			}
		}
		return nil
	})
	return waits, err
}

// deliver tries again to hand a kept request to a site that is involved, when nothing of its line is before it. It reports
// whether to try again later.
func (s *Site) deliver(ctx context.Context, id OperationID) (again bool, err error) {
	_, e, err := s.keptAs(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	key := queueKeyOf(e.Request.Kind, e.Request)
	err = s.lines.inTurn(ctx, key, func() error {
		if len(s.lines.before(key, id)) > 0 { // whoever is handed over calls the next
			again = true
			return nil
		}
		again, err = s.handOver(ctx, id)
		return err
	})
	return again, err
}

// keptAs reads a request from the outbox. ErrNotFound: it is not there any more.
func (s *Site) keptAs(ctx context.Context, id OperationID) (Kept, *kept, error) {
	row, err := s.cfg.Store.Kept(ctx, id)
	if err != nil {
		return Kept{}, nil, fmt.Errorf("read the outbox: %w", err)
	}
	e, err := s.openKept(row)
	return row, e, err
}

func (s *Site) openKept(row Kept) (*kept, error) {
	var e kept
	if err := s.unseal(row.Operation, row.Data, &e); err != nil {
		return nil, fmt.Errorf("read kept operation %s: %w", row.Operation, err)
	}
	if e.Request.Kind = s.known.Load().by[kindKey{e.Service, e.Kind}]; e.Request.Kind == nil {
		return nil, fmt.Errorf("read kept operation %s: the catalog has no kind %s.%s", row.Operation, e.Service, e.Kind)
	}
	return &e, nil
}

// dropKept gives up a request that this site keeps for others. It reports whether there is one.
func (s *Site) dropKept(ctx context.Context, id OperationID) (dropped bool, err error) {
	_, e, err := s.keptAs(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = s.lines.inTurn(ctx, queueKeyOf(e.Request.Kind, e.Request), func() error {
		_, e, err := s.keptAs(ctx, id)
		if errors.Is(err, ErrNotFound) { // it has been handed over meanwhile
			return ErrSettled
		}
		if err != nil {
			return err
		}
		if e.Deferred {
			key := digest("operation", string(id))
			if !s.keyed.start(key) { // it runs now
				return ErrSettled
			}
			defer s.keyed.end(key)
		}
		st := OperationStatus{State: StateRejected, At: s.cfg.Now(), Error: "dropped by an operator"}
		if e.Sent != "" {
			st.Error += fmt.Sprintf("; %s may have got it before", s.name(e.Sent))
		}
		return s.ended(ctx, e, Answer{}, st, e.Placement)
	})
	return true, err
}

// lineUp puts what an earlier process has kept into lines.
func (s *Site) lineUp(all []Kept) {
	for _, row := range slices.SortedFunc(slices.Values(all), func(a, b Kept) int {
		return cmp.Or(a.KeptAt.Compare(b.KeptAt), cmp.Compare(a.Operation, b.Operation))
	}) {
		if e, err := s.openKept(row); err == nil { // else it cannot be handed over before its kind is back
			s.lines.join(queueKeyOf(e.Request.Kind, e.Request), row.Operation)
		}
	}
}
