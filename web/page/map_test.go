package page

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// meshOf is a mesh of sites a, b, c… with round trips between them; 0: not known.
func meshOf(trips [][]float64) ([]shape.Site, pairs) {
	var sites []shape.Site
	var d api.Distances
	for i, row := range trips {
		sites = append(sites, shape.Site{Name: string(rune('a' + i)), Self: i == 0, Reachable: true})
		for j, rtt := range row {
			if rtt > 0 {
				d.Items = append(d.Items, api.Distance{From: string(rune('a' + i)), To: string(rune('a' + j)), RTT: rtt})
			}
		}
	}
	return sites, pairsOf(d)
}

func TestTheMapShowsWhatIsNear(t *testing.T) {
	m := mapOf(meshOf([][]float64{{}, {10}, {100, 100}, {100, 100, 12}}))
	at := map[string]mapped{}
	for _, s := range m.Sites {
		at[s.Name] = s
	}
	far := func(a, b string) float64 { return math.Hypot(at[a].X-at[b].X, at[a].Y-at[b].Y) }
	if far("a", "b")*3 > far("a", "c") || far("c", "d")*3 > far("b", "d") {
		t.Errorf("a-b %.0f, c-d %.0f, a-c %.0f, b-d %.0f", far("a", "b"), far("c", "d"), far("a", "c"), far("b", "d"))
	}
	if m.Sites[0].Name != "a" || m.Ruler != 10 || math.Abs(m.Scale*10-far("a", "c")) > 60 {
		t.Errorf("the ruler of %v ms is %.0f long, and 100 ms are %.0f", m.Ruler, m.Scale, far("a", "c"))
	}
}

func TestTheMapHasRoomForEverySite(t *testing.T) {
	for n := range 60 {
		trips := make([][]float64, n)
		for i := range trips {
			trips[i] = make([]float64, i)
			for j := range trips[i] {
				trips[i][j] = float64((i*j)%7) * 5 // some are not known, many are the same
			}
		}
		sites, p := meshOf(trips)
		m := mapOf(sites, p)
		if len(m.Sites)+m.Left != n {
			t.Fatalf("%d sites: %d drawn and %d left", n, len(m.Sites), m.Left)
		}
		seen := map[string]bool{}
		for _, s := range m.Sites {
			if !(s.X >= mapEdgeX && s.X <= mapWidth-mapEdgeX && s.Y >= mapEdgeY && s.Y <= mapHeight-mapEdgeY) {
				t.Errorf("%d sites: %s is at %v", n, s.Name, s.point)
			}
			seen[fmt.Sprintf("%.0f %.0f", s.X, s.Y)] = true
		}
		var texts []box
		for i := range m.Sites {
			s := &m.Sites[i]
			if s.Named {
				texts = append(texts, s.nameBox())
			}
			if s.Timed {
				texts = append(texts, s.tripBox())
			}
		}
		for i, a := range texts {
			if slices.ContainsFunc(texts[:i], a.covers) {
				t.Errorf("%d sites: a text lies over another at %v", n, a)
			}
		}
		if n > 0 && (!m.Sites[0].Named || n <= 8 && m.Unnamed > 0) {
			t.Errorf("%d sites: %d have no name, this one has one: %t", n, m.Unnamed, m.Sites[0].Named)
		}
		if m.Scale > mapWidth/3 {
			t.Errorf("%d sites: the ruler is %.0f long", n, m.Scale)
		}
		if len(seen) < len(m.Sites)*2/3 {
			t.Errorf("%d sites stand in %d places", len(m.Sites), len(seen))
		}
	}
}

// Three sites whose round trips put them on one line, as those of one machine may: none lies on the stroke to another.
func TestNoSiteLiesOnTheStrokeToAnother(t *testing.T) {
	for _, trips := range [][][]float64{
		{{}, {10}, {20, 10}},
		{{}, {10}, {10, 20}, {20, 10, 30}},
		{{}, {5}, {10, 5}, {15, 10, 5}, {20, 15, 10, 5}},
	} {
		m := mapOf(meshOf(trips))
		here := m.Sites[0]
		for i, s := range m.Sites[1:] {
			for j, behind := range m.Sites[1:] {
				dx, dy := behind.X-here.X, behind.Y-here.Y
				long := math.Hypot(dx, dy)
				along := ((s.X-here.X)*dx + (s.Y-here.Y)*dy) / long
				if beside := math.Abs((s.Y-here.Y)*dx-(s.X-here.X)*dy) / long; i != j && along > 0 && along < long && beside < 20 {
					t.Errorf("%d sites: %s is %.0f beside the stroke to %s", len(m.Sites), s.Name, beside, behind.Name)
				}
			}
		}
	}
}
