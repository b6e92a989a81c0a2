package engine

import "maps"

// Vector counts operations of one resource by origin: it contains the first n of each. (Version vectors: Parker et al.,
// "Detection of Mutual Inconsistency in Distributed Systems", 1983.) A nil Vector contains nothing and may be read.
type Vector map[SiteID]uint64

// Has reports whether the n-th operation of an origin is contained.
func (v Vector) Has(origin SiteID, n uint64) bool { return n <= v[origin] }

// Contains reports whether all of w is contained.
func (v Vector) Contains(w Vector) bool {
	for origin, n := range w {
		if n > v[origin] {
			return false
		}
	}
	return true
}

// Clone returns a copy that is never nil.
func (v Vector) Clone() Vector {
	c := make(Vector, len(v)+1)
	maps.Copy(c, v)
	return c
}

// Join adds what w contains to v.
func (v Vector) Join(w Vector) {
	for origin, n := range w {
		if n > v[origin] {
			v[origin] = n
		}
	}
}

// Meet returns what all of the vectors contain; nothing for none.
func Meet(vectors ...Vector) Vector {
	if len(vectors) == 0 {
		return Vector{}
	}
	least := vectors[0].Clone()
	for _, v := range vectors[1:] {
		for origin, n := range least {
			if m := v[origin]; m < n {
				least[origin] = m
			}
		}
	}
	return least
}
