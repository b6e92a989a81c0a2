package engine

import "testing"

// TestHindsight has an operation wait that has not seen what a checkpoint stands for. It counts when its own site says that it comes after
// that, whichever comes first, and not when another one says so.
func TestHindsight(t *testing.T) {
	folded, own := lineOf("a", "r", 0), lineOf("b", "new", 1)
	said := map[Line]Hindsight{own: {Upto: 1, Seen: map[Line]uint64{folded: 3}, Time: 33}}
	history := func() *History {
		h := HistoryOf(lab)
		h.stand(&Checkpoint{Seen: map[Line]uint64{folded: 3}, Firm: map[Line]uint64{folded: 3}, Time: 20, First: 10}, nil)
		return h
	}
	operation := func(n uint64) *Operation {
		return &Operation{ID: OperationID(rune('0' + n)), Type: TypeMerge, Origin: "b", Run: "new", Epoch: 1, Seq: n, Time: int64(14 + 20*n),
			Seen: map[Line]uint64{folded: 2 + n/2}, Change: &Change{}}
	}
	h := history()
	h.Add(operation(1))
	if h.Len() != 0 || !h.Outside() {
		t.Fatal("it has not seen what the checkpoint stands for, and counts")
	}
	if h.Heed("a", said) || h.Len() != 0 {
		t.Error("another site says what it has seen")
	}
	if !h.Heed("b", said) || h.Heed("b", said) {
		t.Error("what is new is not told from what is known")
	}
	h.Add(operation(2))
	later := history()
	later.Heed("b", said)
	later.Add(operation(2))
	later.Add(operation(1))
	for _, h := range []*History{h, later} {
		if h.Len() != 2 || h.Held() != 0 {
			t.Fatalf("%d operations count, %d wait", h.Len(), h.Held())
		}
		if o := h.Ordered()[0]; o.Time != 34 || o.Seen[folded] != 3 {
			t.Errorf("it counts at %d, having seen %v", o.Time, o.Seen)
		}
		if o := h.Ordered()[1]; o.Time != 54 {
			t.Errorf("one that came later counts at %d", o.Time)
		}
	}
}
