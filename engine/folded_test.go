package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// sameAsFromScratch checks that a fold is the same whether or not it is made from an earlier one.
func sameAsFromScratch(t failer, h *History, p pick) {
	t.Helper()
	got := foldOf(h, p)
	kept := h.folded
	h.folded = folded{}
	want := foldOf(h, p)
	h.folded = kept
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("from an earlier fold: %s, superseded %v\nfrom scratch: %s, superseded %v", got.Representation(), got.Superseded,
			want.Representation(), want.Superseded)
	}
}

// TestAFoldFromAnEarlierOneIsTheSame plays random histories of three sites, under every rule, hears of them in any order, and asks for
// the folds that a site asks for.
func TestAFoldFromAnEarlierOneIsTheSame(t *testing.T) {
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
	var all []*Operation
	knows := map[SiteID]map[Line]uint64{"a": {}, "b": {}, "c": {}}
	sites := []SiteID{"a", "b", "c"}
	types := []Type{TypeMerge, TypeMerge, TypeMerge, TypeReplace, TypeAbsolute, TypeAction, TypeDelete, TypeCreate}
	paths := []Pointer{"/a", "/a/b", "/a/b/c", "/d", "/d/e", "/f"}
	values := []string{"1", "2", `"x"`, "{}", "[1]"}
	for i := range rapid.IntRange(1, 40).Draw(t, "operations") {
		site := rapid.SampledFrom(sites).Draw(t, "site")
		if rapid.Bool().Draw(t, "hears") {
			knows[site] = join(knows[site], knows[rapid.SampledFrom(sites).Draw(t, "from")])
		}
		o := &Operation{ID: OperationID(fmt.Sprintf("%03d", i)), Type: rapid.SampledFrom(types).Draw(t, "type"), Origin: site, Path: lab.Item,
			Time: int64(i), Change: &Change{Set: map[Pointer]json.RawMessage{}}}
		if i == 0 {
			o.Type = TypeCreate
		}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			p := rapid.SampledFrom(paths).Draw(t, "path")
			switch rapid.IntRange(0, 4).Draw(t, "how") {
			case 0:
				o.Change.Unset = append(o.Change.Unset, p)
			case 1:
				o.Change.Add = map[Pointer]Increment{p: {By: "3", From: "1"}}
			default:
				o.Change.Set[p] = json.RawMessage(rapid.SampledFrom(values).Draw(t, "value"))
			}
		}
		o.Change.Whole = o.Type == TypeReplace && k.ReplaceWhole
		o.Seq, o.Seen = knows[site][o.Line()]+1, maps.Clone(knows[site])
		delete(o.Seen, o.Line())
		knows[site][o.Line()] = o.Seq
		all = append(all, o)
	}
	h := HistoryOf(k)
	h.folded.step = rapid.IntRange(1, 8).Draw(t, "step")
	for i, o := range rapid.Permutation(all).Draw(t, "order") {
		h.Add(o)
		if i%7 == 3 && len(h.ordered) > 1 {
			h.AddFact(Fact{h.ordered[len(h.ordered)/2].ID, h.ordered[len(h.ordered)-1].ID})
		}
		n := rapid.IntRange(0, len(all)).Draw(t, "known")
		for _, p := range []pick{everything, {in: func(o *Operation) bool { return o.Time < int64(n) }},
			{in: func(p *Operation) bool { return h.Before(p, o) }}, {in: anyOperation, fact: func(Fact) bool { return false }}} {
			counting, _ := h.effective(p)
			if _, begins, _ := h.folded.begin(h, counting); begins > 0 {
				spared++
			}
			sameAsFromScratch(t, h, p)
		}
	}
	return spared
}
