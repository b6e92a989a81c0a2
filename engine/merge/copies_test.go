package merge

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// issuedTwice are the operations of a resource whose create stands in two lines: b has seen it in the first, c in the second.
func issuedTwice(second engine.Line) (all []*Operation) {
	first, again := op("a-1", engine.TypeCreate, 10, nil, set("/a", "1")), op("a-1", engine.TypeCreate, 15, nil, set("/a", "1"))
	first.Body, again.Body = []byte(`{"a":1}`), []byte(`{"a":1}`)
	again.Line, again.Origin = second, second.Site()
	return []*Operation{
		first,
		op("b-1", engine.TypeMerge, 12, Vector{"a": 1}, set("/a", "2")),
		again,
		op("c-1", engine.TypeMerge, 20, Vector{second: 1}, set("/c", "3")),
		op("c-2", engine.TypeDelete, 30, Vector{second: 1}, nil),
	}
}

// TestInvariantAnOperationCountsOnce: what was issued twice, by two runs of a site or by two sites, counts where it comes first, whatever comes
// here first, also where a checkpoint stands for it. Who has seen it in one place has seen it.
func TestInvariantAnOperationCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deleted := rapid.Bool().Draw(t, "deleted")
		second := rapid.SampledFrom([]engine.Line{"a/2", "d"}).Draw(t, "second")
		ops := issuedTwice(second)
		if !deleted {
			ops = ops[:len(ops)-1]
		}
		h := historyOf(lab, rapid.Permutation(ops).Draw(t, "order")...)
		check := func() {
			fold := h.Whole(Any)
			if fold.Exists == deleted || !deleted && string(fold.Representation()) != `{"a":2,"c":3}` {
				t.Fatalf("deleted: %t, and it folds to %t %s", deleted, fold.Exists, fold.Representation())
			}
		}
		if check(); h.Held() > 0 {
			t.Fatalf("%d are held back", h.Held())
		}
		first := h.Get("a-1")
		if first.Time != 10 || !first.In(Vector{second: 1}) || len(h.Copied()) != 1 {
			t.Fatalf("the first counts: %+v", first)
		}
		if h.Compact(Vector{"a": 1, "b": 1}, none, nil) && h.Base().Has(first) {
			t.Fatal("a checkpoint stands for one of two places")
		}
		if !h.Compact(Vector{"a": 1, "b": 1, second: 1}, none, nil) {
			t.Fatal("no checkpoint stands for what is settled everywhere")
		}
		h.Stand(reread(t, h.Base()))
		check()
	})
}

// TestOperationsOfOneIdentifier: two sites that ask for something else under one identifier have asked for two things.
func TestOperationsOfOneIdentifier(t *testing.T) {
	for what, change := range map[string]func(o *Operation){
		"method": func(o *Operation) { o.Method = "PUT" },
		"path":   func(o *Operation) { o.Path = "/elsewhere" },
		"query":  func(o *Operation) { o.Query = "a=b" },
		"body":   func(o *Operation) { o.Body = []byte("{}") },
		"blob":   func(o *Operation) { o.Blob = &engine.BlobRef{Hash: "abc", Size: 1} },
		"type":   func(o *Operation) { o.Type = engine.TypeReplace },
	} {
		other := op("a-1", engine.TypeCreate, 15, nil, set("/b", "2"))
		other.Line, other.Origin = "d", "d"
		change(other)
		if h := historyOf(lab, op("a-1", engine.TypeCreate, 10, nil, set("/a", "1")), other); len(h.Copied()) != 0 {
			t.Errorf("another %s: one counts for both", what)
		}
	}
}

// TestTheOrderOfWhatWasIssuedTwice: a checkpoint that stands for a copy tells the order of an array as well as any.
func TestTheOrderOfWhatWasIssuedTwice(t *testing.T) {
	h := historyOf(listed)
	first := putsList(t, h, "a-1", engine.TypeCreate, 1, []string{"q"}, nil)
	again := putsList(t, h, "a-1", engine.TypeCreate, 2, []string{"q"}, nil)
	again.Line = "a/2"
	h.Add(first)
	h.Add(again)
	h.Add(putsList(t, h, "b-1", engine.TypeMerge, 3, []string{"p", "q"}, Vector{"a": 1, "a/2": 1}))
	want, digest := shownBy(h), h.Whole(Any).Digest("d")
	if want != "p q" || !h.Compact(h.Complete(), none, nil) {
		t.Fatalf("it shows %q, and a checkpoint stands for it: %t", want, h.Base() != nil)
	}
	if shownBy(h) != want || h.Whole(Any).Digest("d") != digest {
		t.Errorf("it shows %q", shownBy(h))
	}
}
