package merge

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// issuedTwice are the operations of a resource whose create stands in two lines of its site: b has seen it in the first, c in the second.
func issuedTwice() (all []*Operation) {
	again := op("a-1", engine.TypeCreate, 15, nil, set("/a", "1"))
	again.Line = "a/2"
	return []*Operation{
		op("a-1", engine.TypeCreate, 10, nil, set("/a", "1")),
		op("b-1", engine.TypeMerge, 12, Vector{"a": 1}, set("/a", "2")),
		again,
		op("c-1", engine.TypeMerge, 20, Vector{"a/2": 1}, set("/c", "3")),
		op("c-2", engine.TypeDelete, 30, Vector{"a/2": 1}, nil),
	}
}

// TestInvariantAnOperationCountsOnce: what a site has issued twice counts where it comes first, whatever comes here first, also where a
// checkpoint stands for it. Who has seen it in one place has seen it.
func TestInvariantAnOperationCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deleted := rapid.Bool().Draw(t, "deleted")
		ops := issuedTwice()
		if !deleted {
			ops = ops[:len(ops)-1]
		}
		h := historyOf(lab, rapid.Permutation(ops).Draw(t, "order")...)
		check := func() {
			fold := h.Whole(Everything)
			if fold.Exists == deleted || !deleted && string(fold.Representation()) != `{"a":2,"c":3}` {
				t.Fatalf("deleted: %t, and it folds to %t %s", deleted, fold.Exists, fold.Representation())
			}
		}
		if check(); h.Held() > 0 {
			t.Fatalf("%d are held back", h.Held())
		}
		first := h.Get("a-1")
		if first.Time != 10 || !first.In(Vector{"a/2": 1}) || len(h.Copied()) != 1 {
			t.Fatalf("the first counts: %+v", first)
		}
		if h.Compact(Vector{"a": 1, "b": 1}, none, nil) && h.Base().Has(first) {
			t.Fatal("a checkpoint stands for one of two places")
		}
		if !h.Compact(Vector{"a": 1, "b": 1, "a/2": 1}, none, nil) {
			t.Fatal("no checkpoint stands for what is settled everywhere")
		}
		h.Stand(reread(t, h.Base()))
		check()
	})
}
