package storage

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/skerry/skerry/engine"
)

func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b, b.TempDir())
			var n atomic.Int64
			done := make(chan error, callers)
			b.ResetTimer()
			for range callers {
				go func() {
					for {
						i := int(n.Add(1))
						if i > b.N {
							done <- nil
							return
						}
						if err := s.Commit(b.Context(), sample(i)); err != nil {
							done <- err
							return
						}
					}
				}()
			}
			for range callers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkLists works on 100,000 resources, of which every thousandth is in conflict.
func BenchmarkLists(b *testing.B) {
	const resources = 100_000
	s := open(b, b.TempDir())
	for n := 0; n < resources; {
		var all engine.Batch
		for range 1000 {
			one := sample(n)
			one.Resources[0].State, one.Resources[0].Pending = engine.StateConverged, false
			if n%1000 == 0 {
				one.Resources[0].State = engine.StateConflict
			}
			all.Documents = append(all.Documents, one.Documents...)
			all.Resources = append(all.Resources, one.Resources...)
			all.Operations = append(all.Operations, one.Operations...)
			n++
		}
		mustCommit(b, s, &all)
	}
	_, middle, err := s.Resources(b.Context(), engine.ResourceFilter{Limit: 1000})
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		f    engine.ResourceFilter
	}{
		{"all", engine.ResourceFilter{}},
		{"later page", engine.ResourceFilter{Cursor: middle}},
		{"site", engine.ResourceFilter{Site: "nantes"}},
		{"rare state", engine.ResourceFilter{State: engine.StateConflict}},
		{"rare state at site", engine.ResourceFilter{State: engine.StateConflict, Site: "paris", Service: "images"}},
		{"kind", engine.ResourceFilter{Service: "images", Kind: "image", State: engine.StateConverged}},
		{"query", engine.ResourceFilter{Query: "000000000077"}},
	} {
		b.Run("resources/"+tt.name, func(b *testing.B) {
			for b.Loop() {
				if rows, _, err := s.Resources(b.Context(), tt.f); err != nil || len(rows) == 0 {
					b.Fatal(len(rows), err)
				}
			}
		})
	}
	b.Run("operations/pending at site", func(b *testing.B) {
		for b.Loop() {
			if rows, _, err := s.Operations(b.Context(), engine.OperationFilter{Site: "nantes", State: engine.StatePending}); err != nil || len(rows) != 100 {
				b.Fatal(len(rows), err)
			}
		}
	})
	b.Run("CountResources", func(b *testing.B) {
		for b.Loop() {
			if counts, err := s.CountResources(b.Context()); err != nil || counts[engine.StateConflict] != 100 {
				b.Fatal(counts, err)
			}
		}
	})
	b.Run("ResourceByLocal", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.ResourceByLocal(b.Context(), "images", "image", "local-4711"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Summaries", func(b *testing.B) {
		for b.Loop() {
			if all, err := s.Summaries(b.Context(), "nantes", "", ""); err != nil || len(all) != resources {
				b.Fatal(len(all), err)
			}
		}
	})
}

// BenchmarkOpen opens the store of a site with 10,000 documents and reads what there is of each, as a start does that has to look at all.
func BenchmarkOpen(b *testing.B) {
	const documents = 10_000
	dir := b.TempDir()
	s := open(b, dir)
	for n := 0; n < documents; {
		var all engine.Batch
		for range 1000 {
			one := sample(n)
			all.Documents, all.Changes = append(all.Documents, one.Documents...), append(all.Changes, one.Changes...)
			all.Resources, all.Operations = append(all.Resources, one.Resources...), append(all.Operations, one.Operations...)
			n++
		}
		mustCommit(b, s, &all)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("and read all", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			for n := range documents {
				id := sample(n).Documents[0].ID
				if _, err := s.Document(b.Context(), id); err != nil {
					b.Fatal(err)
				}
				if _, _, err := s.Changes(b.Context(), id, nil, 0); err != nil {
					b.Fatal(err)
				}
			}
			s.Close()
		}
	})
}
