package storage

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// queueAll starts a Commit of each batch while nobody may commit, waits until all are queued, and returns what
// commits them as one group and gives their outcomes.
func queueAll(t *testing.T, s *Store, batches ...*engine.Batch) func() []error {
	t.Helper()
	s.queue.turn <- struct{}{}
	outcomes := make([]chan error, len(batches))
	for i, b := range batches {
		outcomes[i] = make(chan error, 1)
		go func() { outcomes[i] <- s.Commit(context.Background(), b) }()
		waitQueued(t, s, i+1)
	}
	return func() []error {
		s.queue.commitGroup()
		<-s.queue.turn
		errs := make([]error, len(batches))
		for i := range errs {
			errs[i] = <-outcomes[i]
		}
		return errs
	}
}

func queued(s *Store) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}

func waitQueued(t *testing.T, s *Store, n int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); queued(s) != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d batches are queued, want %d", queued(s), n)
		}
	}
}

func TestGroupSharesATransaction(t *testing.T) {
	s := open(t, t.TempDir())
	batches := make([]*engine.Batch, 50)
	for i := range batches {
		batches[i] = sample(i)
	}
	commits := 0
	s.queue.writer.conn.RegisterCommitHook(func() int { commits++; return 0 })
	for i, err := range queueAll(t, s, batches...)() {
		if err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if commits != 1 {
		t.Errorf("%d transactions for one group", commits)
	}
	for i, b := range batches {
		if ok, err := has(s, i); !ok || err != nil {
			t.Errorf("batch %d: %v, %v", i, ok, err)
		}
		if got, want := b.Events[0].Seq, uint64(i+1); got != want {
			t.Errorf("event of batch %d has Seq %d, want %d", i, got, want)
		}
	}
}

func TestABadBatchFailsAlone(t *testing.T) {
	s := open(t, t.TempDir())
	mustCommit(t, s, sample(0))
	bad := sample(9)
	forged := sample(0).Changes[0]
	forged.Bytes = []byte("another one under the number of one that is stored")
	bad.Changes = append(bad.Changes, forged)
	good1, good2 := sample(1), sample(2)
	errs := queueAll(t, s, good1, bad, good2)()
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("the good ones: %v, %v", errs[0], errs[2])
	}
	if errs[1] == nil || errors.Is(errs[1], engine.ErrStorage) {
		t.Errorf("the bad one: %v, want an error that is not ErrStorage", errs[1])
	}
	for n, want := range map[int]bool{0: true, 1: true, 2: true, 9: false} {
		if ok, err := has(s, n); ok != want || err != nil {
			t.Errorf("batch %d is there: %v, %v", n, ok, err)
		}
	}
	events, err := s.Events(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for _, e := range events {
		seqs = append(seqs, e.Seq)
	}
	if want := []uint64{1, good1.Events[0].Seq, good2.Events[0].Seq}; !slices.Equal(seqs, want) {
		t.Errorf("events have Seq %d, the batches were told %d", seqs, want)
	}
	if bad.Events[0].Seq != 0 {
		t.Errorf("the bad batch was given Seq %d", bad.Events[0].Seq)
	}
}

// TestARolledBackBatchIsForgotten: what the writer remembers of a batch that failed is not taken for what is there.
func TestARolledBackBatchIsForgotten(t *testing.T) {
	s := open(t, t.TempDir())
	mustCommit(t, s, sample(0))
	changed := func() *engine.Batch {
		b := sample(0)
		b.Changes, b.Events = nil, nil
		b.Records[0].Row.Local, b.Records[0].Row.State, b.Operations[0].Body = "new", engine.StateConflict, []byte("new")
		return b
	}
	bad := sample(1)
	bad.Records, bad.Operations = append(bad.Records, changed().Records...), append(bad.Operations, changed().Operations...)
	bad.Mesh = []engine.SignedRecord{{Record: []byte("no record")}} // what is written last
	if err := s.Commit(t.Context(), bad); err == nil {
		t.Fatal("it was taken")
	}
	mustCommit(t, s, sample(1))
	if ok, err := has(s, 1); !ok || err != nil {
		t.Errorf("after a second try: %v, %v", ok, err)
	}
	mustCommit(t, s, changed())
	if o, err := s.Operation(t.Context(), changed().Operations[0].ID); err != nil || string(o.Body) != "new" {
		t.Errorf("the operation is %+v, %v", o, err)
	}
	if r, err := s.ResourceByLocal(t.Context(), "images", "image", "new"); err != nil || r.State != engine.StateConflict {
		t.Errorf("the resource is %+v, %v", r, err)
	}
	events, err := s.Events(t.Context(), 0, 0)
	if err != nil || len(events) != 2 || events[1].Seq != 2 || events[1].Subject != string(sample(1).Operations[0].ID) {
		t.Errorf("events: %+v, %v", events, err)
	}
}

func TestStoredChangesAreIgnored(t *testing.T) {
	s := open(t, t.TempDir())
	b := sample(1)
	mustCommit(t, s, b)
	again := sample(1).Changes[0]
	again.Signature = []byte("another of the same bytes")
	doc := again.Document
	mustCommit(t, s, &engine.Batch{Changes: []*engine.Change{again, again, change(doc, 0, "paris", 2)}})
	rows, more, err := s.Changes(t.Context(), doc, nil, 0)
	if err != nil || more || len(rows) != 2 || rows[0].Number != 1 || string(rows[0].Signature) != "signature" || rows[1].Number != 2 {
		t.Errorf("changes: %v, more %v, %v", rows, more, err)
	}
}

func TestCancelledBeforeItsTurnDoesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	s.queue.turn <- struct{}{}
	done := make(chan error, 1)
	go func() { done <- s.Commit(ctx, sample(1)) }()
	waitQueued(t, s, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: %v, want context.Canceled", err)
	}
	<-s.queue.turn
	mustCommit(t, s, sample(2))
	if ok, err := has(s, 1); ok || err != nil {
		t.Errorf("the cancelled batch is there: %v, %v", ok, err)
	}
	if err := s.Commit(ctx, sample(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit with a context that has ended: %v", err)
	}
}

func TestCancelledDuringItsTurnTellsTheOutcome(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	s.queue.turn <- struct{}{}
	done := make(chan error, 1)
	go func() { done <- s.Commit(ctx, sample(1)) }()
	waitQueued(t, s, 1)
	group := s.queue.takeGroup()
	cancel()
	group[0].done <- s.queue.transact(group)
	<-s.queue.turn
	if err := <-done; err != nil {
		t.Errorf("Commit: %v, want none: it was done", err)
	}
	if ok, err := has(s, 1); !ok || err != nil {
		t.Errorf("the batch is there: %v, %v", ok, err)
	}
}

func TestCloseDrains(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.queue.turn <- struct{}{}
	done := make(chan error, 20)
	for n := range cap(done) {
		go func() { done <- s.Commit(context.Background(), sample(n)) }()
	}
	waitQueued(t, s, cap(done))
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.queue.closing
	<-s.queue.turn
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	s = open(t, dir)
	for n := range cap(done) {
		if ok, err := has(s, n); !ok || err != nil {
			t.Errorf("batch %d after reopening: %v, %v", n, ok, err)
		}
	}
}

func TestEventsAreTrimmedAndNeverRenumbered(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	last := uint64(0)
	for range 12 {
		b := &engine.Batch{Events: make([]engine.Event, 1000)}
		for i := range b.Events {
			b.Events[i] = engine.Event{Type: "site.up", Subject: fmt.Sprint(last + uint64(i) + 1), Time: time.Unix(1, 0)}
		}
		mustCommit(t, s, b)
		if b.Events[0].Seq != last+1 {
			t.Fatalf("Seq %d follows %d", b.Events[0].Seq, last)
		}
		last = b.Events[999].Seq
	}
	events, err := s.Events(t.Context(), 0, 1000)
	if err != nil || len(events) != 1000 || events[0].Seq != 2001 || events[0].Subject != "2001" {
		t.Fatalf("%d events from %d (%v), want 1000 from 2001", len(events), events[0].Seq, err)
	}
	if events, err = s.Events(t.Context(), last, 10); err != nil || len(events) != 0 {
		t.Errorf("after the last: %v, %v", events, err)
	}
	if rows := ask(t, s, `SELECT count(*) FROM events`); rows != int64(40) {
		t.Errorf("%v rows for 10 batches of 1000 events", rows)
	}
	s.Close()
	b := &engine.Batch{Events: []engine.Event{{Type: "site.down"}}}
	mustCommit(t, open(t, dir), b)
	if b.Events[0].Seq != last+1 {
		t.Errorf("a new event has Seq %d, want %d after a restart", b.Events[0].Seq, last+1)
	}
}

// Those who follow the log get the same whether it is still in memory or not.
func TestEventsInMemoryAreThoseOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	at := time.Now().In(time.FixedZone("east", 3600))
	for i, number := range []int{3, 700, 1, 500, 0, 40} {
		b := &engine.Batch{}
		for range number {
			b.Events = append(b.Events, engine.Event{Type: "site.up", Subject: fmt.Sprint(i, len(b.Events)), Time: at, Data: []byte(`{"n":1}`)})
		}
		mustCommit(t, s, b)
		for j := range b.Events {
			b.Events[j].Data[2] = 'x' // the bytes in a batch are its owner's again
		}
	}
	read := func() (all [][]engine.Event) {
		for _, after := range []uint64{0, 2, 702, 703, 731, 732, 733, 1203, 1204, 1243, 1244, 5000, 1<<64 - 1} {
			for _, limit := range []int{1, 7, 1000} {
				events, err := s.Events(t.Context(), after, limit)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, events)
			}
		}
		return all
	}
	if n := len(s.queue.writer.events.newest.list); n < mostNewest || n > 2*mostNewest {
		t.Errorf("%d are in memory", n)
	}
	here := read()
	s.Close()
	s = open(t, dir)
	for i, disk := range read() {
		if len(here[i]) != len(disk) || len(disk) > 0 && !reflect.DeepEqual(here[i], disk) {
			t.Errorf("reading %d gave %d events from memory, and %d others from disk", i, len(here[i]), len(disk))
		}
	}
}

