package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestReadersSeeWholeBatches commits from several goroutines, of which some give up, while others read: once its Commit has
// returned, a batch is there whole or not at all, as Commit says.
func TestReadersSeeWholeBatches(t *testing.T) {
	s := open(t, t.TempDir())
	const callers, each = 4, 40
	ctx, stop := context.WithCancel(t.Context())
	var writing, reading sync.WaitGroup
	var committed [callers]atomic.Int64
	for c := range callers {
		writing.Go(func() {
			for i := range each {
				n := c*1000 + i
				ctx, cancel := context.WithCancel(ctx)
				if i%7 == 3 {
					go cancel()
				}
				err := s.Commit(ctx, sample(n))
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if ok, hasErr := has(s, n); hasErr != nil || ok != (err == nil) {
					t.Errorf("batch %d is there: %v, %v, though Commit says %v", n, ok, hasErr, err)
				}
				committed[c].Store(int64(i + 1))
			}
		})
		reading.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if over := committed[c].Load(); over > 0 {
					if _, err := has(s, c*1000+i%int(over)); err != nil {
						t.Error(err)
					}
				}
				for name, read := range map[string]func() error{
					"resources": func() error {
						_, _, err := s.Resources(t.Context(), engine.ResourceFilter{Site: "nantes"})
						return err
					},
					"operations": func() error {
						_, _, err := s.Operations(t.Context(), engine.OperationFilter{State: engine.StatePending})
						return err
					},
					"events": func() error { return inOrder(s) },
					"digests": func() error {
						return s.AllDigests(t.Context(), func(engine.Digest, []engine.SiteID, map[engine.SiteID]engine.Fingerprint) {})
					},
					"shelf": func() error { return s.Shelves().PutRecord(t.Context(), "test", fmt.Sprint(c), []byte{byte(i)}) },
				} {
					if err := read(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		})
	}
	writing.Wait()
	stop()
	reading.Wait()
	if err := inOrder(s); err != nil {
		t.Error(err)
	}
}

// inOrder checks that the numbers of events rise without gaps.
func inOrder(s *Store) error {
	events, err := s.Events(context.Background(), 0, 1000)
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			return fmt.Errorf("event %d has the number %d", i+1, e.Seq)
		}
	}
	return err
}
