package storage

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAForkTakesAwayWhatDoesNotCount: of its line nothing stays from there on, in no epoch; the proof stays, over a restart as well, and an
// earlier one takes its place.
func TestAForkTakesAwayWhatDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	doc, other := document("d"), document("other")
	var changes []*engine.Change
	for _, epoch := range []uint64{0, 1, 2} {
		for _, line := range []engine.Line{"a", "b"} {
			for n := range uint64(3) {
				changes = append(changes, change(doc, epoch, line, n+1))
			}
		}
	}
	mustCommit(t, s, &engine.Batch{Changes: append(changes, change(other, 1, "a", 2))})
	proof := func(epoch, number uint64, stands bool) engine.ProvenFork {
		second := change(doc, epoch, "a", number).SignedChange
		second.Bytes = []byte("another")
		return engine.ProvenFork{Document: doc, Fork: engine.Fork{Line: "a", Epoch: epoch, Number: number, Stands: stands, At: 7},
			Proof: [2]engine.SignedChange{change(doc, epoch, "a", number).SignedChange, second}}
	}
	for _, tt := range []struct {
		fork engine.ProvenFork
		want string
	}{
		{proof(1, 2, true), "0a1 0a2 0a3 0b1 0b2 0b3 1a1 1a2 1a3 1b1 1b2 1b3 2b1 2b2 2b3 "},
		{proof(1, 2, false), "0a1 0a2 0a3 0b1 0b2 0b3 1a1 1b1 1b2 1b3 2b1 2b2 2b3 "},
		{proof(0, 3, false), "0a1 0a2 0b1 0b2 0b3 1b1 1b2 1b3 2b1 2b2 2b3 "},
	} {
		mustCommit(t, s, &engine.Batch{Forks: []engine.ProvenFork{tt.fork}})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		forks, err := s.Forks(t.Context(), doc)
		if err != nil || len(forks) != 1 || fmt.Sprint(forks[0]) != fmt.Sprint(tt.fork) {
			t.Errorf("%v, %v, want %v", forks, err, tt.fork)
		}
		rows, _, err := s.Changes(t.Context(), doc, nil, 0)
		got := ""
		for _, r := range rows {
			got += fmt.Sprintf("%d%s%d ", r.Epoch, r.Line, r.Number)
		}
		if got != tt.want || err != nil {
			t.Errorf("%v: %s, %v, want %s", tt.fork.Fork, got, err, tt.want)
		}
	}
	if rows, _, err := s.Changes(t.Context(), other, nil, 0); len(rows) != 1 || err != nil {
		t.Errorf("of another document %d changes stay, %v", len(rows), err)
	}
	if forks, err := s.Forks(t.Context(), other); len(forks) != 0 || err != nil {
		t.Errorf("another document is forked: %v, %v", forks, err)
	}
}
