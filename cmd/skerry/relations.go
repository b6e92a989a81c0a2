package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/skerry/skerry/web/client"
)

// relationGraph is what refers to what, as the API tells it.
type relationGraph struct {
	Root    string         `json:"root"`
	Nodes   []relationNode `json:"nodes"`
	Edges   []relationEdge `json:"edges"`
	Unknown []string       `json:"unknown"`
	Next    string         `json:"next"`
}

type relationNode struct {
	Key    string   `json:"key"`
	Kind   string   `json:"kind"`
	Label  string   `json:"label"`
	Shared bool     `json:"shared"`
	State  string   `json:"state"`
	Reason string   `json:"reason"`
	Sites  []string `json:"sites"`
}

type relationEdge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	At       string `json:"at"`
	Relation string `json:"relation"`
	Warning  string `json:"warning"`
}

type relationsCommand struct {
	List relationsList `cmd:"" default:"withargs" help:"List what refers to what, or draw the tree of one resource (the default)."`
	Show relationsShow `cmd:"" help:"Draw the tree of one resource."`
}

func (relationsCommand) Help() string { return relationsList{}.Help() }

type relationsList struct {
	ID      string `arg:"" optional:"" help:"Identifier of a resource: draws what it refers to and what refers to it."`
	Service string `placeholder:"NAME" help:"Only those of this service; with an ID, the resource's."`
	Kind    string `placeholder:"NAME" help:"Only those of this kind; with an ID, the resource's."`
	Limit   int    `default:"100" placeholder:"N" help:"List the references of at most N resources (default ${default})."`
}

func (relationsList) Help() string {
	return `A relation is a reference from one resource to another that the catalog declares:

    requirement  needed during an operation, such as an image to boot from
    reliance     needed as long as the resource lives, such as a network
    composition  made and destroyed along by the application

What others rely on is not deleted unless that is forced (Skerry-Force: relied-on).

Examples:

    skerry relations
    skerry relations web
    skerry relations show front --service networks --kind network
    skerry relations -o json | jq '.edges[] | select(.warning != "")'`
}

func (c *relationsList) Run(ctx context.Context, p *program) error {
	if c.ID != "" {
		return (&relationsShow{ID: c.ID, Service: c.Service, Kind: c.Kind}).Run(ctx, p)
	}
	if c.Limit < 1 || c.Limit > client.MaxPage {
		return usagef("--limit is %d: give a number from 1 to %d", c.Limit, client.MaxPage)
	}
	query := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	b, err := p.api.Get(ctx, "/relations", withKind(query, c.Service, c.Kind))
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	g, err := client.Decode[relationGraph](b)
	if err != nil {
		return err
	}
	if len(g.Edges) == 0 {
		fmt.Fprintln(p.out, "none")
		return nil
	}
	t := table{out: p.out, width: p.width, columns: []column{{"RESOURCE", 12, 0}, {"RELATION", 0, 0}, {"TO", 12, 0}, {"AT", 0, 1}, {"LACKS", 12, 2}}}
	called := map[string]string{}
	for _, n := range g.Nodes {
		if n.Label != "" {
			called[n.Key] = n.Kind + " " + n.Label
		}
	}
	var rows [][]string
	for _, e := range g.Edges {
		rows = append(rows, []string{cmp.Or(called[e.From], e.From), e.Relation, cmp.Or(called[e.To], e.To), e.At, e.Warning})
	}
	t.print(rows)
	if g.Next != "" {
		fmt.Fprintln(p.out, "There are more: --limit N shows them.")
	}
	return nil
}

func withKind(query url.Values, service, kind string) url.Values {
	if service != "" {
		query.Set("service", service)
	}
	if kind != "" {
		query.Set("kind", kind)
	}
	return query
}

type relationsShow struct {
	ID      string `arg:"" help:"Identifier of the resource."`
	Service string `placeholder:"NAME" help:"Its service, where the identifier is not enough."`
	Kind    string `placeholder:"NAME" help:"Its kind, where the identifier is not enough."`
}

func (relationsShow) Help() string { return relationsList{}.Help() }

func (c *relationsShow) Run(ctx context.Context, p *program) error {
	b, err := p.api.Get(ctx, "/relations", withKind(url.Values{"resource": {c.ID}}, c.Service, c.Kind))
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(json.RawMessage(b))
	}
	g, err := client.Decode[relationGraph](b)
	if err != nil {
		return err
	}
	for _, line := range g.tree() {
		fmt.Fprintln(p.out, clean(line))
	}
	return nil
}

// tree draws the graph as text: the resource, what it refers to, and what refers to it. What was drawn in a part already is
// named and not drawn again, so that a cycle ends.
func (g *relationGraph) tree() []string {
	nodes := map[string]relationNode{}
	for _, n := range g.Nodes {
		nodes[n.Key] = n
	}
	lines := []string{nodes[g.Root].words()}
	draw := func(title, verb string, near, far func(relationEdge) string) {
		drawn := map[string]bool{g.Root: true}
		var below func(key, indent string)
		below = func(key, indent string) {
			var edges []relationEdge
			for _, e := range g.Edges {
				if near(e) == key {
					edges = append(edges, e)
				}
			}
			for i, e := range edges {
				branch, stem := "├─ ", "│  "
				if i == len(edges)-1 {
					branch, stem = "└─ ", "   "
				}
				to := far(e)
				text := fmt.Sprintf("%s%s%s %s %s", indent, branch, e.Relation, verb, nodes[to].words())
				if e.At != "" {
					text += ", at " + e.At
				}
				if e.Warning != "" {
					text += " (! " + e.Warning + ")"
				}
				if drawn[to] {
					lines = append(lines, text+" (drawn above)")
					continue
				}
				drawn[to] = true
				lines = append(lines, text)
				below(to, indent+stem)
			}
		}
		before := len(lines)
		lines = append(lines, title)
		below(g.Root, "")
		if len(lines) == before+1 {
			lines[before] = title + " nothing that is known here"
		}
	}
	draw("refers to:", "to", func(e relationEdge) string { return e.From }, func(e relationEdge) string { return e.To })
	draw("is referred to by:", "from", func(e relationEdge) string { return e.To }, func(e relationEdge) string { return e.From })
	for _, u := range g.Unknown {
		lines = append(lines, "not known here: "+u)
	}
	return lines
}

func (n relationNode) words() string {
	if !n.Shared && len(n.Sites) > 0 {
		return n.Key + ", only at " + strings.Join(n.Sites, ", ")
	}
	if !n.Shared {
		return n.Key + ", not shared with this site"
	}
	return fmt.Sprintf("%s, %s, at %s", n.Key, n.State, strings.Join(n.Sites, ", "))
}
