package site

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestPrints: a fingerprint follows what is shared, is that of its parts together, and goes back to nothing.
func TestPrints(t *testing.T) {
	p := &prints{of: map[engine.SiteID]*rangePrints{}}
	whole := []engine.Range{{}}
	_, blue := document("blue")
	_, red := document("red")
	one, two := shared{digest: engine.Fingerprint{1}, peers: []engine.SiteID{"nantes"}}, shared{digest: engine.Fingerprint{2}, peers: []engine.SiteID{"lille", "nantes"}}
	p.change(blue, shared{}, one)
	p.change(red, shared{}, two)
	if p.sums("lille", whole)[0] != element(red, two.digest) || p.sums("rome", whole)[0] != (engine.Fingerprint{}) {
		t.Error("a site compares what is not shared with it")
	}
	var parts engine.Fingerprint
	for first := range uint16(engine.Ranges) {
		parts.Add(p.sums("nantes", []engine.Range{{Depth: 1, First: first}})[0])
	}
	both := element(blue, one.digest)
	both.Add(element(red, two.digest))
	if got := p.sums("nantes", whole)[0]; got != both || parts != both {
		t.Errorf("compared are %v, in parts %v, want %v", got, parts, both)
	}
	left := shared{digest: engine.Fingerprint{3}, peers: nil, apart: map[engine.SiteID]engine.Fingerprint{"nantes": {7}}}
	p.change(blue, one, left)
	p.change(red, two, shared{})
	if p.sums("nantes", whole)[0] != element(blue, engine.Fingerprint{7}) || p.sums("lille", whole)[0] != (engine.Fingerprint{}) {
		t.Error("what has left is compared as before")
	}
}
