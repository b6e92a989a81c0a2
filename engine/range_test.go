package engine

import (
	"strings"
	"testing"
)

func TestRangesDivideAllIdentifiers(t *testing.T) {
	for _, c := range []struct {
		id       DocumentID
		one, two uint16
	}{
		{"000" + "5", 0, 0}, {"fff" + "5", 31, 1023}, {"080" + "0", 1, 32}, {"07f" + "f", 0, 31}, {"801" + "0", 16, 512}, {"804" + "0", 16, 513},
	} {
		id := c.id + DocumentID(strings.Repeat("0", 60))
		if got := RangeOf(id, 1); got != (Range{1, c.one}) {
			t.Errorf("%s lies in %v", c.id, got)
		}
		if got := RangeOf(id, 2); got != (Range{2, c.two}) {
			t.Errorf("%s lies in %v", c.id, got)
		}
		in := 0
		for _, one := range (Range{}).Parts() {
			for _, two := range one.Parts() {
				if !one.Valid() || !two.Valid() || two.Parts() != nil {
					t.Fatalf("%v of %v", two, one)
				}
				if two.Contains(id) {
					in++
					if !one.Contains(id) || !(Range{}).Contains(id) {
						t.Errorf("%s lies in %v and not in what that is a part of", c.id, two)
					}
				}
			}
		}
		if in != 1 {
			t.Errorf("%s lies in %d of the smallest ranges", c.id, in)
		}
	}
	for _, r := range []Range{{0, 1}, {1, 32}, {2, 1024}, {3, 0}} {
		if r.Valid() {
			t.Errorf("%v is valid", r)
		}
	}
}
