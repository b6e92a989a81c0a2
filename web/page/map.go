package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// The geometry of the map of the mesh, in its own units.
const (
	mapWidth, mapHeight = 900.0, 380.0
	mapEdgeX, mapEdgeY  = 80.0, 44.0
	mapApart            = 74.0 // between two sites at least, where there is room
	mapBeside           = 36.0 // between a site and the stroke to one behind it
	// maxMapped is how many sites are drawn, those that are nearest; the table has them all.
	maxMapped = 40
	// maxMatrix is how many sites the matrix of round trips has.
	maxMatrix = 20
)

// point is a place in the map.
type point struct{ X, Y float64 }

// mapped is a site in the map.
type mapped struct {
	shape.Site
	point
	// Named and Timed say that there is room for its name and for its round trip.
	Named, Timed bool
}

// meshMap is the drawing of a mesh: sites that are near each other, in round trips, are near each other in it.
type meshMap struct {
	Sites []mapped // this site first
	Left  int      // how many are not drawn
	// Unnamed is how many of those that are drawn have no room for their names.
	Unnamed int
	// Scale is how long Ruler milliseconds are, in units of the drawing; 0: too little is known.
	Scale, Ruler float64
}

// pairs finds round trips by the names of both ends.
type pairs map[[2]string]api.Distance

func pairsOf(d api.Distances) pairs {
	m := pairs{}
	for _, v := range d.Items {
		m[[2]string{v.From, v.To}], m[[2]string{v.To, v.From}] = v, v
	}
	return m
}

// of returns the round trip between two sites, nil when it is not known.
func (p pairs) of(a, b string) *api.Distance {
	if d, ok := p[[2]string{a, b}]; ok {
		return &d
	}
	return nil
}

// mapOf places the sites so that their distances in the plane are their round trips as far as that goes: stress majorization, one
// site after the other (Gansner, Koren, North: Graph Drawing by Stress Majorization, 2004), from a start that is always the same.
func mapOf(sites []shape.Site, p pairs) meshMap {
	m := meshMap{}
	near := slices.Clone(sites)
	if len(near) > 1 {
		here := near[0].Name
		slices.SortStableFunc(near[1:], func(a, b shape.Site) int { return cmp.Compare(p.far(here, a.Name), p.far(here, b.Name)) })
	}
	m.Left = max(0, len(near)-maxMapped)
	near = near[:min(len(near), maxMapped)]
	farthest := 0.0
	for i, s := range near {
		angle := 2 * math.Pi * float64(i) / float64(len(near))
		m.Sites = append(m.Sites, mapped{Site: s, point: point{math.Cos(angle), math.Sin(angle)}})
		for _, t := range near[:i] {
			if d := p.of(s.Name, t.Name); d != nil {
				farthest = max(farthest, d.RTT)
			}
		}
	}
	for i := range m.Sites {
		m.Sites[i].X *= farthest / 2
		m.Sites[i].Y *= farthest / 2
	}
	for range 200 {
		for i := range m.Sites {
			m.settle(i, p)
		}
	}
	m.turn()
	m.fit(farthest)
	m.label()
	return m
}

// far orders what is unknown last.
func (p pairs) far(a, b string) float64 {
	if d := p.of(a, b); d != nil {
		return d.RTT
	}
	return math.Inf(1)
}

// settle moves one site to where the springs to all others are at rest. Short distances count for more.
func (m *meshMap) settle(i int, p pairs) {
	var x, y, weight float64
	s := &m.Sites[i]
	for j, t := range m.Sites {
		d := p.of(s.Name, t.Name)
		if i == j || d == nil {
			continue
		}
		want := max(d.RTT, 0.1)
		w, have := 1/(want*want), max(math.Hypot(s.X-t.X, s.Y-t.Y), 1e-9)
		x += w * (t.X + want*(s.X-t.X)/have)
		y += w * (t.Y + want*(s.Y-t.Y)/have)
		weight += w
	}
	if weight > 0 {
		s.X, s.Y = x/weight, y/weight
	}
}

// turn lays the longest way across, since the drawing is wide.
func (m *meshMap) turn() {
	var cx, cy, xx, yy, xy float64
	n := float64(max(1, len(m.Sites)))
	for _, s := range m.Sites {
		cx, cy = cx+s.X/n, cy+s.Y/n
	}
	for _, s := range m.Sites {
		xx, yy, xy = xx+(s.X-cx)*(s.X-cx), yy+(s.Y-cy)*(s.Y-cy), xy+(s.X-cx)*(s.Y-cy)
	}
	sin, cos := math.Sincos(-math.Atan2(2*xy, xx-yy) / 2)
	for i := range m.Sites {
		s := &m.Sites[i]
		s.X, s.Y = (s.X-cx)*cos-(s.Y-cy)*sin, (s.X-cx)*sin+(s.Y-cy)*cos
	}
}

