package beside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

const (
	// forgetEvery is how often this site looks for rows of old operations to delete, forgetGap how long it leaves the disk to others
	// between two parts of them.
	forgetEvery = time.Hour
	forgetGap   = 100 * time.Millisecond
)

// ledger is what the sweeper needs of engine.Store.
type ledger interface {
	CountResources(ctx context.Context) (map[engine.State]int, error)
	Resources(ctx context.Context, f engine.ResourceFilter) (rows []engine.ResourceRow, next string, err error)
	ForgetOperations(ctx context.Context, before time.Time, most int) (int, error)
}

// sweeping is what a sweeper works with.
type sweeping struct {
	store ledger
	// tell hands an input to a replica, and does not wait.
	tell    func(engine.DocumentID, replica.Input)
	now     func() time.Time
	backoff func(tries int) time.Duration
	// lookEvery is how often each resource is looked at.
	lookEvery time.Duration
	// keep is how long the row of an operation stays that is settled at all sites, most how many such rows there are.
	keep time.Duration
	most int
	log  *slog.Logger
}

// sweeper has every resource looked at once in a while, evenly over the time, and deletes the rows of operations that were settled long
// ago. Such a row is there for people, and so that a request which comes again does not run again; what the operation has brought
// about does not hang on it.
type sweeper struct {
	sweeping
	due    *agenda[sweepKey]
	cursor string // of the next page of resources; it belongs to the one who turns pages
}

// sweepKey is one thing to do: a resource to look at, or none for the next page of them; or rows to delete.
type sweepKey struct {
	look   engine.DocumentID
	forget bool
}

func newSweeper(s sweeping) *sweeper {
	w := &sweeper{sweeping: s, due: newAgenda[sweepKey](s.now, s.backoff, 1)}
	w.due.add(sweepKey{}, 0)
	w.due.add(sweepKey{forget: true}, w.forgetAfter())
	return w
}

func (s *sweeper) forgetAfter() time.Duration { return min(forgetEvery, s.keep) }

// step does one thing that is due, and returns when the next is due; zero: nothing is.
func (s *sweeper) step(ctx context.Context, now time.Time) time.Time {
	return s.due.step(now, func(k sweepKey) (again bool) {
		var err error
		switch {
		case k.forget:
			err = s.forget(ctx)
		case k.look != "":
			s.tell(k.look, &replica.News{Look: true})
		default:
			err = s.turn(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("sweep", "err", err)
		}
		return err != nil
	})
}

// turn plans the looks at the next resources, so that each is looked at once in lookEvery.
func (s *sweeper) turn(ctx context.Context) error {
	counts, err := s.store.CountResources(ctx)
	if err != nil {
		return fmt.Errorf("count the resources to look at: %w", err)
	}
	living := 0
	for state, n := range counts {
		if !state.Past() {
			living += n
		}
	}
	rows, next, err := s.store.Resources(ctx, engine.ResourceFilter{Limit: sweepPage, Cursor: s.cursor})
	if err != nil {
		return fmt.Errorf("list the resources to look at: %w", err)
	}
	apart := s.lookEvery / time.Duration(max(living, 1))
	for i, row := range rows {
		s.due.add(sweepKey{look: row.Document}, time.Duration(i+1)*apart)
	}
	s.cursor = next
	s.due.add(sweepKey{}, time.Duration(max(len(rows), 1))*apart)
	return nil
}

// forget deletes some of the rows that have been settled for long, and looks for more after a while.
func (s *sweeper) forget(ctx context.Context) error {
	n, err := s.store.ForgetOperations(ctx, s.now().Add(-s.keep), s.most)
	next := s.forgetAfter()
	if n > 0 && err == nil {
		next = forgetGap
	}
	switch {
	case errors.Is(err, engine.ErrStorage): // a disk that is full does not get fuller by this
		s.log.Warn("rows of old operations stay for now", "err", err)
	case err != nil:
		return fmt.Errorf("delete rows of old operations: %w", err)
	}
	s.due.add(sweepKey{forget: true}, next)
	return nil
}

// sweepBlobs removes what an earlier process has left of bodies that nothing needs, and counts the others that are here. It is for the start,
// before anything else is done with them.
func sweepBlobs(ctx context.Context, store interface {
	NeededBlobs(ctx context.Context) ([]engine.NeededBlob, error)
}, blobs interface {
	Has(ref engine.BlobRef) bool
	Sweep(needed map[engine.BlobHash]bool) error
}, of *shares) error {
	list, err := store.NeededBlobs(ctx)
	if err != nil {
		return fmt.Errorf("list the bodies that are needed: %w", err)
	}
	needed := make(map[engine.BlobHash]bool, len(list))
	for _, b := range list {
		needed[b.Hash] = true
		if b.Origin != "" && b.Origin != of.self && blobs.Has(b.BlobRef) {
			of.add(b.BlobRef, b.Origin)
		}
	}
	if err := blobs.Sweep(needed); err != nil {
		return fmt.Errorf("remove bodies that nothing needs: %w", err)
	}
	return nil
}
