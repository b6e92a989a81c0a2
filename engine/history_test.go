package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestHistoryHoldsBackWhatHasGapsOrAbsurdTimes(t *testing.T) {
	h := NewHistory()
	add := func(id string, seq uint64, time int64, parents ...OperationID) int {
		return len(h.Add(&Operation{ID: OperationID(id), Type: TypeMerge, Origin: "a", Seq: seq, Time: time, Parents: parents}))
	}
	if n := add("3", 3, 30); n != 0 {
		t.Error("an operation counts before those of its origin that came before it")
	}
	add("1", 1, 10)
	if n := add("2", 2, 20); n != 2 || h.Held() != 0 {
		t.Errorf("the missing one completes %d, %d stay held back", n, h.Held())
	}
	if add("again", 2, 40) != 0 || add("past", 4, 30, "3") != 0 || add("end", 4, math.MaxInt64) != 0 || add("before", 4, -1) != 0 {
		t.Error("a number that is taken, or an absurd time, counts")
	}
	if n := add("4", 4, latestTime); n != 1 {
		t.Error("the latest time does not count")
	}
	if n := add("5", 5, latestTime+1, "4"); n != 1 {
		t.Error("nothing may come after the latest time")
	}
	if got := len(h.Ordered()); got != 5 || h.Held() != 4 {
		t.Errorf("%d count and %d are held back, want 5 and 4", got, h.Held())
	}
}

func TestAPatchIsSentAgainOnlyWhereThatIsHarmless(t *testing.T) {
	for patch, want := range map[string]bool{
		`[{"op":"add","path":"/a","value":1},{"op":"replace","path":"/b/c","value":2}]`: true,
		`[{"op":"add","path":"/tags/-","value":1}]`:                                     false,
		`[{"op":"add","path":"/tags/0","value":1}]`:                                     false,
		`[{"op":"remove","path":"/a"}]`:                                                 false,
		`[{"op":"test","path":"/a","value":0},{"op":"add","path":"/a","value":1}]`:      false,
		`no patch`: false,
	} {
		if got := resendable(lab, &Operation{Type: TypePatch, Body: []byte(patch)}); got != want {
			t.Errorf("%s: %v", patch, got)
		}
	}
}

func TestAChangeHasBounds(t *testing.T) {
	c := &Change{Set: map[Pointer]json.RawMessage{Pointer(strings.Repeat("/a", maxDepth+1)): json.RawMessage("1")}}
	if c.Validate() == nil {
		t.Error("a path of any depth is taken")
	}
	c = &Change{Unset: slices.Collect(func(yield func(Pointer) bool) { yield(Pointer(strings.Repeat("/a", maxDepth))) })}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// BenchmarkFold folds a create of n fields and a change of half of them.
func BenchmarkFold(b *testing.B) {
	for _, n := range []int{20, 2000} {
		b.Run(fmt.Sprintf("fields=%d", n), func(b *testing.B) {
			h := NewHistory()
			create, merge := map[Pointer]json.RawMessage{}, map[Pointer]json.RawMessage{}
			for i := range n {
				p := Pointer(fmt.Sprintf("/group/field%d", i))
				create[p] = json.RawMessage("1")
				if i%2 == 0 {
					merge[p] = json.RawMessage("2")
				}
			}
			h.Add(&Operation{ID: "1", Type: TypeCreate, Origin: "a", Seq: 1, Time: 1, Change: &Change{Set: create}})
			h.Add(&Operation{ID: "2", Type: TypeMerge, Origin: "a", Seq: 2, Time: 2, Parents: []OperationID{"1"}, Change: &Change{Set: merge}})
			for b.Loop() {
				FoldOf(h, func(*Operation) bool { return true })
			}
		})
	}
}
