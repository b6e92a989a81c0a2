package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// holdings names what the sites of a resource hold.
func holdings(r shape.Resource) string {
	if r.Collaboration == string(engine.Cross) {
		return "Parts"
	}
	return "Replicas"
}

// partOf tells which part of a cross resource a site holds, with its share of what is divided.
func partOf(r shape.Replica) string {
	if r.Part == 0 {
		return ""
	}
	text := fmt.Sprint(r.Part)
	var shares []string
	for _, p := range slices.Sorted(maps.Keys(r.Share)) {
		shares = append(shares, fmt.Sprintf("%s %s", p, r.Share[p]))
	}
	if len(shares) > 0 {
		text += ": " + strings.Join(shares, ", ")
	}
	return text
}

// divisionWidth is that of the drawing of a division, in its own units.
const divisionWidth = 800

// division is the drawing of how one number of a cross resource is divided; without a path, of which sites have a part.
type division struct {
	Path, Total string
	Parts       []share
}

// share is one site's part of the drawing.
type share struct {
	Label, State string
	X, Width     int
}

// divisions draws a cross resource, one bar for each number that is divided.
func divisions(r shape.Resource) []division {
	if r.Collaboration != string(engine.Cross) || len(r.Sites) == 0 {
		return nil
	}
	sites := siteNames(r.Sites)
	slices.SortStableFunc(sites, func(a, b string) int { return cmp.Compare(r.Sites[a].Part, r.Sites[b].Part) })
	paths := map[engine.Pointer]bool{}
	for _, s := range sites {
		for p := range r.Sites[s].Share {
			paths[p] = true
		}
	}
	if len(paths) == 0 {
		return []division{drawn("", sites, r, func(string) (float64, string) { return 1, "" })}
	}
	var all []division
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		all = append(all, drawn(string(p), sites, r, func(s string) (float64, string) {
			text := string(r.Sites[s].Share[p])
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return 0, text
			}
			return n, text
		}))
	}
	return all
}

// drawn lays out one bar. A share has at least room for its label, whatever it is.
func drawn(path string, sites []string, r shape.Resource, of func(site string) (float64, string)) division {
	d := division{Path: path}
	total := 0.0
	for _, s := range sites {
		n, _ := of(s)
		total += n
	}
	d.Total = strconv.FormatFloat(total, 'f', -1, 64)
	const gap = 4
	room := divisionWidth - gap*(len(sites)-1)
	least := room / (2 * len(sites))
	free := float64(room - least*len(sites))
	x := 0
	for _, s := range sites {
		n, label := of(s)
		w := least
		if total > 0 && n > 0 {
			w += int(free * n / total)
		}
		d.Parts = append(d.Parts, share{strings.TrimSpace(s + " " + label), r.Sites[s].State, x, w})
		x += w + gap
	}
	return d
}
