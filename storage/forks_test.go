package storage

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestAForkTakesAwayWhatDoesNotCount: of its line nothing stays from there on, in no epoch; the proof stays, over a restart as well, and an
// earlier one takes its place. Of a site of which nothing counts no line stays.
func TestAForkTakesAwayWhatDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	doc, other := document("d"), document("other")
	var changes []*engine.Change
	for _, epoch := range []uint64{0, 1, 2} {
		for _, line := range []engine.Line{"a/1", "b/1"} {
			for n := range uint64(3) {
				changes = append(changes, change(doc, epoch, line, n+1))
			}
		}
	}
	mustCommit(t, s, &engine.Batch{Changes: append(changes, change(other, 1, "a/1", 2))})
	proof := func(line engine.Line, epoch, number uint64) engine.ProvenFork {
		second := change(doc, epoch, line, number).SignedChange
		second.Bytes = []byte("another")
		return engine.ProvenFork{Document: doc, Fork: engine.Fork{Line: line, Epoch: epoch, Number: number, At: 7},
			Proof: [2]engine.SignedChange{change(doc, epoch, line, number).SignedChange, second}}
	}
	earlier := proof("a/1", 0, 3)
	earlier.Instead = "a/1"
	all, one := proof("b/7", 1, 1), uint64(1)
	all.Instead, all.All = "a/1", &one
	for _, tt := range []struct {
		fork engine.ProvenFork
		want string
	}{
		{proof("a/1", 1, 2), "0a/11 0a/12 0a/13 0b/11 0b/12 0b/13 1a/11 1b/11 1b/12 1b/13 2b/11 2b/12 2b/13 "},
		{earlier, "0a/11 0a/12 0b/11 0b/12 0b/13 1b/11 1b/12 1b/13 2b/11 2b/12 2b/13 "},
		{all, "0a/11 0a/12 0b/11 0b/12 0b/13 "},
	} {
		mustCommit(t, s, &engine.Batch{Forks: []engine.ProvenFork{tt.fork}})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		forks, err := s.Forks(t.Context(), doc)
		if err != nil || len(forks) != 1 || fmt.Sprint(forks[0].Fork, forks[0].Proof) != fmt.Sprint(tt.fork.Fork, tt.fork.Proof) {
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
	if by, err := s.Forkers(t.Context()); len(by) != 1 || by["b"] != 1 || err != nil {
		t.Errorf("lines are forked by %v, %v, want one by b", by, err)
	}
	if rows, _, err := s.Changes(t.Context(), other, nil, 0); len(rows) != 1 || err != nil {
		t.Errorf("of another document %d changes stay, %v", len(rows), err)
	}
	if forks, err := s.Forks(t.Context(), other); len(forks) != 0 || err != nil {
		t.Errorf("another document is forked: %v, %v", forks, err)
	}
}
