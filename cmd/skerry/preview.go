package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/skerry/skerry/web/client"
)

// preview is what a site is about to do, as the API tells it.
type preview struct {
	Site     string         `json:"site"`
	Waiting  int            `json:"waiting"`
	Examined int            `json:"examined"`
	Steps    map[string]int `json:"steps"`
	Held     int            `json:"held"`
	Ran      int            `json:"ran"`
	Items    []planned      `json:"items"`
}

type planned struct {
	Resource string   `json:"resource"`
	Label    string   `json:"label"`
	Service  string   `json:"service"`
	Kind     string   `json:"kind"`
	Does     string   `json:"does"`
	Set      []string `json:"set"`
	Unset    []string `json:"unset"`
	Waits    string   `json:"waits"`
}

func (s *planned) paths() string {
	paths := slices.Clone(s.Set)
	for _, p := range s.Unset {
		paths = append(paths, "-"+p)
	}
	return strings.Join(paths, " ")
}

type sitesPreview struct {
	Name  string `arg:"" help:"Name of the site, or its peer id."`
	Limit int    `default:"100" placeholder:"N" help:"List at most N steps, up to 1000."`
}

func (sitesPreview) Help() string {
	return `The next step of each resource that the site has something to do for, deletions first, and why it waits if it
does. Of another site, only resources that it shares with this one. "-/path" is a path that goes.

Examples:

    skerry sites preview nantes
    skerry sites preview nantes -o json | jq '.items[] | select(.does == "delete") | .resource'
    skerry sites confirm nantes`
}

func (c *sitesPreview) Run(ctx context.Context, p *program) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return usagef("--limit is %d: give a number from 1 to 1000", c.Limit)
	}
	b, err := p.api.Get(ctx, "/sites/"+url.PathEscape(c.Name)+"/preview", url.Values{"limit": {strconv.Itoa(c.Limit)}})
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := client.Decode[preview](b)
	if err != nil {
		return err
	}
	if v.Waiting == 0 {
		fmt.Fprintf(p.out, "%s has nothing left to do.\n", v.Site)
		return nil
	}
	t := table{out: p.out, width: p.width,
		columns: []column{{"STEP", 0, 0}, {"RESOURCE", 0, 0}, {"KIND", 0, 1}, {"PATHS", 8, 0}, {"WAITS FOR", 8, 0}}}
	var rows [][]string
	for _, s := range v.Items {
		rows = append(rows, []string{s.Does, cmp.Or(s.Label, s.Resource), s.Service + "." + s.Kind, s.paths(), s.Waits})
	}
	t.print(rows)
	var counts []string
	for _, does := range []string{"delete", "create", "correct", "run", "wait", "settle"} {
		if n := v.Steps[does]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, does))
		}
	}
	fmt.Fprintf(p.out, "\n%d of %d resources with something left to do: %s.\n", v.Examined, v.Waiting, strings.Join(counts, ", "))
	if v.Ran > 0 {
		fmt.Fprintf(p.out, "%d deletions came in while %s was away: %d have run, up to its limit.\n", v.Held+v.Ran, v.Site, v.Ran)
	}
	if v.Held > 0 {
		fmt.Fprintf(p.out, "%d deletions are held: \"skerry sites confirm %s\" lets them run, \"skerry sites reject %s OPERATION…\" brings back what they are about.\n", v.Held, v.Site, v.Site)
	}
	return nil
}

type sitesConfirm struct {
	Name       string   `arg:"" help:"Name of the site, or its peer id."`
	Operations []string `arg:"" optional:"" help:"Those deletions alone; without any all that are held."`
}

func (sitesConfirm) Help() string {
	return `A site that comes back holds the deletions that were issued while it was away when they are many, until somebody
confirms them; "skerry sites preview NAME" lists them.

Examples:

    skerry sites preview nantes
    skerry sites confirm nantes`
}

func (c *sitesConfirm) Run(ctx context.Context, p *program) error {
	b, err := p.api.Post(ctx, "/sites/"+url.PathEscape(c.Name)+"/confirm", meant(c.Operations))
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := client.Decode[struct {
		Site      string `json:"site"`
		Confirmed int    `json:"confirmed"`
	}](b)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s runs %d deletions that it held.\n", v.Site, v.Confirmed)
	return nil
}

// meant is the body that names deletions; nil: all.
func meant(operations []string) any {
	if operations == nil {
		return nil
	}
	return map[string][]string{"operations": operations}
}

type sitesReject struct {
	Name       string   `arg:"" help:"Name of the site, or its peer id."`
	Operations []string `arg:"" help:"The deletions; \"skerry sites preview NAME -o json\" lists them."`
}

func (sitesReject) Help() string {
	return `Of a deletion that the site holds the object stays, and is a resource of the same sites again. What one has taken away
that has run is made anew, as it was.

Examples:

    skerry sites preview nantes -o json | jq -r '.deletions[] | [.operation, .label, .origin, .held] | @tsv'
    skerry sites reject nantes 019aa3f0-7b11-7d42-8b6f-11b2c3d4e5f6`
}

func (c *sitesReject) Run(ctx context.Context, p *program) error {
	b, err := p.api.Post(ctx, "/sites/"+url.PathEscape(c.Name)+"/reject", meant(c.Operations))
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := client.Decode[struct {
		Back    []struct{ Operation, Resource, Service, Kind string }
		Refused []struct{ Operation, Reason string }
	}](b)
	if err != nil {
		return err
	}
	for _, r := range v.Back {
		fmt.Fprintf(p.out, "%s %s is back.\n", r.Kind, r.Resource)
	}
	for _, r := range v.Refused {
		fmt.Fprintf(p.out, "%s stays as it is: %s.\n", r.Operation, r.Reason)
	}
	if len(v.Refused) > 0 {
		return fmt.Errorf("%d of %d stay as they are", len(v.Refused), len(c.Operations))
	}
	return nil
}
