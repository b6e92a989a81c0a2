package merge

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

func TestHistoryHoldsBackWhatHasGapsOrAbsurdTimes(t *testing.T) {
	h := historyOf(lab)
	add := func(id string, time int64, seen Vector) int {
		return len(h.Add(op(id, engine.TypeMerge, time, seen, &Edit{})))
	}
	if n := add("a-3", 30, nil); n != 0 || !h.HeldBack("a") || h.Issued("a") != 3 || h.Last("a") != 0 {
		t.Error("an operation counts before those of its origin that came before it")
	}
	add("a-1", 10, nil)
	if n := add("a-2", 20, nil); n != 2 || h.Held() != 0 || h.HeldBack("a") {
		t.Errorf("the missing one completes %d, %d stay held back", n, h.Held())
	}
	if add("b-1", 20, Vector{"a": 4}) != 0 || h.Held() != 1 {
		t.Error("an operation counts before what it has seen")
	}
	for name, n := range map[string]int{
		"does not come after what it has seen":       add("c-1", 20, Vector{"a": 2}),
		"does not come after what it follows":        add("a-4", 30, nil),
		"is at the end of time":                      add("d-1", math.MaxInt64, nil),
		"is before all time":                         add("e-1", -1, nil),
		"has seen what comes after it of its origin": add("f-1", 40, Vector{"f": 1}),
	} {
		if n != 0 {
			t.Errorf("an operation counts that %s", name)
		}
	}
	if n := add("g-1", latestTime, nil) + add("h-1", latestTime+1, Vector{"g": 1}); n != 2 {
		t.Error("nothing may come after the latest time")
	}
	if n := add("i-1", latestTime+2, Vector{"h": 1}); n != 0 {
		t.Error("an operation counts that has not seen what another had seen that it has seen")
	}
	if got := len(h.Ordered()); got != 5 || h.Held() != 7 || h.Len() != 5 {
		t.Errorf("%d count and %d are held back", got, h.Held())
	}
	if want := (Vector{"a": 3, "g": 1, "h": 1}); fmt.Sprint(h.Complete()) != fmt.Sprint(want) {
		t.Errorf("complete is %v, want %v", h.Complete(), want)
	}
	if o := h.At("a", 2); o == nil || o.ID != "a-2" || h.At("a", 4) != nil || h.At("z", 1) != nil {
		t.Error("operations are not found by number")
	}
}

// TestWhatIsKnownChangesNothing adds operations again, and others under numbers that are taken: the first counts.
func TestWhatIsKnownChangesNothing(t *testing.T) {
	first, other := op("a-1", engine.TypeCreate, 1, nil, set("/n", "1")), op("a-1", engine.TypeCreate, 1, nil, set("/n", "2"))
	waiting := op("a-3", engine.TypeMerge, 3, nil, set("/n", "3"))
	h := historyOf(lab, first, first, other, waiting, waiting)
	if n := h.Whole(Any).Cells["/n"].Value; string(n) != "1" || h.Held() != 1 || len(h.Ordered()) != 1 {
		t.Errorf("n is %s, %d are held back, %d count", n, h.Held(), len(h.Ordered()))
	}
}

// TestInvariantTheOrderOfDeliveryDoesNotCount delivers random operations in two orders: the same is complete, in the same order,
// and each is told of once when it becomes so, after all that it has seen.
func TestInvariantTheOrderOfDeliveryDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawOperations(t, lab)
		all = slices.DeleteFunc(all, func(*Operation) bool { return rapid.IntRange(0, 19).Draw(t, "lost") == 0 })
		var lists [2][]*Operation
		var held [2]int
		for i := range lists {
			h := historyOf(lab)
			told := map[*Operation]bool{}
			for _, o := range rapid.Permutation(all).Draw(t, "order") {
				for _, c := range h.Add(o) {
					for _, p := range h.Ordered() {
						if h.Before(p, c) && !told[p] {
							t.Fatalf("%s is complete before %s, which it has seen", c.ID, p.ID)
						}
					}
					if told[c] {
						t.Fatalf("%s is told of twice", c.ID)
					}
					told[c] = true
				}
			}
			if len(told) != len(h.Ordered()) || h.Held()+len(told) != len(all) {
				t.Fatalf("%d are told of, %d count, %d are held back of %d", len(told), len(h.Ordered()), h.Held(), len(all))
			}
			lists[i], held[i] = h.Ordered(), h.Held()
			if !slices.IsSortedFunc(lists[i], engine.Compare) {
				t.Fatal("they are not in order")
			}
		}
		if !slices.Equal(lists[0], lists[1]) || held[0] != held[1] {
			t.Fatalf("one order completes %v, another %v", ids(lists[0]), ids(lists[1]))
		}
	})
}