// fit scales the places to the drawing and pushes apart what would cover each other.
func (m *meshMap) fit(farthest float64) {
	var wide, high float64
	for _, s := range m.Sites {
		wide, high = max(wide, math.Abs(s.X)), max(high, math.Abs(s.Y))
	}
	scale := math.Inf(1)
	if wide > 0 {
		scale = (mapWidth/2 - mapEdgeX) / wide
	}
	if high > 0 {
		scale = min(scale, (mapHeight/2-mapEdgeY)/high)
	}
	if math.IsInf(scale, 1) {
		scale = 0
	}
	for i := range m.Sites {
		m.Sites[i].X, m.Sites[i].Y = mapWidth/2+m.Sites[i].X*scale, mapHeight/2+m.Sites[i].Y*scale
	}
	apart := min(mapApart, 0.9*math.Sqrt((mapWidth-2*mapEdgeX)*(mapHeight-2*mapEdgeY)/float64(max(1, len(m.Sites)))))
	for range 60 {
		for i := range m.Sites {
			for j := range m.Sites[:i] {
				m.Sites[i].push(&m.Sites[j], apart)
			}
			for j := range m.Sites {
				if i > 0 && j > 0 && i != j {
					m.Sites[i].step(m.Sites[0].point, m.Sites[j].point)
				}
			}
		}
		for i := range m.Sites { // what was pushed over the edge is pushed along it in the next round
			s := &m.Sites[i]
			s.X, s.Y = min(max(s.X, mapEdgeX), mapWidth-mapEdgeX), min(max(s.Y, mapEdgeY), mapHeight-mapEdgeY)
		}
	}
	if farthest > 0 && scale > 0 {
		m.Ruler = math.Pow(10, math.Floor(math.Log10(farthest/2)))
		m.Scale = m.Ruler * scale
		for m.Scale > mapWidth/3 { // sites that are nearer than their round trips
			m.Ruler, m.Scale = m.Ruler/10, m.Scale/10
		}
	}
}

// box is what a text covers of the drawing, or a site.
type box struct{ left, top, right, bottom float64 }

func boxAt(x, y, width, height float64) box {
	return box{x - width/2, y - height/2, x + width/2, y + height/2}
}

func (a box) covers(b box) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

// Sizes of what stands at a site: a letter of its name, a line of text, and where the middles of its name and of its round trip are.
const (
	letterWide, lineHigh  = 8.2, 15.0
	nameAbove, tripBelow  = 21.0, 21.0
	siteWide, nameLetters = 20.0, 16
)

func (s *mapped) nameBox() box {
	return boxAt(s.X, s.Y-nameAbove, letterWide*float64(min(len([]rune(s.Name)), nameLetters)), lineHigh)
}

func (s *mapped) tripBox() box {
	return boxAt(s.X, s.Y+tripBelow, letterWide*float64(len(tripWords(s.Site))), lineHigh)
}

// label names the sites as far as no name covers another text or a site: this one first, then those that cannot be reached, then the nearest.
func (m *meshMap) label() {
	var taken []box
	for _, s := range m.Sites {
		taken = append(taken, boxAt(s.X, s.Y, siteWide, siteWide))
	}
	take := func(b box) bool {
		if slices.ContainsFunc(taken, b.covers) {
			return false
		}
		taken = append(taken, b)
		return true
	}
	order := make([]*mapped, len(m.Sites))
	for i := range m.Sites {
		order[i] = &m.Sites[i]
	}
	rank := func(s *mapped) int {
		switch {
		case s.Self:
			return 0
		case !s.Reachable:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(a, b *mapped) int { return cmp.Compare(rank(a), rank(b)) })
	for _, s := range order {
		s.Named = take(s.nameBox())
		if s.Self && !s.Named { // it lies over another site then, and no text over it
			s.Named, taken = true, append(taken, s.nameBox())
		}
		if !s.Named {
			m.Unnamed++
		}
	}
	for _, s := range order {
		s.Timed = s.Named && take(s.tripBox())
	}
}

func (s *mapped) push(t *mapped, apart float64) {
	dx, dy := s.X-t.X, s.Y-t.Y
	have := math.Hypot(dx, dy)
	if have >= apart {
		return
	}
	if have < 1e-6 {
		dx, dy, have = 1, 0, 1
	}
	by := (apart - have) / 2 / have
	s.X, s.Y, t.X, t.Y = s.X+dx*by, s.Y+dy*by, t.X-dx*by, t.Y-dy*by
}

// step moves a site off the stroke between two others, to the side where it is.
func (s *mapped) step(from, to point) {
	long := math.Hypot(to.X-from.X, to.Y-from.Y)
	if long < 1e-6 {
		return
	}
	ux, uy := (to.X-from.X)/long, (to.Y-from.Y)/long
	along := (s.X-from.X)*ux + (s.Y-from.Y)*uy
	beside := (s.Y-from.Y)*ux - (s.X-from.X)*uy
	if along <= 0 || along >= long || math.Abs(beside) >= mapBeside {
		return
	}
	by := math.Copysign(mapBeside, beside) - beside
	s.X, s.Y = s.X-uy*by, s.Y+ux*by
}

// partition says in one sentence which sites are on this side of a cut, as far as can be told from here.
func partition(sites []shape.Site) string {
	cut := 0
	for _, s := range sites {
		if !s.Reachable {
			cut++
		}
	}
	switch {
	case len(sites) == 1:
		return "This is the only site of the mesh."
	case cut == 0:
		return fmt.Sprintf("From here all %d sites can be reached.", len(sites))
	}
	return fmt.Sprintf("From here %d of %d sites can be reached; those that are dashed are on the other side of a cut, or down.", len(sites)-cut, len(sites))
}

// matrixSites are those that the matrix of round trips has.
func matrixSites(sites []shape.Site) []shape.Site { return sites[:min(len(sites), maxMatrix)] }

// tripTitle tells where a round trip is from.
func tripTitle(f frame, d api.Distance) string {
	when := "at a time that is not known"
	if d.At != nil {
		when = ago(f.Now, *d.At)
	}
	if d.MeasuredBy != "" {
		return "measured by " + d.MeasuredBy + " " + when
	}
	return "estimated from where both say that they are, the older of them " + when
}

// tripWords is what the map says of the way to a site.
func tripWords(s shape.Site) string {
	switch {
	case s.Self:
		return "this site"
	case s.Reachable && s.RTT != nil:
		return millis(*s.RTT)
	case !s.Reachable:
		return "unreachable"
	}
	return ""
}
