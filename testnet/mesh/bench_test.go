package mesh

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

// BenchmarkCreate acknowledges replicated creates at one site: intent, request, outcome, document, index, all on disk.
func BenchmarkCreate(b *testing.B) {
	honours := *Image
	honours.HonoursKey = true
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			m, err := Open(b.Context(), b.TempDir(), &honours, 2)
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			if err := m.Reconcile(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.SetParallelism(max(1, callers/2))
			body := `{"name":"debian","size":1,"status":"new","tags":["a","b"]}`
			b.ResetTimer()
			work := func() error {
				a, err := submit(b.Context(), m.Sites[0], &honours, "POST", "", body, m.Sites...)
				if err == nil && a.Status != 201 {
					err = fmt.Errorf("answered %d", a.Status)
				}
				return err
			}
			if callers == 1 {
				for b.Loop() {
					if err := work(); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := work(); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkNext decides about the last of n operations on a resource of twenty fields.
func BenchmarkNext(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("operations=%d", n), func(b *testing.B) {
			h := engine.NewHistory()
			var last *engine.Operation
			for i := range n {
				o := &engine.Operation{ID: engine.OperationID(fmt.Sprint(i)), Type: engine.TypeMerge, Origin: "a", Seq: uint64(i + 1), Time: int64(i + 1),
					Change: &engine.Change{Set: map[engine.Pointer]json.RawMessage{engine.Pointer(fmt.Sprintf("/f%d", i%20)): json.RawMessage(fmt.Sprint(i))}}}
				if last == nil {
					o.Type = engine.TypeCreate
				}
				h.Add(o)
				last = o
			}
			standing := engine.Standing{
				Settled: func(o *engine.Operation) bool { return o != last },
				Void:    func(*engine.Operation) bool { return false },
				Blocked: func(*engine.Operation) bool { return false },
			}
			for b.Loop() {
				if step := engine.Next(h, standing); step.Kind != engine.StepRun {
					b.Fatal(step.Kind)
				}
			}
		})
	}
}
