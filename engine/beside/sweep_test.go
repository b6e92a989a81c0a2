package beside

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// books is a store of so many resources and rows of operations.
type books struct {
	resources, rows int
	fails           error
	before          time.Time
}

func (b *books) CountResources(context.Context) (map[engine.State]int, error) {
	return map[engine.State]int{engine.StateConverged: b.resources, engine.StateDeleted: 1000}, b.fails
}

func (b *books) Resources(_ context.Context, f engine.ResourceFilter) (rows []engine.ResourceRow, next string, err error) {
	first := 0
	if f.Cursor != "" {
		if _, err := fmt.Sscan(f.Cursor, &first); err != nil {
			return nil, "", err
		}
	}
	for n := first; n < b.resources && len(rows) < f.Limit; n++ {
		rows = append(rows, engine.ResourceRow{Document: engine.DocumentID(fmt.Sprint(n))})
	}
	if n := first + len(rows); n < b.resources {
		next = fmt.Sprint(n)
	}
	return rows, next, b.fails
}

func (b *books) ForgetOperations(_ context.Context, before time.Time, most int) (int, error) {
	n := min(b.rows, 10)
	if b.before = before; b.fails == nil {
		b.rows -= n
	}
	return n, b.fails
}

func newSweep(b *books) (*clock, *desktop, *sweeper) {
	c, d := newClock(), &desktop{}
	return c, d, newSweeper(sweeping{store: b, tell: d.tell, now: c.now, backoff: seconds, lookEvery: time.Hour, keep: 24 * time.Hour, most: 5, log: quiet()})
}

// TestEveryResourceIsLookedAtOnceInAWhile, evenly.
func TestEveryResourceIsLookedAtOnceInAWhile(t *testing.T) {
	b := &books{resources: 250}
	c, d, s := newSweep(b)
	var most int
	seen := map[string]int{}
	for range 3 * 60 {
		c.run(s.step)
		most = max(most, len(d.told))
		for _, told := range d.take() {
			seen[told]++
		}
		c.pass(time.Minute)
	}
	if len(seen) != 250 || most > 5 {
		t.Errorf("%d were looked at, at most %d in a minute", len(seen), most)
	}
	for id, n := range seen {
		if n < 2 || n > 3 {
			t.Errorf("%s was looked at %d times in three hours", id, n)
		}
	}
}

func TestNothingToLookAtIsLookedForOnceInAWhile(t *testing.T) {
	c, d, s := newSweep(&books{})
	if c.run(s.step); s.due.next() != c.now().Add(time.Hour) || len(d.told) > 0 {
		t.Errorf("the next page is turned at %s, told %v", s.due.next(), d.told)
	}
}

// TestOldRowsAreForgotten part by part, so that the disk is left to others between them.
func TestOldRowsAreForgotten(t *testing.T) {
	b := &books{rows: 25}
	c, _, s := newSweep(b)
	c.run(s.step)
	c.pass(forgetEvery)
	for _, want := range []int{15, 5, 0} {
		if c.run(s.step); b.rows != want || b.before != c.now().Add(-24*time.Hour) {
			t.Errorf("%d rows are left, want %d; deleted until %s", b.rows, want, b.before)
		}
		c.pass(forgetGap)
	}
	c.run(s.step)
	b.rows = 5
	if c.pass(forgetEvery - time.Minute); b.rows != 5 {
		t.Error("it looked too early")
	}
	c.run(s.step)
	b.fails = engine.ErrStorage
	if c.pass(time.Minute); b.rows != 5 {
		t.Error("rows were deleted from a full disk")
	}
	c.run(s.step)
	b.fails = nil
	c.pass(forgetEvery)
	if c.run(s.step); b.rows != 0 {
		t.Errorf("after the disk was full %d rows are left", b.rows)
	}
}

// sieve is what is swept.
type sieve struct {
	needed []engine.NeededBlob
	kept   []engine.BlobHash
	err    error
}

func (s *sieve) NeededBlobs(context.Context) ([]engine.NeededBlob, error) { return s.needed, s.err }

func (s *sieve) Has(ref engine.BlobRef) bool { return ref.Hash != "c" }

func (s *sieve) Sweep(needed map[engine.BlobHash]bool) error {
	for h := range needed {
		s.kept = append(s.kept, h)
	}
	slices.Sort(s.kept)
	return nil
}

func TestWhatNothingNeedsIsSweptAway(t *testing.T) {
	s, of := &sieve{}, newShares("self", 1)
	for hash, origin := range map[engine.BlobHash]engine.SiteID{"a": "", "b": "other", "c": "other", "d": "self"} {
		s.needed = append(s.needed, engine.NeededBlob{BlobRef: engine.BlobRef{Hash: hash, Size: 7}, Origin: origin})
	}
	if err := sweepBlobs(t.Context(), s, s, of); err != nil || !slices.Equal(s.kept, []engine.BlobHash{"a", "b", "c", "d"}) {
		t.Errorf("kept %v: %v", s.kept, err)
	}
	if held := of.held(); len(held) != 1 || held["other"] != 7 {
		t.Errorf("of the bodies that are here %v count", held)
	}
	s = &sieve{err: engine.ErrStorage}
	if err := sweepBlobs(t.Context(), s, s, of); err == nil || s.kept != nil {
		t.Errorf("swept without knowing what is needed: %v", err)
	}
}
