package shape

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// RelationGraph is what refers to what, as far as this site knows.
type RelationGraph struct {
	// Root is the key of the resource that was asked for; empty when all were.
	Root string `json:"root"`
	// Nodes are in the order in which they were found, the root first; no two have one key.
	Nodes []RelationNode `json:"nodes"`
	Edges []RelationEdge `json:"edges"`
	// Unknown says in words what this site cannot tell.
	Unknown []string `json:"unknown"`
	// Next is set when all resources were asked for and there are more.
	Next string `json:"next"`
}

// RelationNode is a resource in the graph.
type RelationNode struct {
	Key     string `json:"key"` // service.kind/id
	Service string `json:"service"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Label   string `json:"label"` // what people call it; empty when nothing known here says so
	// Shared says that it is replicated and has a part here; State and Reason are of such a one. Sites are where it is known
	// to be: an object of this site alone has this one.
	Shared bool     `json:"shared"`
	State  string   `json:"state"`
	Reason string   `json:"reason"`
	Sites  []string `json:"sites"`
}

// RelationEdge is a reference: From needs To.
type RelationEdge struct {
	From     string `json:"from"` // keys of nodes
	To       string `json:"to"`
	At       string `json:"at"`       // where the representation of From has it
	Relation string `json:"relation"` // requirement, reliance, composition
	Warning  string `json:"warning"`  // empty when From has what it needs, as far as this site knows
}

// KeyOf is the key of a node.
func KeyOf(t engine.Target) string {
	return string(t.Service) + "." + string(t.Kind) + "/" + string(t.ID)
}

// Lacking says what a resource lacks of what it refers to; to is nil for what this site does not share.
func Lacking(n Names, from, to *engine.ResourceRow, r engine.Relation) string {
	switch {
	case r.Type == engine.RelationComposition, to == nil:
		return "" // the application sees to it; nobody here knows
	case to.State == engine.StateDeleted:
		return "it was deleted"
	case to.State == engine.StateLeft:
		return ""
	}
	with := n.Placement(to)
	without := slices.DeleteFunc(n.Placement(from), func(s string) bool { return slices.Contains(with, s) })
	if len(without) == 0 {
		return ""
	}
	return "no replica at " + List(without)
}

// Between tells the edges of a graph that begin or end at a node, those that begin there first.
func (g RelationGraph) Between(key string) (needs, neededBy []RelationEdge) {
	for _, e := range g.Edges {
		if e.From == key {
			needs = append(needs, e)
		}
		if e.To == key {
			neededBy = append(neededBy, e)
		}
	}
	order := func(a, b RelationEdge) int {
		return cmp.Or(strings.Compare(a.Relation, b.Relation), strings.Compare(a.At, b.At), strings.Compare(a.From+a.To, b.From+b.To))
	}
	slices.SortStableFunc(needs, order)
	slices.SortStableFunc(neededBy, order)
	return needs, neededBy
}
