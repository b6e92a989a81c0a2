package storage

import (
	"errors"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// fillAndRecover commits until the disk is full, then makes room and commits again.
func fillAndRecover(t *testing.T, s *Store, makeRoom func() error) {
	t.Helper()
	big := make([]byte, 64<<10)
	var full int
	var err error
	for full = 1; full < 1000; full++ {
		b := sample(full)
		b.Operations[0].Body = big
		if err = s.Commit(t.Context(), b); err != nil {
			break
		}
	}
	if !errors.Is(err, engine.ErrStorage) {
		t.Fatalf("Commit on a full disk after %d batches: %v, want ErrStorage", full, err)
	}
	// Together with others too, each is told.
	b1, b2 := sample(full+1), sample(full+2)
	b1.Operations[0].Body, b2.Operations[0].Body = big, big
	for _, err := range queueAll(t, s, b1, b2)() {
		if !errors.Is(err, engine.ErrStorage) {
			t.Errorf("Commit in a group on a full disk: %v, want ErrStorage", err)
		}
	}
	check := func(when string, from, to int, want bool) {
		t.Helper()
		for n := from; n < to; n++ {
			if ok, err := has(s, n); ok != want || err != nil {
				t.Fatalf("%s: batch %d is there: %v, %v, want %v", when, n, ok, err, want)
			}
		}
	}
	check("while full", 1, full, true)
	check("while full", full, full+3, false)
	events, err := s.Events(t.Context(), 0, 1000)
	if err != nil || len(events) != full-1 {
		t.Errorf("while full: %d events, %v, want %d", len(events), err, full-1)
	}
	if err := makeRoom(); err != nil {
		t.Fatal(err)
	}
	for n := full; n < full+3; n++ {
		b := sample(n)
		b.Operations[0].Body = big
		mustCommit(t, s, b)
	}
	check("after room was made", 1, full+3, true)
}

func TestFullDatabase(t *testing.T) {
	s := open(t, t.TempDir())
	limit := func(pages int) error {
		_, err := s.queue.writer.conn.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages), nil)
		return err
	}
	if err := limit(400); err != nil {
		t.Fatal(err)
	}
	fillAndRecover(t, s, func() error { return limit(100_000) })
}
