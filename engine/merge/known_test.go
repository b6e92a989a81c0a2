package merge

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestGivenUp: an operation that cannot have seen what it says is no reason to take up again what a checkpoint stands for, once that was done
// and has not helped.
func TestGivenUp(t *testing.T) {
	for _, givenUp := range []bool{false, true} {
		h := historyOf(lab, op("a-1", engine.TypeCreate, 1, nil, set("/n", "1")), op("a-2", engine.TypeMerge, 3, nil, set("/n", "2")),
			op("b-1", engine.TypeMerge, 2, Vector{"a": 2}, set("/n", "3")))
		if givenUp {
			h.GiveUp()
		}
		if !h.Compact(Vector{"a": 2}, none, none) {
			t.Fatal("there is no checkpoint")
		}
		if got := h.Unfollowing(); got == givenUp {
			t.Errorf("given up %v: it is to be taken up again: %v", givenUp, got)
		}
	}
}
