package history

import (
	"maps"
	"regexp"
)

// tries bounds how often a history is played to make it smaller.
const tries = 300

var numbers = regexp.MustCompile(`[0-9a-f-]*[0-9][0-9a-f-]*`)

// shrink leaves out of a history that fails what it fails without: first many steps at once, then fewer. The first problem
// stays the same but for its numbers.
func shrink(o Options, r Report) (Options, Report) {
	fails := func(skip map[int]bool) (Report, bool) {
		o := o
		o.Skip = skip
		s := Play(o)
		return s, len(s.Problems) > 0 && kindOf(s.Problems[0]) == kindOf(r.Problems[0])
	}
	skip := maps.Clone(o.Skip)
	if skip == nil {
		skip = map[int]bool{}
	}
	played := map[int]bool{}
	for _, i := range r.played {
		played[i] = true
	}
	for i := 1; i <= r.Steps; i++ {
		if !played[i] {
			skip[i] = true
		}
	}
	best, ok := fails(skip)
	if !ok { // steps that seemed to do nothing mattered
		skip, best = map[int]bool{}, r
		best.played = nil
		for i := 1; i <= r.Steps; i++ {
			best.played = append(best.played, i)
		}
	}
	for size, n := max(1, len(best.played)/2), 0; size > 0 && n < tries; {
		smaller := false
		for from := 0; from < len(best.played) && n < tries; n++ {
			some := maps.Clone(skip)
			for _, i := range best.played[from:min(from+size, len(best.played))] {
				some[i] = true
			}
			if next, ok := fails(some); ok && len(next.played) < len(best.played) {
				for i := 1; i <= next.Steps; i++ {
					skip[i] = some[i]
				}
				best, smaller = next, true
			} else {
				from += size
			}
		}
		if !smaller {
			size /= 2
		}
	}
	maps.DeleteFunc(skip, func(_ int, left bool) bool { return !left })
	o.Skip = skip
	return o, best
}

func kindOf(problem string) string { return numbers.ReplaceAllString(problem, "#") }
