package scope

// Node is a Location as explain shows it, in JSON: {"op":"&","args":[{"site":"paris"},{"site":"nantes"}]}.
type Node struct {
	Op   Op     `json:"op,omitempty"` // none for a site
	Site string `json:"site,omitempty"`
	// Within is the round trip of "around", as Go writes durations.
	Within string `json:"within,omitempty"`
	Args   []Node `json:"args,omitempty"`
}

// Tree returns the tree of a location in a form for JSON. Equal trees, however they were written, give equal Nodes.
func Tree(l Location) Node {
	n := Node{Op: l.Op, Site: l.Site}
	if l.Op == OpAround {
		n.Within = printDuration(l.Within)
	}
	for _, arg := range l.Args {
		n.Args = append(n.Args, Tree(arg))
	}
	return n
}
