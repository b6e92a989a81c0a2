package strictyaml

import (
	"fmt"
	"strings"
)

const maxKnown = 200

// DidYouMean returns `; did you mean "x"?` with the known name that begins with name, or else with the nearest one, or
// nothing when none is near. It looks through the first maxKnown names only, so that a file with very many names and
// as many problems is still read at once.
func DidYouMean(name string, known []string) string {
	known = known[:min(len(known), maxKnown)]
	best, nearest := "", 1+len(name)/3
	for _, k := range known {
		if len(name) >= 3 && strings.HasPrefix(k, name) {
			best = k
			break
		}
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= nearest && (best == "" || d < nearest) {
			best, nearest = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of insertions, deletions and substitutions between a and b (Levenshtein, 1966), of bytes. Names
// far longer than any known one are not compared.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// alternatives joins choices as people do: "a, b or c".
func alternatives(choices []string) string {
	if len(choices) == 1 {
		return choices[0]
	}
	last := len(choices) - 1
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}
