package engine

import "strings"

const (
	// rangeBits is how many bits of an identifier each level of ranges takes. Ranges is two to that power.
	rangeBits = 5
	// RangeDepth is the depth of the smallest ranges.
	RangeDepth = 2
)

// Valid reports whether there is such a range.
func (r Range) Valid() bool { return r.Depth <= RangeDepth && r.First < 1<<(rangeBits*r.Depth) }

// Parts returns the ranges into which r is divided, by rising identifier; none for the smallest.
func (r Range) Parts() []Range {
	if r.Depth >= RangeDepth {
		return nil
	}
	parts := make([]Range, Ranges)
	for i := range parts {
		parts[i] = Range{Depth: r.Depth + 1, First: r.First<<rangeBits | uint16(i)}
	}
	return parts
}

// Contains reports whether a valid identifier lies in the range.
func (r Range) Contains(id DocumentID) bool { return RangeOf(id, r.Depth) == r }

// RangeOf returns the range of some depth in which a valid identifier lies.
func RangeOf(id DocumentID, depth uint8) Range {
	var bits uint16 // the first twelve
	for i := range 3 {
		bits = bits<<4 | uint16(strings.IndexByte("0123456789abcdef", id[i]))
	}
	return Range{Depth: depth, First: bits >> (12 - rangeBits*depth)}
}
