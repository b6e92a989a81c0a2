package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/skerry/skerry/web/client"
)

type resourcesCompare struct{ resourceOf }

func (resourcesCompare) Help() string {
	return `Asks the application of every site what it shows of the resource now, and lists in what they differ: also in the order
of a list, where that is a value. Fields that are not compared are listed below, each with the reason. The exit status is 1
where the sites differ, or where fewer than two have answered.

Examples:

    skerry resources compare debian
    skerry resources compare web --service core --kind services -o json | jq .left_out`
}

// comparison is what the applications of all sites show of one resource.
type comparison struct {
	Equal *bool `json:"equal"`
	Sites map[string]struct {
		Error string `json:"error"`
	} `json:"sites"`
	Differences []compared `json:"differences"`
	LeftOut     []compared `json:"left_out"`
}

// compared is a field, as each site shows it.
type compared struct {
	Path   string                     `json:"path"`
	Reason string                     `json:"reason"`
	Values map[string]json.RawMessage `json:"values"`
}

func (c *resourcesCompare) Run(ctx context.Context, p *program) error {
	address, err := c.below("replicas")
	if err != nil {
		return err
	}
	return compare(ctx, p, address, c.ID)
}

type conflictsCompare struct {
	ID string `arg:"" help:"Identifier of the conflict, or how it begins."`
}

func (conflictsCompare) Help() string {
	return `Asks the applications of the sites that a conflict is between what they show of it now, and lists in what they differ: of a name
that was given twice, the two objects. Any site that has a part in it can be asked. The exit status is 1 where the sites differ, or where
fewer than two have answered.

Examples:

    skerry conflicts compare 5f1d0c93a2b4e876`
}

func (c *conflictsCompare) Run(ctx context.Context, p *program) error {
	return compare(ctx, p, "/conflicts/"+url.PathEscape(c.ID)+"/replicas", "what conflict "+c.ID+" is about")
}

// compare asks for a comparison and prints it. What is what the sites may show differently.
func compare(ctx context.Context, p *program, address, what string) error {
	b, err := p.api.Get(ctx, address, nil)
	if err != nil {
		return err
	}
	r, err := client.Decode[comparison](b)
	if err != nil {
		return err
	}
	if p.json {
		err = p.printJSON(b)
	} else {
		r.print(p)
	}
	switch {
	case err != nil:
		return err
	case r.Equal == nil:
		return errors.New("fewer than two sites have answered, so nothing can be compared")
	case !*r.Equal:
		return fmt.Errorf("the sites show %s differently", what)
	}
	return nil
}

func (r comparison) print(p *program) {
	sites := slices.Sorted(maps.Keys(r.Sites))
	for _, name := range sites {
		if why := r.Sites[name].Error; why != "" {
			fmt.Fprintf(p.out, "%s: %s\n", name, why)
		}
	}
	if r.Equal != nil && *r.Equal {
		fmt.Fprintln(p.out, "All sites that have answered show the same.")
	}
	shows := func(title string, list []compared, columns ...column) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintln(p.out, title)
		t := table{out: p.out, width: p.width, columns: []column{{"PATH", 0, 0}}}
		for _, name := range sites {
			t.columns = append(t.columns, column{strings.ToUpper(name), 12, 1})
		}
		t.columns = append(t.columns, columns...)
		var rows [][]string
		for _, f := range list {
			row := []string{f.Path}
			for _, name := range sites {
				row = append(row, string(f.Values[name]))
			}
			if len(columns) > 0 {
				row = append(row, f.Reason)
			}
			rows = append(rows, row)
		}
		t.print(rows)
	}
	shows("Differences:", r.Differences)
	shows("Not compared:", r.LeftOut, column{"REASON", 16, 2})
}
