package merge

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// sameAsFromScratch checks that a fold is the same whether or not it is made from an earlier one.
func sameAsFromScratch(t *rapid.T, h *History, p Pick) {
	got := h.Whole(p)
	below := map[Pointer]int{}
	for p := range got.Cells {
		for q := p.Parent(); q != ""; q = q.Parent() {
			below[q]++
		}
	}
	if !reflect.DeepEqual(shownOf(got)[4], below) {
		t.Fatalf("%v cells are below paths, and %v are counted", below, got.below)
	}
	kept := h.folded
	h.folded = folded{}
	want := h.Whole(p)
	h.folded = kept
	if !reflect.DeepEqual(shownOf(got), shownOf(want)) {
		t.Fatalf("from an earlier fold: %s, superseded %v\nfrom scratch: %s, superseded %v", got.Representation(), got.Superseded,
			want.Representation(), want.Superseded)
	}
}

// shownOf is all that a fold says, empty maps being none.
func shownOf(f Fold) []any {
	below := map[Pointer]int{}
	for p, n := range f.below {
		if n != 0 {
			below[p] = n
		}
	}
	return []any{f.Exists, f.Cells, len(f.Absolute), f.Superseded, below, len(f.order), f.whole, string(f.Representation()), f.Digest("d")}
}

// TestInvariantAFoldFromAnEarlierOneIsTheSame plays random histories of three sites, under every rule, hears of them in any order,
// and asks for the folds that a site asks for. What was told before stays as it was.
func TestInvariantAFoldFromAnEarlierOneIsTheSame(t *testing.T) {
	spared := 0
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { spared += playFolds(t, k) })
		})
	}
	if spared < 1000 {
		t.Errorf("only %d folds were made from earlier ones", spared)
	}
}

// playFolds returns how many folds began with another one.
func playFolds(t *rapid.T, k *Kind) (spared int) {
	all := drawOperations(t, k)
	h := historyOf(k)
	for _, o := range rapid.Permutation(all).Draw(t, "order") {
		h.Add(o)
		n := int64(rapid.IntRange(0, len(all)).Draw(t, "known"))
		for _, p := range []Pick{Any, func(o *Operation) bool { return o.Time < n },
			func(p *Operation) bool { return h.Before(p, o) }} {
			counting, _ := h.Effective(p)
			if _, begins := h.folded.longest(counting); begins > 0 {
				spared++
			}
			sameAsFromScratch(t, h, p)
		}
	}
	return spared
}

// TestInvariantADifferenceLeadsThere: what Difference says between two folds, applied to what one shows, shows the other.
func TestInvariantADifferenceLeadsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := kinds()["default"]
		h := historyOf(k, drawOperations(t, k)...)
		n := rapid.Int64Range(0, 60).Draw(t, "known")
		f, g := h.Whole(func(o *Operation) bool { return o.Time < n }), h.Whole(Any)
		after, err := tree.Apply(k, f.Difference(g), f.Representation())
		if err != nil {
			t.Fatal(err)
		}
		form, _ := tree.Comparable(k, after)
		want, _ := tree.Comparable(k, g.Representation())
		if string(form) != string(want) {
			t.Fatalf("%s becomes %s, want %s", f.Representation(), form, want)
		}
		if root, _, ok := tree.Canonical(k, g.Representation()); ok && len(g.Deviations(k, root)) > 0 {
			t.Fatalf("%s deviates from itself at %v", g.Representation(), g.Deviations(k, root))
		}
	})
}

