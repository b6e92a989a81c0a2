package mesh

import (
	"fmt"
	"testing"
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
