package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/skerry/skerry/web/shape"
)

// The geometry of the drawing of relations, in its own units.
const (
	nodeWidth  = 190
	nodeHeight = 44
	nodeGapX   = 90
	nodeGapY   = 16
	graphEdge  = 12 // around all of it
	// maxDrawn is how many resources are drawn; the table has them all.
	maxDrawn = 60
)

// node is a resource in the drawing.
type node struct {
	shape.RelationNode
	Root bool
	X, Y int
}

// arrow is a reference in the drawing, from what needs to what is needed.
type arrow struct {
	shape.RelationEdge
	Path string
}

// graph is the drawing of relations: a column for each step, what is needed to the right of what needs it.
type graph struct {
	Nodes         []node
	Arrows        []arrow
	Width, Height int
	Left          int // how many resources are not drawn
}

// graphOf lays out a graph. It comes to an end with references in circles too.
func graphOf(g shape.RelationGraph) graph {
	var d graph
	all := g.Nodes[:min(len(g.Nodes), maxDrawn)]
	d.Left = len(g.Nodes) - len(all)
	column := columnsOf(g, all)
	rows, deepest := map[int]int{}, 0
	at := map[string]int{}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b shape.RelationNode) int { return cmp.Compare(column[a.Key], column[b.Key]) })
	for _, n := range order {
		c := column[n.Key]
		at[n.Key] = len(d.Nodes)
		d.Nodes = append(d.Nodes, node{n, n.Key == g.Root, graphEdge + c*(nodeWidth+nodeGapX), graphEdge + rows[c]*(nodeHeight+nodeGapY)})
		rows[c]++
		deepest = max(deepest, rows[c])
		d.Width = max(d.Width, graphEdge+c*(nodeWidth+nodeGapX)+nodeWidth+graphEdge)
	}
	d.Height = 2*graphEdge + deepest*(nodeHeight+nodeGapY) - nodeGapY
	for i := range d.Nodes { // shorter columns stand in the middle
		c := column[d.Nodes[i].Key]
		d.Nodes[i].Y += (deepest - rows[c]) * (nodeHeight + nodeGapY) / 2
	}
	for _, e := range g.Edges {
		from, ok := at[e.From]
		to, known := at[e.To]
		if ok && known {
			d.Arrows = append(d.Arrows, arrow{e, d.Nodes[from].to(d.Nodes[to])})
		}
	}
	return d
}

// columnsOf gives each node its column, from 0 at the left: as many steps from the root as it takes, what needs the root to its
// left; without a root, one further to the right than the first that needs it.
func columnsOf(g shape.RelationGraph, nodes []shape.RelationNode) map[string]int {
	column := map[string]int{}
	walk := func(start []string, step int, near, far func(shape.RelationEdge) string) {
		for queue := start; len(queue) > 0; queue = queue[1:] {
			for _, e := range g.Edges {
				if _, known := column[far(e)]; near(e) == queue[0] && !known {
					column[far(e)] = column[queue[0]] + step
					queue = append(queue, far(e))
				}
			}
		}
	}
	from, to := func(e shape.RelationEdge) string { return e.From }, func(e shape.RelationEdge) string { return e.To }
	if g.Root != "" {
		column[g.Root] = 0
		walk([]string{g.Root}, 1, from, to)
		walk([]string{g.Root}, -1, to, from)
	} else {
		needed := map[string]bool{}
		for _, e := range g.Edges {
			needed[e.To] = true
		}
		var first []string
		for _, n := range nodes {
			if !needed[n.Key] {
				column[n.Key] = 0
				first = append(first, n.Key)
			}
		}
		walk(first, 1, from, to)
	}
	least := 0
	for _, n := range nodes {
		least = min(least, column[n.Key]) // those in a circle of their own stand at 0
	}
	shifted := map[string]int{}
	for _, n := range nodes {
		shifted[n.Key] = column[n.Key] - least
	}
	return shifted
}

// to is the way of an arrow from n to m, as an SVG path.
func (n node) to(m node) string {
	y, z := n.Y+nodeHeight/2, m.Y+nodeHeight/2
	switch {
	case n.Key == m.Key: // a loop above
		return fmt.Sprintf("M%d %dc-16 -22 56 -22 40 0", n.X+nodeWidth/2, n.Y)
	case n.X < m.X:
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", n.X+nodeWidth, y, n.X+nodeWidth+nodeGapX/2, y, m.X-nodeGapX/2, z, m.X-3, z)
	}
	// back, or within one column: around the right side
	right := max(n.X, m.X) + nodeWidth + nodeGapX/2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", n.X+nodeWidth, y, right, y, right, z, m.X+nodeWidth+3, z)
}
