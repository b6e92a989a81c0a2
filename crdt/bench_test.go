package crdt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/automerge/automerge-go"
	"github.com/skerry/skerry/engine"
)

// body is an operation of 512 bytes, of which half do not repeat.
func body(i int) string {
	text := []byte(strings.Repeat(`{"name": "debian", "tags": []}, `, 8))
	for range 4 {
		sum := sha256.Sum256(append(text, byte(i), byte(i>>8)))
		text = hex.AppendEncode(text, sum[:])
	}
	return string(text)
}

// grown returns a document at paris with n changes, each of an operation and this site's replica, and the changes. There
// is no snapshot of it.
func grown(b *testing.B, n int) (*site, engine.DocumentID, []engine.SignedChange) {
	paris := newSite(b, "paris", 0, newShelf())
	paris.every = n + 1000
	id := paris.create(b, resource(paris))
	var changes []engine.SignedChange
	for i := range n {
		changes = append(changes, paris.write(b, id,
			paris.entry(engine.MapOperations, fmt.Sprint(i), body(i)), paris.entry(engine.MapReplicas, "", fmt.Sprint(i))))
	}
	return paris, id, changes
}

func BenchmarkEncode(b *testing.B) {
	paris := newSite(b, "paris", 0, newShelf())
	about := resource(paris)
	for b.Loop() {
		_, _, err := paris.Encode(about)
		must(b, err)
	}
}

func BenchmarkCreate(b *testing.B) {
	paris := newSite(b, "paris", 0, newShelf())
	about, id, err := paris.Encode(resource(paris))
	must(b, err)
	for b.Loop() {
		_, err := paris.Create(id, about)
		must(b, err)
		paris.Forget(id)
	}
}

// BenchmarkWrite makes one change more in a document that has so many already.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{0, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			paris, id, _ := grown(b, n)
			for i := 0; b.Loop(); i++ {
				if i%100 == 0 { // so that the history keeps its length
					b.StopTimer()
					paris.Forget(id)
					paris.heads(b, id)
					b.StartTimer()
				}
				_, err := paris.Write(b.Context(), id, []engine.Entry{
					paris.entry(engine.MapOperations, "new "+fmt.Sprint(i), body(i)), paris.entry(engine.MapReplicas, "", "new")})
				must(b, err)
			}
		})
	}
}

// BenchmarkMerge takes in all changes of a document at once, into an empty one.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			paris, id, changes := grown(b, n)
			nantes := newSite(b, "nantes", 0, newShelf())
			for b.Loop() {
				_, err := nantes.Create(id, paris.shelf.about())
				must(b, err)
				_, _, err = nantes.Merge(b.Context(), id, changes, anyone)
				must(b, err)
				nantes.Forget(id)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/change")
		})
	}
}

// BenchmarkLoad opens a stored document, to read it or with its core, as for writing: from all its changes, and from a
// snapshot.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		paris, id, _ := grown(b, n)
		for _, from := range []string{"changes", "snapshot"} {
			if from == "snapshot" {
				paris.open(b, id, func(d *document) {
					must(b, paris.shelf.SaveSnapshot(b.Context(), id, d.snapshot()))
				})
			}
			b.Run(fmt.Sprintf("read/%s/%d", from, n), func(b *testing.B) {
				for b.Loop() {
					paris.Forget(id)
					paris.heads(b, id)
				}
			})
			b.Run(fmt.Sprintf("write/%s/%d", from, n), func(b *testing.B) {
				for b.Loop() {
					paris.Forget(id)
					paris.open(b, id, func(*document) {})
				}
			})
		}
	}
}

// BenchmarkSnapshot makes one, and compares its size with that of the changes.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			paris, id, changes := grown(b, n)
			raw := 0
			for _, c := range changes {
				raw += len(c.Bytes) + len(c.Signature) + len(c.Author)
			}
			paris.open(b, id, func(d *document) {
				var snapshot []byte
				for b.Loop() {
					snapshot = d.snapshot()
				}
				b.ReportMetric(float64(len(snapshot)), "bytes")
				b.ReportMetric(float64(len(d.core.Save())), "core-bytes")
				b.ReportMetric(float64(raw), "raw-bytes")
			})
		})
	}
}

// BenchmarkLoadCore shows how much of a load is the core's: from all changes, and from its own compact form.
func BenchmarkLoadCore(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		paris, id, changes := grown(b, n)
		first, _ := firstChange(engine.SchemaResource, paris.shelf.about()).encode()
		all := first
		for _, c := range changes {
			all = append(all, c.Bytes...)
		}
		var saved []byte
		paris.open(b, id, func(d *document) { saved = d.core.Save() })
		b.Run(fmt.Sprint("changes/", n), func(b *testing.B) {
			for b.Loop() {
				must(b, automerge.New().LoadIncremental(all))
			}
			b.ReportMetric(float64(len(all)), "bytes")
		})
		b.Run(fmt.Sprint("saved/", n), func(b *testing.B) {
			for b.Loop() {
				_, err := automerge.Load(saved)
				must(b, err)
			}
			b.ReportMetric(float64(len(saved)), "bytes")
		})
	}
}
