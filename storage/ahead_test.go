package storage

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestWhoWasToldFindsIt: who looks for what somebody has been told of finds it, though it was not durable then.
func TestWhoWasToldFindsIt(t *testing.T) {
	s := open(t, t.TempDir())
	b := sample(1)
	key := [32]byte{1}
	b.Answers = []engine.KeyedAnswer{{Key: key, Answer: []byte("answer"), At: time.Now()}}
	row, op := b.Records[0].Row, b.Operations[0].ID
	looks := map[string]func() error{
		"by identifier": func() error { _, err := s.ResourceByID(t.Context(), row.Service, row.Kind, row.ID); return err },
		"by local identifier": func() error {
			_, err := s.ResourceByLocal(t.Context(), row.Service, row.Kind, row.Local)
			return err
		},
		"by document":  func() error { _, err := s.ResourceByDocument(t.Context(), row.Document); return err },
		"an operation": func() error { _, err := s.Operation(t.Context(), op); return err },
		"an answer":    func() error { _, err := s.Answer(t.Context(), key); return err },
		"resources": func() error {
			rows, _, err := s.Resources(t.Context(), engine.ResourceFilter{})
			if err == nil && len(rows) == 0 {
				err = engine.ErrNotFound
			}
			return err
		},
		"operations": func() error {
			rows, _, err := s.Operations(t.Context(), engine.OperationFilter{})
			if err == nil && len(rows) == 0 {
				err = engine.ErrNotFound
			}
			return err
		},
	}
	type found struct {
		how string
		err error
	}
	told, committed, all := make(chan struct{}), make(chan error, 1), make(chan found, len(looks))
	b.Told = func() { close(told) }
	s.queue.turn <- struct{}{} // no commit begins
	go func() { committed <- s.Commit(t.Context(), b) }()
	<-told
	for how, look := range looks {
		go func() { all <- found{how, look()} }()
	}
	for range 1000 {
		runtime.Gosched()
	}
	<-s.queue.turn
	for range looks {
		if f := <-all; f.err != nil {
			t.Errorf("%s: %v", f.how, f.err)
		}
	}
	if err := <-committed; err != nil {
		t.Error(err)
	}
}

// TestNobodyElseWaits: who looks for something else does not wait for what somebody has been told of.
func TestNobodyElseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a ahead
		b := sample(1)
		row := b.Records[0].Row
		b.Told = func() {}
		over := a.tell(b)
		waited := make(map[string]bool)
		ends := make(chan string, 3)
		for name, about := range map[string]func(*engine.Batch) bool{
			"it": called(row.Service, row.Kind, string(row.ID)), "another": called(row.Service, row.Kind, "another"), "a list": anything,
		} {
			go func() { a.wait(about); ends <- name }()
		}
		synctest.Wait()
		for len(ends) > 0 {
			waited[<-ends] = true
		}
		if len(waited) != 1 || !waited["another"] {
			t.Errorf("%v did not wait", waited)
		}
		over()
		synctest.Wait()
		if len(ends) != 2 || len(a.now) != 0 {
			t.Errorf("%d go on, %d batches are waited for", len(ends), len(a.now))
		}
	})
}
