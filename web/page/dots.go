package page

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/web/shape"
)

// dot is one site's state in a line of many.
type dot struct{ Site, State, Path string }

const dotWidth = 9

// dotsOf are the states at sites, the worst first, by name where they are equal.
func dotsOf[V any](sites map[string]V, state func(V) string) []dot {
	var all []dot
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		all = append(all, dot{Site: name, State: state(sites[name])})
	}
	rank := func(d dot) int { return slices.Index([]string{"quiet", "good", "busy", "warn", "bad"}, tone(d.State)) }
	slices.SortStableFunc(all, func(a, b dot) int { return cmp.Or(rank(b)-rank(a), strings.Compare(a.State, b.State)) })
	return all
}

// dotPaths has one path for all dots of a state. What is as it should be is a disc, what is under way a ring, anything else an edge.
func dotPaths(all []dot) (paths []dot) {
	for i, d := range all {
		x := i * dotWidth
		shape := fmt.Sprintf("M%d 1l4 4-4 4-4-4z", x+4) // a square on its corner
		switch tone(d.State) {
		case "good":
			shape = fmt.Sprintf("M%d 5a3 3 0 1 0 6 0 3 3 0 1 0-6 0", x+1)
		case "busy":
			shape = fmt.Sprintf("M%d 5a3 3 0 1 0 6 0 3 3 0 1 0-6 0m2 0a1 1 0 1 1 2 0 1 1 0 1 1-2 0", x+1)
		case "quiet":
			shape = fmt.Sprintf("M%d 4h6v2h-6z", x+1)
		}
		if n := len(paths); n > 0 && paths[n-1].State == d.State {
			paths[n-1].Path += shape
		} else {
			paths = append(paths, dot{State: d.State, Path: shape})
		}
	}
	return paths
}

// dotWords says in words how many are in which state, of those first about which there is something to say, or that all are as they are
// to be.
func dotWords(all []dot) string {
	var parts []string
	for i := 0; i < len(all); {
		n := i
		for n < len(all) && all[n].State == all[i].State {
			n++
		}
		if tone(all[i].State) != "good" || i == 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n-i, all[i].State))
		}
		i = n
	}
	return strings.Join(parts, ", ")
}

// dotTitle names the sites of each state.
func dotTitle(all []dot) string {
	var lines []string
	for i := 0; i < len(all); {
		var names []string
		state := all[i].State
		for ; i < len(all) && all[i].State == state; i++ {
			names = append(names, all[i].Site)
		}
		lines = append(lines, state+": "+shape.List(names))
	}
	return strings.Join(lines, "\n")
}

// kindOf is the kind that a list is filtered by, with its service.
func kindOf(q url.Values) string {
	if service, kind := q.Get("service"), q.Get("kind"); service != "" && kind != "" {
		return service + "." + kind
	}
	return q.Get("kind")
}