func TestASupersededValueIsKept(t *testing.T) {
	create := op("a-1", engine.TypeCreate, 1, nil, set("/n", "1"))
	mine, theirs := op("a-2", engine.TypeMerge, 2, nil, set("/n", "2")), op("b-1", engine.TypeMerge, 3, Vector{"a": 1}, set("/n", "3"))
	f := historyOf(lab, create, mine, theirs).Whole(Any)
	want := []engine.Superseded{{Path: "/n", Value: []byte("2"), By: "a-2", Over: "b-1", Rule: byOrder}}
	if !reflect.DeepEqual(f.Superseded, want) {
		t.Errorf("superseded are %+v", f.Superseded)
	}
	seen := op("b-1", engine.TypeMerge, 3, Vector{"a": 2}, set("/n", "3"))
	if f := historyOf(lab, create, mine, seen).Whole(Any); len(f.Superseded) > 0 {
		t.Errorf("what its successor has seen is superseded: %+v", f.Superseded)
	}
}

// TestADigestTellsFoldsApart by what they set, not by who set it.
func TestADigestTellsFoldsApart(t *testing.T) {
	cell := func(v, by string) Cell { return Cell{Value: json.RawMessage(v), By: &Operation{ID: OperationID(by)}} }
	one := Fold{Exists: true, Cells: map[Pointer]Cell{"/a": cell("1", "x"), "/b": {}}}
	same := Fold{Exists: true, Cells: map[Pointer]Cell{"/a": cell("1", "y")}}
	other := Fold{Exists: true, Cells: map[Pointer]Cell{"/a": cell("2", "x")}}
	if one.Digest("d") != same.Digest("d") || one.Digest("d") == other.Digest("d") || one.Digest("d") == one.Digest("e") {
		t.Error("the digests do not tell the folds apart")
	}
}

func TestLabel(t *testing.T) {
	k := *lab
	k.Label = "/name"
	for value, want := range map[string]string{
		`"debian"`: "debian", `7`: "", `"` + strings.Repeat("é", 120) + `"`: strings.Repeat("é", 99) + "…",
	} {
		f := historyOf(&k, op("a-1", engine.TypeCreate, 1, nil, set("/name", value))).Whole(Any)
		if got := f.Label(&k); got != want {
			t.Errorf("%s is called %q", value, got)
		}
		hidden := k
		hidden.Sensitive = []Pointer{"/name"}
		if f.Label(&hidden) != "" {
			t.Error("what is sensitive is shown")
		}
	}
}

// TestCatalogsThatDiffer folds operations of sites of which one does not know yet that the array is keyed.
func TestCatalogsThatDiffer(t *testing.T) {
	k := kinds()["default, keyed"]
	a := op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{"/a": tree.KeyedBy("name"), "/a/sda": tree.Object}})
	b := op("b-1", engine.TypeCreate, 2, nil, &Edit{Set: map[Pointer]json.RawMessage{"/a": tree.Object, "/a/x": json.RawMessage("1")}})
	if got := string(historyOf(k, a, b).Whole(Any).Representation()); got != `{"a":{"x":1}}` {
		t.Errorf("folds to %s", got)
	}
}

// TestBytesWhoseEffectIsSeen: what a PUT below an item was seen to set is part of what is shown once it has run.
func TestBytesWhoseEffectIsSeen(t *testing.T) {
	before := historyOf(lab).Nothing()
	after := before.After(&Operation{Type: engine.TypeAbsolute, Path: "/sets/{id}/scale", Edit: set("/n", "4")}, before)
	if string(after.Cells["/n"].Value) != "4" || len(before.Absolute) != 0 || len(before.Cells) != 0 {
		t.Errorf("after it %v is shown, and before it %v", after, before)
	}
}

// TestAnApplicationsOwnCounterAddsUp: a number that no client has set begins with what the application showed first.
func TestAnApplicationsOwnCounterAddsUp(t *testing.T) {
	add := func(id string, at int64, seen Vector, by, from json.Number) *Operation {
		return op(id, engine.TypeAction, at, seen, &Edit{Add: map[Pointer]engine.Increment{"/n": {By: by, From: from}}})
	}
	h := historyOf(kinds()["default"], op("a-1", engine.TypeCreate, 1, nil, &Edit{}),
		add("a-2", 2, nil, "13", "5"), add("b-1", 3, Vector{"a": 1}, "2", "5"), add("a-3", 4, Vector{"b": 1}, "-0.5", "20"))
	cell := h.Whole(Any).Cells["/n"]
	if string(cell.Value) != "19.5" || !cell.Counted {
		t.Errorf("it is %s", cell.Value)
	}
	set := op("c-1", engine.TypeMerge, 5, Vector{"a": 2}, set("/n", "100"))
	h.Add(set)
	if got := string(h.Whole(Any).Cells["/n"].Value); got != "101.5" { // two additions were not seen by who has set it
		t.Errorf("once it is set it is %s", got)
	}
}