// drawOperations are operations of three sites that hear of each other now and then, as sites issue them: what is there is not
// created, and what is not there is not changed.
func drawOperations(t *rapid.T, k *Kind) []*Operation {
	var all []*Operation
	names := []SiteID{"a", "b", "c"}
	at := map[SiteID]*History{"a": historyOf(k), "b": historyOf(k), "c": historyOf(k)}
	types := []engine.Type{engine.TypeMerge, engine.TypeMerge, engine.TypeMerge, engine.TypeReplace, engine.TypeAbsolute, engine.TypeAction,
		engine.TypeDelete}
	for range rapid.IntRange(1, 40).Draw(t, "operations") {
		site := rapid.SampledFrom(names).Draw(t, "site")
		h := at[site]
		if rapid.Bool().Draw(t, "hears") {
			for _, o := range at[rapid.SampledFrom(names).Draw(t, "from")].Ordered() {
				h.Add(o)
			}
		}
		typ := rapid.SampledFrom(types).Draw(t, "type")
		switch {
		case len(h.creates) == 0:
			typ = engine.TypeCreate
		case !h.Exists(Any): // the next incarnation has a document of its own
			continue
		}
		now := rapid.Int64Range(0, 20).Draw(t, "clock")
		for _, o := range h.Ordered() {
			now = max(now, o.Time+1)
		}
		o := op(fmt.Sprintf("%s-%d", site, h.Last(Line(site))+1), typ, now, h.Complete(), drawEdit(t, h, typ))
		delete(o.Seen, Line(site))
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		h.Add(o)
		all = append(all, o)
	}
	return all
}

// drawEdit is what an operation sets that is issued where h is known. What it adds to a number was seen there: the applications' own numbers begin
// with 1, but for one that shows none, or another one.
func drawEdit(t *rapid.T, h *History, typ engine.Type) *Edit {
	if typ == engine.TypeDelete || typ == engine.TypeAction && rapid.IntRange(0, 5).Draw(t, "undeclared") == 0 {
		return nil
	}
	e := &Edit{Set: map[Pointer]json.RawMessage{}}
	shown := h.Whole(Any)
	paths := []Pointer{"/a", "/a/b", "/a/b/c", "/d", "/d/e", "/f", "/a/x", "/a/y"}
	values := []string{"1", "2", `"x"`, "{}", "[1]"}
	if len(h.kind.Keys) > 0 {
		values = append(values, string(tree.KeyedBy("name")))
	}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		p := rapid.SampledFrom(paths).Draw(t, "path")
		if e.Set[p] != nil || slices.Contains(e.Unset, p) {
			continue
		}
		if rapid.IntRange(0, 5).Draw(t, "remove") == 0 {
			e.Unset = append(e.Unset, p)
		} else {
			e.Set[p] = []byte(rapid.SampledFrom(values).Draw(t, "value"))
		}
	}
	if typ == engine.TypeAction && !h.takesOne && rapid.Bool().Draw(t, "adds") {
		i := engine.Increment{By: "3", From: json.Number(rapid.SampledFrom([]string{"1", "1", "", "5"}).Draw(t, "from"))}
		if c, set := shown.Cells["/n"]; set {
			i.From = json.Number(c.Value)
		}
		put(&e.Add, Pointer("/n"), i)
	} else if rapid.IntRange(0, 5).Draw(t, "counter") == 0 {
		e.Set["/n"] = json.RawMessage("100")
	}
	if len(h.kind.Keys) > 0 && rapid.Bool().Draw(t, "ordered") {
		tokens := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"b", "x", "y"}), 1, 3, rapid.ID).Draw(t, "order")
		put(&e.Order, Pointer("/a"), tokens)
		if placed := rapid.IntRange(0, len(tokens)).Draw(t, "placed"); placed > 0 {
			put(&e.Placed, Pointer("/a"), tokens[:placed])
		}
	}
	e.Whole = typ == engine.TypeReplace && h.kind.ReplaceWhole
	return e
}

func TestParents(t *testing.T) {
	h := historyOf(lab,
		op("a-1", engine.TypeCreate, 1, nil, &Edit{}),
		op("a-2", engine.TypeMerge, 2, nil, &Edit{}),
		op("b-1", engine.TypeMerge, 3, Vector{"a": 1}, &Edit{}),
		op("c-1", engine.TypeMerge, 4, Vector{"a": 2, "b": 1}, &Edit{}))
	for id, want := range map[OperationID]string{"a-1": "[]", "a-2": "[a-1]", "b-1": "[a-1]", "c-1": "[a-2 b-1]"} {
		if got := fmt.Sprint(h.Parents(h.Get(id))); got != want {
			t.Errorf("%s comes after %s, want %s", id, got, want)
		}
	}
}

// TestWhereaboutsAreTheLastWord: of several operations that tell where a resource is the last counts, also through a checkpoint.
func TestWhereaboutsAreTheLastWord(t *testing.T) {
	tell := func(id string, sites ...SiteID) []engine.Whereabouts {
		return []engine.Whereabouts{{Target: engine.Target{Service: "images", Kind: "image", ID: engine.ResourceID(id)}, Sites: sites}}
	}
	first, second, third := op("a-1", engine.TypeCreate, 1, nil, &Edit{}), op("a-2", engine.TypeMerge, 2, nil, &Edit{}), op("a-3", engine.TypeMerge, 3, nil, &Edit{})
	first.Whereabouts, second.Whereabouts, third.Whereabouts = tell("x", "a"), tell("y", "b"), tell("x", "c")
	h := historyOf(lab, first, second, third)
	const want = "[{{images image x} [c] false} {{images image y} [b] false}]"
	if got := fmt.Sprint(h.Whereabouts(Any)); got != want {
		t.Errorf("told are %s, want %s", got, want)
	}
	if !h.Compact(Vector{"a": 2}, none, nil) || fmt.Sprint(h.Whereabouts(Any)) != want {
		t.Errorf("after a checkpoint %v", h.Whereabouts(Any))
	}
}
