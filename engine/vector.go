package engine

import "maps"

// Vector counts operations of one resource by line: it contains the first n of each. (Version vectors: Parker et al.,
// "Detection of Mutual Inconsistency in Distributed Systems", 1983.) A nil Vector contains nothing and may be read.
type Vector map[Line]uint64

// Has reports whether the n-th operation of a line is contained.
func (v Vector) Has(l Line, n uint64) bool { return n <= v[l] }

// Contains reports whether all of w is contained.
func (v Vector) Contains(w Vector) bool {
	for l, n := range w {
		if n > v[l] {
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
	for l, n := range w {
		if n > v[l] {
			v[l] = n
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
		for l, n := range least {
			if m := v[l]; m < n {
				least[l] = m
			}
		}
	}
	return least
}
