package plan

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// BenchmarkNext tells what a decision costs: about a new resource, and about one of a long history, the last operation being new.
func BenchmarkNext(b *testing.B) {
	for _, n := range []int{1, 2, 5, 1000} {
		b.Run(fmt.Sprintf("operations=%d", n), func(b *testing.B) {
			h := historyOf(kinds()["default"], "a", issued("a", n)...)
			last := h.Ordered()[n-1]
			s := Standing{Settled: func(o *Operation) bool { return o != last }, Void: none, Blocked: none, Gone: n == 1}
			b.ReportAllocs()
			for b.Loop() {
				if Next(h, s).Kind != StepRun {
					b.Fatal("the last operation is not run")
				}
			}
		})
	}
}

// BenchmarkHeal tells what it costs to decide what to do about what another site has done to one resource during a cut: all of it
// at once, and one operation after another, where as much was done here.
func BenchmarkHeal(b *testing.B) {
	const n = 1000
	mine := issued("a", n)
	theirs := issued("b", n)
	for _, o := range theirs {
		o.Type, o.Seen = engine.TypeMerge, Vector{"a": 1}
		o.Time += n / 2 // so that half of them come before what was done here last
	}
	for _, batch := range []int{n, 100, 1} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			for b.Loop() {
				h := historyOf(kinds()["default"], "a", mine...)
				settled := Vector{"a": n}
				s := Standing{Settled: func(o *Operation) bool { return settled.Has(o.Line, o.Number) }, Void: none, Blocked: none}
				for i := 0; i < n; i += batch {
					for _, o := range theirs[i : i+batch] {
						h.Add(o)
					}
					for step := Next(h, s); step.Kind != StepNothing; step = Next(h, s) {
						for _, o := range step.Operations {
							settled[o.Line] = max(settled[o.Line], o.Number)
						}
					}
				}
				if settled["b"] != n {
					b.Fatalf("%v is settled", settled)
				}
			}
		})
	}
}

// issued are a create and changes of one site, of a few fields each.
func issued(site engine.SiteID, n int) []*Operation {
	ops := make([]*Operation, n)
	for i := range ops {
		ops[i] = &Operation{ID: OperationID(fmt.Sprintf("%s-%06d", site, i)), Type: engine.TypeMerge, Line: engine.Line(site), Origin: site, Number: uint64(i + 1), Time: int64(i),
			Path: "/images/{id}", Edit: set(Pointer(fmt.Sprintf("/f%d", i%20)), fmt.Sprint(i))}
	}
	ops[0].Type, ops[0].Path = engine.TypeCreate, "/images"
	return ops
}
