package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

const (
	// maxWaiting is how many calls wait for a commit; further ones block before they queue.
	maxWaiting = 1024
	// maxGroup is how many batches share one transaction.
	maxGroup = 256
	// keepEvents are kept of the event log; it is trimmed once trimEventsEvery more were written.
	keepEvents      = 10_000
	trimEventsEvery = 1_000
	// keepAnswers is how long an Idempotency-Key counts; older ones are deleted every trimAnswersEvery.
	keepAnswers      = 24 * time.Hour
	trimAnswersEvery = 10 * time.Minute
)

// submission is one batch on its way to the disk.
type submission struct {
	writes []write
	events []engine.Event // the batch's own; their Seq is set when all is durable
	// settles says that it records what became of something that an earlier batch began.
	settles bool
	seqs    []uint64   // of events, in the transaction that is under way
	done    chan error // gets one value
}

// Commit makes b durable, all or nothing, and sets the Seq of b's events. Concurrent calls share a transaction
// and so a sync of the disk; when that transaction fails each batch is tried alone, so that a bad one fails only
// itself. A change whose document, actor, number and hash are stored already is left as it is; another hash
// under the same number is an error.
//
// When ctx ends while b waits in the queue, b is taken out, nothing of it happens and the error is ctx's. From the
// moment the transaction has begun Commit waits for the outcome, whatever ctx says: what it returns is always
// what happened. b belongs to Commit until it returns; the bytes in it are not kept.
//
// When the disk is full, a batch that settles something finds room in the reserve; others get engine.ErrStorage until
// there is room again.
func (s *Store) Commit(ctx context.Context, b *engine.Batch) error {
	writes, err := encodeBatch(b, s.vault, s.now())
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	settles := len(b.Settled)+len(b.Delivered) > 0 && len(b.Intents)+len(b.Outbox) == 0
	if err := s.submit(ctx, &submission{writes: writes, events: b.Events, settles: settles}); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// submit queues p and returns its outcome. Callers take turns: whoever has the turn commits for all that wait.
func (s *Store) submit(ctx context.Context, p *submission) error {
	p.done = make(chan error, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	case <-s.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, p)
	s.mu.Unlock()
	for {
		select {
		case err := <-p.done:
			return err
		case s.turn <- struct{}{}:
			if len(p.done) == 0 {
				s.commitGroup()
			}
			<-s.turn
		case <-ctx.Done():
			if s.withdraw(p) {
				return ctx.Err()
			}
			return <-p.done
		}
	}
}

// withdraw takes p out of the queue and reports whether it was still there.
func (s *Store) withdraw(p *submission) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, p)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return true
}

func (s *Store) takeGroup() []*submission {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.waiting), maxGroup)
	group := slices.Clone(s.waiting[:n])
	s.waiting = slices.Delete(s.waiting, 0, n)
	return group
}

// commitGroup commits what waits and tells each its outcome. The caller has the turn.
func (s *Store) commitGroup() {
	group := s.takeGroup()
	if len(group) == 0 {
		return
	}
	if err := s.reserve.take(); err != nil {
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
	err := s.transact(group)
	for _, p := range group {
		if err != nil {
			p.done <- s.transactAlone(p, err, len(group) > 1)
		} else {
			p.done <- nil
		}
	}
}

// transactAlone gives a batch of a group that failed with err a chance of its own: without the others, if there were any, and,
// if it settles something, with the room of the reserve.
func (s *Store) transactAlone(p *submission, err error, others bool) error {
	if others {
		err = s.transact([]*submission{p})
	}
	if !p.settles || !s.reserve.held || !errors.Is(err, engine.ErrStorage) {
		return err
	}
	if giveErr := s.reserve.give(); giveErr != nil {
		return errors.Join(err, giveErr)
	}
	return s.transact([]*submission{p})
}

// transact commits group in one transaction. It never uses a caller's context: the fate of the others hangs on it.
func (s *Store) transact(group []*submission) error {
	ctx := context.Background()
	if _, err := s.statements[begin].ExecContext(ctx); err != nil {
		return fmt.Errorf("begin: %w: %w", engine.ErrStorage, err)
	}
	err := s.write(ctx, group)
	if err == nil {
		if _, err = s.statements[commit].ExecContext(ctx); err != nil {
			err = fmt.Errorf("sync: %w", mapped(err))
		}
	}
	if err != nil {
		// After some errors SQLite has rolled back by itself; then there is no transaction, and this says so.
		_, _ = s.statements[rollback].ExecContext(ctx)
		return err
	}
	for _, p := range group {
		for i := range p.events {
			p.events[i].Seq = p.seqs[i]
		}
	}
	return nil
}

func (s *Store) write(ctx context.Context, group []*submission) error {
	events, answers := s.newEvents, false
	for _, p := range group {
		p.seqs = p.seqs[:0]
		for _, w := range p.writes {
			res, err := s.statements[w.statement].ExecContext(ctx, w.args...)
			if err == nil && w.otherwise != 0 {
				var n int64
				if n, err = res.RowsAffected(); err == nil && n == 0 {
					_, err = s.statements[w.otherwise].ExecContext(ctx, w.args...)
				}
			}
			if err != nil {
				return fmt.Errorf("%s: %w", w.what, mapped(err))
			}
			switch w.statement {
			case addChange:
				if n, err := res.RowsAffected(); err != nil {
					return err
				} else if n == 0 {
					if err := s.isSameChange(ctx, w); err != nil {
						return fmt.Errorf("%s: %w", w.what, err)
					}
				}
			case addEvent:
				seq, err := res.LastInsertId()
				if err != nil {
					return err
				}
				p.seqs = append(p.seqs, uint64(seq))
				events++
			case putAnswer:
				answers = true
			}
		}
	}
	if events > s.newEvents && events >= trimEventsEvery {
		if _, err := s.statements[trimEvents].ExecContext(ctx, keepEvents); err != nil {
			return fmt.Errorf("trim events: %w", mapped(err))
		}
		events = 0
	}
	if now := s.now(); answers && now.Sub(s.answersTrim) >= trimAnswersEvery {
		if _, err := s.statements[trimAnswers].ExecContext(ctx, nanos(now.Add(-keepAnswers))); err != nil {
			return fmt.Errorf("trim answers: %w", mapped(err))
		}
		s.answersTrim = now
	}
	// Should the commit fail now, the next trim comes a little later than it might.
	s.newEvents = events
	return nil
}

// isSameChange checks that the change of w, which was not inserted, is the one that is stored.
func (s *Store) isSameChange(ctx context.Context, w write) error {
	c := w.change
	var same bool
	if err := s.sameChange.QueryRowContext(ctx, c.Hash[:], string(c.Document), c.Actor, int64(c.Seq)).Scan(&same); err != nil {
		return mapped(err)
	}
	if !same {
		return errors.New("another change has its actor and number")
	}
	return nil
}
