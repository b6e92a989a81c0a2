package crdt

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/skerry/skerry/engine"
)

func BenchmarkWrite(b *testing.B) {
	paris := newSite(b, "paris")
	d := newDocument(b, paris, replicated(paris, newSite(b, "nantes"), newSite(b, "brest")), 0)
	tip, entries := d.tip(paris), []engine.Entry{{Map: engine.MapOperations, Value: bytes.Repeat([]byte("x"), 500)}}
	b.ReportAllocs()
	for b.Loop() {
		c, err := paris.Write(d.about, d.id, 0, lineOf(paris), tip, entries)
		must(b, err)
		paris.SignChanges([]*engine.Change{c})
	}
}

func BenchmarkRead(b *testing.B) {
	for name, trusted := range map[string]bool{"outside": false, "trusted": true} {
		b.Run(name, func(b *testing.B) {
			paris, nantes := newSite(b, "paris"), newSite(b, "nantes")
			d := newDocument(b, paris, replicated(paris, nantes, newSite(b, "brest")), 0)
			c := d.write(b, nantes, engine.Entry{Map: engine.MapOperations, Value: bytes.Repeat([]byte("x"), 500)})
			b.ReportAllocs()
			for b.Loop() {
				_, err := paris.Read(d.about, d.id, 0, c.SignedChange, trusted)
				must(b, err)
			}
		})
	}
}

func BenchmarkIdentify(b *testing.B) {
	paris := newSite(b, "paris")
	about := replicated(paris, newSite(b, "nantes"), newSite(b, "brest"))
	raw, id, err := paris.Identify(about)
	must(b, err)
	b.Run("identify", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, err := paris.Identify(about)
			must(b, err)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, err := paris.Decode(raw)
			must(b, err)
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			paris.First(about, id, 1)
		}
	})
}

// BenchmarkStatuses signs, opens and verifies batches of statuses of 200 bytes.
func BenchmarkStatuses(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		paris, nantes := newSite(b, "paris"), newSite(b, "nantes")
		statuses := make([][]byte, n)
		for i := range statuses {
			statuses[i] = bytes.Repeat([]byte{byte(i)}, 200)
		}
		batch := paris.SignStatuses(statuses)
		all := newTree(batch.Statuses).each(batch)
		b.Run(fmt.Sprint("sign/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				paris.SignStatuses(statuses)
			}
		})
		b.Run(fmt.Sprint("open/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				nantes.roots = roots{}
				_, err := nantes.OpenBatch(batch)
				must(b, err)
			}
		})
		b.Run(fmt.Sprint("verify-one/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, nantes.VerifyStatus(all[n/2]))
			}
		})
	}
}