func TestAnswersGrowOld(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	s, err := Open(t.TempDir(), Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(k byte) {
		mustCommit(t, s, &engine.Batch{Answers: []engine.KeyedAnswer{{Key: [32]byte{k}, BodyHash: [32]byte{k, k}, Answer: []byte("201"), At: now}}})
	}
	put(1)
	now = now.Add(24 * time.Hour)
	put(2)
	if a, err := s.Answer(t.Context(), [32]byte{1}); err != nil || string(a.Answer) != "201" || a.BodyHash != [32]byte{1, 1} {
		t.Errorf("after 24 hours: %v, %v", a, err)
	}
	now = now.Add(time.Second)
	if _, err := s.Answer(t.Context(), [32]byte{1}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("after 24 hours and a second: %v, want ErrNotFound", err)
	}
	mustCommit(t, s, &engine.Batch{Answers: []engine.KeyedAnswer{{Key: [32]byte{2}}}}) // taken back
	if _, err := s.Answer(t.Context(), [32]byte{2}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("taken back: %v, want ErrNotFound", err)
	}
	put(2)
	now = now.Add(trimAnswersEvery)
	put(3)
	if n := ask(t, s, `SELECT count(*) FROM answers`); n != int64(2) {
		t.Errorf("%d answers are stored, want 2", n)
	}
}
