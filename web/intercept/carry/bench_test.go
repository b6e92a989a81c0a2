package carry

import (
	"testing"
	"time"
)

// A request with a scope and without a correlation id: one is made for it, remembered, and the oldest forgotten.
func BenchmarkEnter(b *testing.B) {
	c := NewCorrelations(CorrelationHeaders, time.Hour, time.Now)
	has, add := func(string) bool { return false }, func(string, string) {}
	one := func() {
		leave, _, _ := c.Enter([]ID{c.Name(has, add)}, "{images: paris}")
		leave(true)
	}
	for range maxCorrelations {
		one()
	}
	b.ReportAllocs()
	for b.Loop() {
		one()
	}
}
