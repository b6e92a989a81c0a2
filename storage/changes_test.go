package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestChangesBeyondWhatIsThere(t *testing.T) {
	s := open(t, t.TempDir())
	doc := document("d")
	put := func(epoch uint64, line engine.Line, number uint64) *engine.Change {
		c := change(doc, epoch, line, number)
		c.Signature, c.Bytes = nil, append(c.Bytes, make([]byte, 100-len(c.Bytes))...)
		return c
	}
	// In an order that is not that of author and number; an author's line may begin late, or have gaps.
	mustCommit(t, s, &engine.Batch{Changes: []*engine.Change{put(0, "b", 1), put(0, "a", 1), put(1, "a", 1), change(document("other"), 0, "a", 1)}})
	mustCommit(t, s, &engine.Batch{Changes: []*engine.Change{put(0, "b", 3), put(0, "b", 2), put(1, "c", 300), put(0, "a", 2)}})
	for _, tt := range []struct {
		have  map[uint64]map[engine.Line]uint64
		limit int
		want  string
	}{
		{nil, 0, "0b1 0b2 0b3 0a1 0a2 1a1 1c300"},
		{map[uint64]map[engine.Line]uint64{}, 0, "0b1 0b2 0b3 0a1 0a2 1a1 1c300"},
		{map[uint64]map[engine.Line]uint64{0: {"a": 2, "b": 1}}, 0, "0b2 0b3 1a1 1c300"},
		{map[uint64]map[engine.Line]uint64{0: {"a": 9, "b": 9, "z": 1}, 1: {"a": 1, "c": 300}, 7: {"a": 1}}, 0, ""},
		{map[uint64]map[engine.Line]uint64{1: {"c": 299}}, 0, "0b1 0b2 0b3 0a1 0a2 1a1 1c300"},
		{nil, 1, "0b1 …"},
		{nil, 250, "0b1 0b2 0b3 …"},
		{map[uint64]map[engine.Line]uint64{0: {"b": 2}}, 1, "0b3 …"},
		{map[uint64]map[engine.Line]uint64{0: {"a": 2, "b": 3}}, 150, "1a1 1c300"},
		{map[uint64]map[engine.Line]uint64{0: {"a": 2, "b": 3}, 1: {"a": 1}}, 100, "1c300"},
	} {
		rows, more, err := s.Changes(t.Context(), doc, tt.have, tt.limit)
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%d%s%d", r.Epoch, r.Line, r.Number))
			if string(r.Bytes) != string(put(r.Epoch, r.Line, r.Number).Bytes) {
				t.Errorf("the bytes of change %d of %s are others", r.Number, r.Line)
			}
		}
		if more {
			got = append(got, "…")
		}
		if strings.Join(got, " ") != tt.want || err != nil {
			t.Errorf("since %v, %d bytes: %v, %v, want %s", tt.have, tt.limit, got, err, tt.want)
		}
	}
}

// TestADroppedEpochLeavesNothing: no change of it stays, all others do, and it may come anew in the same batch.
func TestADroppedEpochLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	doc, other := document("d"), document("other")
	mustCommit(t, s, &engine.Batch{Changes: []*engine.Change{change(doc, 0, "p", 1), change(doc, 0, "q", 1), change(doc, 1, "p", 1), change(other, 0, "p", 1)}})
	count := func(id engine.DocumentID, want int) {
		t.Helper()
		if rows, _, err := s.Changes(t.Context(), id, nil, 0); err != nil || len(rows) != want {
			t.Errorf("%d changes, %v, want %d", len(rows), err, want)
		}
	}
	mustCommit(t, s, &engine.Batch{Dropped: []engine.EpochOf{{Document: doc, Epoch: 0}, {Document: document("none"), Epoch: 1}}})
	count(doc, 1)
	count(other, 1)
	again := change(doc, 1, "p", 1)
	again.Bytes = []byte("another one")
	mustCommit(t, s, &engine.Batch{Dropped: []engine.EpochOf{{Document: doc, Epoch: 1}}, Changes: []*engine.Change{again}})
	count(doc, 1)
}