// TestAnElementIsThereWholeOrNotAtAll: of an element that one site takes away while another changes it no half is left. The later of the two
// counts, and a later change brings back all that was in it; so does one that whoever took it away could not know of.
func TestAnElementIsThereWholeOrNotAtAll(t *testing.T) {
	k := *lab
	k.Keys = []engine.Key{{At: "/disks", Member: "id"}}
	create := op("a-1", engine.TypeCreate, 1, nil, &engine.Edit{Set: map[Pointer]json.RawMessage{"/disks": tree.KeyedBy("id"), "/disks/x": tree.Object, "/disks/x/id": []byte(`"x"`), "/disks/x/size": []byte("1"),
		"/disks/y": tree.Object, "/disks/y/id": []byte(`"y"`)}})
	gone := func() *engine.Edit { return &engine.Edit{Unset: []Pointer{"/disks/x", "/disks/x/id", "/disks/x/size"}} }
	seen := Vector{"a": 1}
	for what, c := range map[string]struct {
		ops        []*Operation
		want, lost string
	}{
		"changed, then taken away":           {[]*Operation{op("b-1", engine.TypeMerge, 2, seen, set("/disks/x/size", "2")), op("a-2", engine.TypeMerge, 3, nil, gone())}, `{"disks":[{"id":"y"}]}`, "/disks/x/size"},
		"taken away, then changed":           {[]*Operation{op("a-2", engine.TypeMerge, 2, nil, gone()), op("b-1", engine.TypeMerge, 3, seen, set("/disks/x/size", "2"))}, `{"disks":[{"id":"x","size":2},{"id":"y"}]}`, ""},
		"only a part is changed later":       {[]*Operation{op("a-2", engine.TypeMerge, 2, nil, gone()), op("b-1", engine.TypeMerge, 3, seen, set("/disks/x/note", `"n"`))}, `{"disks":[{"id":"x","note":"n","size":1},{"id":"y"}]}`, ""},
		"what was not there is added before": {[]*Operation{op("b-1", engine.TypeMerge, 2, seen, set("/disks/x/note", `"n"`)), op("a-2", engine.TypeMerge, 3, nil, gone())}, `{"disks":[{"id":"x","note":"n","size":1},{"id":"y"}]}`, ""},
		"made anew by who has not seen it go": {[]*Operation{op("a-2", engine.TypeMerge, 2, nil, gone()), op("b-1", engine.TypeMerge, 3, seen, &engine.Edit{Set: map[Pointer]json.RawMessage{
			"/disks/x": tree.Object, "/disks/x/id": []byte(`"x"`), "/disks/x/size": []byte("7")}})}, `{"disks":[{"id":"x","size":7},{"id":"y"}]}`, "/disks/x/disks/x/id/disks/x/size"},
		"changed by who has seen it go": {[]*Operation{op("a-2", engine.TypeMerge, 2, nil, gone()), op("b-1", engine.TypeMerge, 3, Vector{"a": 2}, set("/disks/x/size", "2"))}, `{"disks":[{"id":"y"},{"id":"x","size":2}]}`, ""},
	} {
		f := historyOf(&k, append([]*Operation{create}, c.ops...)...).Whole(Any)
		lost := ""
		for _, s := range f.Superseded {
			lost += string(s.Path)
		}
		if got := string(f.Representation()); got != c.want || lost != c.lost {
			t.Errorf("%s: %s, superseded %q, want %s, %q", what, got, lost, c.want, c.lost)
		}
	}
}
