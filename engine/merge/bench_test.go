package merge

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// BenchmarkFold folds a create of n fields, in groups, and a few changes of half of them.
func BenchmarkFold(b *testing.B) {
	for _, c := range []struct{ fields, changes int }{{8, 0}, {8, 3}, {20, 3}, {2000, 3}} {
		b.Run(fmt.Sprintf("fields=%d,changes=%d", c.fields, c.changes), func(b *testing.B) {
			h := historyOf(lab)
			for n := range c.changes + 1 {
				values := map[Pointer]json.RawMessage{}
				for i := range c.fields {
					if n == 0 || i%2 == 0 {
						values[Pointer(fmt.Sprintf("/group%d/field%d", i%4, i))] = json.RawMessage(fmt.Sprint(n))
					}
				}
				h.Add(op(fmt.Sprintf("a-%d", n+1), engine.TypeMerge, int64(n+1), nil, &Edit{Set: values}))
			}
			h.Ordered()[0].Type = engine.TypeCreate
			h.creates = h.Ordered()[:1]
			b.ReportAllocs()
			for b.Loop() {
				h.folded = folded{}
				h.Whole(Any)
			}
		})
	}
}

// BenchmarkLongFold folds a history that grows at its end, as a site does that hears of one operation after another, from
// scratch and on top of the fold before.
func BenchmarkLongFold(b *testing.B) {
	for _, n := range []int{5, 20, 100, 1000} {
		h := longHistory(n)
		before := Pick(Within(h.Ordered()[:n-1]))
		b.Run(fmt.Sprintf("operations=%d,scratch", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.folded = folded{}
				h.Whole(Any)
			}
		})
		b.Run(fmt.Sprintf("operations=%d,grown", n), func(b *testing.B) {
			b.ReportAllocs()
			h.folded = folded{}
			h.Whole(before)
			kept := h.folded
			for b.Loop() {
				h.folded = kept
				h.Whole(Any)
			}
		})
		b.Run(fmt.Sprintf("operations=%d,same", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Whole(Any)
			}
		})
	}
}

func longHistory(n int) *History {
	h := historyOf(lab)
	for i := range n {
		o := op(fmt.Sprintf("%c-%d", 'a'+i%2, i/2+1), engine.TypeMerge, int64(i), nil, set(Pointer(fmt.Sprintf("/f%d", i%20)), fmt.Sprint(i)))
		switch {
		case i == 0:
			o.Type = engine.TypeCreate
		case i%2 == 1:
			o.Seen = Vector{"a": 1}
		}
		h.Add(o)
	}
	return h
}

// BenchmarkAdd adds the operations of two sites that were cut off, those of one after those of the other.
func BenchmarkAdd(b *testing.B) {
	ordered := longHistory(2000).Ordered()
	b.ReportAllocs()
	for b.Loop() {
		h := historyOf(lab)
		for _, mine := range []bool{true, false} {
			for _, o := range ordered {
				if mine == (o.Origin == "a") {
					h.Add(o)
				}
			}
		}
		if h.Held() > 0 {
			b.Fatal("some are held back")
		}
	}
}

// BenchmarkCompact puts a checkpoint in the place of a history.
func BenchmarkCompact(b *testing.B) {
	ordered := longHistory(1000).Ordered()
	for b.Loop() {
		h := historyOf(lab, ordered...)
		if !h.Compact(h.Complete(), none, nil) {
			b.Fatal("nothing is compacted")
		}
	}
}

// BenchmarkCheckpoint encodes, decodes and checks a checkpoint.
func BenchmarkCheckpoint(b *testing.B) {
	h := longHistory(1000)
	h.Compact(h.Complete(), none, nil)
	b.ReportAllocs()
	for b.Loop() {
		var c Checkpoint
		if err := engine.Decode(engine.Encode(h.Base()), &c); err != nil || c.Validate() != nil {
			b.Fatal(err)
		}
	}
}
