package scope

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// nearest returns the known name that a wrong one may have been meant for; empty when none is near. Letters are
// compared without their case, neighbours that changed places count once. Of equally near names it is the first
// in the alphabet.
func nearest(name string, known []string) string {
	best, least := "", 0
	for _, k := range known {
		d, ok := distance(name, k)
		if ok && (best == "" || d < least || d == least && k < best) {
			best, least = k, d
		}
	}
	return best
}

// distance is the optimal string alignment distance (a restricted Damerau-Levenshtein distance) of two names;
// false when it is more than two, or than a third of the longer name. For very short names less is allowed, so
// that something of the name is left.
func distance(a, b string) (int, bool) {
	na, nb := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	longer := max(na, nb)
	limit := max(2, longer/3)
	if longer < 4 {
		limit = longer / 2
	}
	if max(na-nb, nb-na) > limit {
		return 0, false
	}
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	// Rows i-2, i-1 and i of the table; row[j] is the distance of the first i of x and the first j of y.
	before, above, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			changed := 0
			if x[i] != y[j] {
				changed = 1
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+changed)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		if slices.Min(row) > limit {
			return 0, false
		}
		before, above, row = above, row, before
	}
	return above[len(y)], above[len(y)] <= limit
}
