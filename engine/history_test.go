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
	add := func(id string, seq uint64, time int64, seen map[Line]uint64) int {
		return len(h.Add(&Operation{ID: OperationID(id), Type: TypeMerge, Origin: SiteID(id[:1]), Seq: seq, Time: time, Seen: seen}))
	}
	if n := add("a3", 3, 30, nil); n != 0 {
		t.Error("an operation counts before those of its line that came before it")
	}
	add("a1", 1, 10, nil)
	if n := add("a2", 2, 20, nil); n != 2 || h.Held() != 0 {
		t.Errorf("the missing one completes %d, %d stay held back", n, h.Held())
	}
	if add("b1", 1, 20, map[Line]uint64{"a.": 4}) != 0 || h.Held() != 1 {
		t.Error("an operation counts before what it has seen")
	}
	for name, n := range map[string]int{
		"does not come after what it has seen":     add("c1", 1, 20, map[Line]uint64{"a.": 2}),
		"does not come after what it follows":      add("a4", 4, 30, nil),
		"is at the end of time":                    add("d1", 1, math.MaxInt64, nil),
		"is before all time":                       add("e1", 1, -1, nil),
		"has seen what comes after it in its line": add("f1", 1, 40, map[Line]uint64{"f.": 1}),
	} {
		if n != 0 {
			t.Errorf("an operation counts that %s", name)
		}
	}
	if n := add("g1", 1, latestTime, nil) + add("h1", 1, latestTime+1, map[Line]uint64{"g.": 1}); n != 2 {
		t.Error("nothing may come after the latest time")
	}
	if n := add("i1", 1, latestTime+2, map[Line]uint64{"h.": 1}); n != 0 {
		t.Error("an operation counts that has not seen what another had seen that it has seen")
	}
	if n := add("j1", 1, 50, map[Line]uint64{"k.": 0}); n != 1 {
		t.Error("an operation is held back that has seen nothing of a line of which nothing is here")
	}
	if got := len(h.Ordered()); got != 6 || h.Held() != 7 {
		t.Errorf("%d count and %d are held back", got, h.Held())
	}
}

// TestTwoClaimsOfOneNumberAreMergedAlike has a hostile origin give one number to different operations, and two origins use
// one identifier.
func TestTwoClaimsOfOneNumberAreMergedAlike(t *testing.T) {
	ops := []*Operation{
		{ID: "x", Type: TypeCreate, Origin: "a", Seq: 1, Time: 1, Change: &Change{Set: map[Pointer]json.RawMessage{"/n": json.RawMessage("1")}}},
		{ID: "y", Type: TypeCreate, Origin: "a", Seq: 1, Time: 2, Change: &Change{Set: map[Pointer]json.RawMessage{"/n": json.RawMessage("2")}}},
		{ID: "x", Type: TypeMerge, Origin: "b", Seq: 1, Time: 5, Seen: map[Line]uint64{"a.": 1}},
		{ID: "z", Type: TypeMerge, Origin: "b", Seq: 2, Time: 6, Change: &Change{Set: map[Pointer]json.RawMessage{"/n": json.RawMessage("3")}}},
	}
	told := map[string]bool{}
	permute(ops, func(order []*Operation) {
		h := HistoryOf(lab)
		h.AddFact(Fact{"x", "z"})
		for _, o := range order {
			h.Add(o)
			h.Add(o)
		}
		if h.kind != lab || !h.facts[Fact{"x", "z"}] {
			t.Fatal("with the other claim its rules or a fact are forgotten")
		}
		var b strings.Builder
		for _, o := range h.Ordered() {
			fmt.Fprintf(&b, "%s%d of %s, ", o.Origin, o.Seq, o.ID)
		}
		fmt.Fprintf(&b, "held %d, x is %s's, shows %s", h.Held(), h.Get("x").Origin, FoldOf(h, func(*Operation) bool { return true }).Representation())
		told[b.String()] = true
	})
	if len(told) != 1 {
		t.Errorf("the order of delivery decides: %v", told)
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
			h.Add(&Operation{ID: "2", Type: TypeMerge, Origin: "a", Seq: 2, Time: 2, Change: &Change{Set: merge}})
			for b.Loop() {
				FoldOf(h, func(*Operation) bool { return true })
			}
		})
	}
}
