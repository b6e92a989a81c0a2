package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/skerry/skerry/engine"
)

const (
	// maxWaiting is how many calls wait for a commit; further ones block before they queue.
	maxWaiting = 1024
	// maxGroup is how many batches share one transaction.
	maxGroup = 256
)

// submission is something to write, on its way to the disk.
type submission struct {
	// write writes it, in the transaction that is under way. It may run more than once.
	write func(*writer) error
	// settles says that it records what became of something that an earlier batch began.
	settles bool
	done    chan error // gets one value
}

// Commit implements engine.Store. Concurrent calls share a transaction and so a sync of the disk; when that transaction fails
// each batch is tried alone, so that a bad one fails only itself. A change that is stored already is left as it is; another
// one under its number is an error.
//
// When ctx ends while b waits in the queue, b is taken out, nothing of it happens and the error is ctx's. From the moment the
// transaction has begun Commit waits for the outcome, whatever ctx says: what it returns is always what happened. b belongs
// to Commit until it returns; the bytes in it are not kept.
//
// When the disk is full, a batch that settles something finds room in the reserve; others get engine.ErrStorage until there
// is room again.
func (s *Store) Commit(ctx context.Context, b *engine.Batch) error {
	var first uint64
	p := &submission{settles: b.Settles, write: func(w *writer) (err error) {
		first, err = w.batch(b)
		return err
	}}
	defer s.ahead.tell(b)()
	err := s.queue.submit(ctx, p)
	s.lookups.forget(b)
	s.causes.forget(b)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for i := range b.Events {
		b.Events[i].Seq = first + uint64(i)
	}
	return nil
}

// queue lets callers share transactions. It has no goroutine of its own: callers take turns, and whoever has the turn commits
// for all that wait. It is safe for concurrent use.
type queue struct {
	room    chan struct{} // holds a token for each call of submit between entry and answer
	turn    chan struct{} // holds a token while one caller commits
	closing chan struct{} // closed when close begins

	mu      sync.Mutex
	waiting []*submission // guarded by mu; those not taken yet, oldest first

	// The rest belongs to whoever has the turn.
	writer  *writer
	reserve reserve
}

func newQueue(w *writer, r reserve) *queue {
	return &queue{room: make(chan struct{}, maxWaiting), turn: make(chan struct{}, 1), closing: make(chan struct{}), writer: w, reserve: r}
}

// close waits for what was taken in; later calls of submit return ErrClosed. It may be called once.
func (q *queue) close() {
	close(q.closing)
	for range cap(q.room) { // when all tokens are ours, no one is inside and no one gets in
		q.room <- struct{}{}
	}
}

// submit queues p and returns its outcome.
func (q *queue) submit(ctx context.Context, p *submission) error {
	p.done = make(chan error, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-q.closing:
		return ErrClosed
	default:
	}
	select {
	case q.room <- struct{}{}:
		defer func() { <-q.room }()
	case <-q.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	q.mu.Lock()
	q.waiting = append(q.waiting, p)
	q.mu.Unlock()
	for {
		select {
		case err := <-p.done:
			return err
		case q.turn <- struct{}{}:
			if len(p.done) == 0 {
				q.commitGroup()
			}
			<-q.turn
		case <-ctx.Done():
			if q.withdraw(p) {
				return ctx.Err()
			}
			return <-p.done
		}
	}
}

// withdraw takes p out of the queue and reports whether it was still there.
func (q *queue) withdraw(p *submission) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, p)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

func (q *queue) takeGroup() []*submission {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxGroup)
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// commitGroup commits what waits and tells each its outcome. The caller has the turn.
func (q *queue) commitGroup() {
	group := q.takeGroup()
	if err := q.reserve.take(); err != nil {
		group = slices.DeleteFunc(group, func(p *submission) bool {
			if !p.settles {
				p.done <- err
			}
			return !p.settles
		})
	}
	if len(group) == 0 {
		return
	}
	err := q.transact(group)
	for _, p := range group {
		if err != nil {
			p.done <- q.transactAlone(p, err, len(group) > 1)
		} else {
			p.done <- nil
		}
	}
}

// transactAlone gives a batch of a group that failed with err a chance of its own: without the others, if there were any, and,
// if it settles something, with the room of the reserve.
func (q *queue) transactAlone(p *submission, err error, others bool) error {
	if others {
		err = q.transact([]*submission{p})
	}
	if !p.settles || !q.reserve.held || !errors.Is(err, engine.ErrStorage) {
		return err
	}
	if giveErr := q.reserve.give(); giveErr != nil {
		return errors.Join(err, giveErr)
	}
	return q.transact([]*submission{p})
}

// transact commits group in one transaction.
func (q *queue) transact(group []*submission) error {
	return q.writer.transact(func() error {
		for _, p := range group {
			if err := p.write(q.writer); err != nil {
				return err
			}
		}
		return q.writer.events.write(q.writer)
	})
}
