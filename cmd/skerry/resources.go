package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/web/client"
)

// who tells an author in words.
func who(a client.Author, now time.Time) string {
	if a.Site == "" {
		return a.Operation
	}
	if a.User == "" {
		return fmt.Sprintf("%s, %s", a.Site, moment(now, a.At))
	}
	return fmt.Sprintf("%s at %s, %s", a.User, a.Site, moment(now, a.At))
}

// bySite tells the sites, each with what is to be said of it; those of which there is something come first, for a
// narrow terminal cuts the end.
func bySite[T any](sites map[string]T, remark func(T) string) string {
	var plain, all []string
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		if r := remark(sites[name]); r != "" {
			all = append(all, name+" ("+r+")")
		} else {
			plain = append(plain, name)
		}
	}
	return strings.Join(append(all, plain...), ", ")
}

// partOf tells which part of a cross resource the site holds, with its share of what is divided.
func partOf(r client.Replica) string {
	var shares []string
	for _, p := range slices.Sorted(maps.Keys(r.Share)) {
		shares = append(shares, fmt.Sprintf("%s %s", p, r.Share[p]))
	}
	switch {
	case r.Part == 0:
		return ""
	case len(shares) == 0:
		return fmt.Sprint(r.Part)
	}
	return fmt.Sprintf("%d: %s", r.Part, strings.Join(shares, ", "))
}

// atReplica is what is to be said of a replica, empty for nothing.
func atReplica(r client.Replica) string {
	switch {
	case r.Paused != nil && r.Pending > 0:
		return fmt.Sprintf("paused, %d pending", r.Pending)
	case r.Paused != nil:
		return "paused"
	case r.Pending > 0:
		return fmt.Sprintf("%d pending", r.Pending)
	case r.State != "converged":
		return r.State
	}
	return ""
}

type resourcesCommand struct {
	List    resourcesList    `cmd:"" default:"withargs" help:"List resources, newest first (the default)."`
	Show    resourcesShow    `cmd:"" help:"Show one resource, site by site."`
	Compare resourcesCompare `cmd:"" help:"Compare what the applications of all sites show."`
	Place   placeCommand     `cmd:"" help:"Change the sites that a resource lives at."`
	Pause   pauseCommand     `cmd:"" help:"Let a site leave its replica as it is, until it is resumed."`
	Check   resourcesCheck   `cmd:"" help:"Have all sites look at what their applications show."`
	Restore restoreCommand   `cmd:"" help:"Set a value again that was lost."`
	Adopt   adoptCommand     `cmd:"" help:"Make a resource of an object that this site has."`
	Keep    keepCommand      `cmd:"" help:"Make what one site shows what all sites show."`
	Resume  resumeCommand    `cmd:"" help:"End a pause: the site applies what has waited."`
}

func (resourcesCommand) Help() string { return resourcesList{}.Help() }

type resourcesList struct {
	paging
	Service string `placeholder:"NAME" help:"Only those of this service."`
	Kind    string `placeholder:"NAME" help:"Only those of this kind."`
	Site    string `placeholder:"NAME" help:"Only those with a replica at this site."`
	State   string `placeholder:"STATE" help:"Only those that are converged, unknown, converging, degraded, in conflict, deleting or deleted; deleted ones are listed only so."`
	Query   string `short:"q" placeholder:"TEXT" help:"Only those with TEXT in an identifier or in the name."`
	Names   bool   `help:"Names that exactly one site is to hold (a scope with ^), each with who holds it, in place of resources."`
}

func (resourcesList) Help() string {
	return `Examples:

    skerry resources
    skerry resources --site nantes --state converging
    skerry resources --watch
    skerry resources --all -o json | jq -r '.items[].id'`
}

func (c *resourcesList) Run(ctx context.Context, p *program) error {
	names := ""
	if c.Names {
		names = "true"
	}
	l := listing[client.Resource]{
		paging: c.paging, path: "/resources", cursor: "cursor",
		query:   url.Values{"service": {c.Service}, "kind": {c.Kind}, "site": {c.Site}, "state": {c.State}, "q": {c.Query}, "names": {names}},
		columns: []column{{"RESOURCE", 0, 0}, {"NAME", 8, 2}, {"KIND", 0, 1}, {"STATE", 0, 0}, {"SITES", 16, 0}, {"AGE", 0, 0}, {"REASON", 16, 2}},
		row: func(r client.Resource) []string {
			return []string{r.ID, r.Label, r.Service + "." + r.Kind, r.State, bySite(r.Sites, atReplica), ago(p.now(), r.CreatedAt), r.Reason}
		},
		key: func(r client.Resource) string { return r.Service + "." + r.Kind + " " + r.ID },
		at:  func(r client.Resource) string { return resourceAddress(r.ID, r.Service, r.Kind) },
	}
	return l.run(ctx, p)
}

func resourceAddress(id, service, kind string) string {
	query := url.Values{}
	for k, v := range map[string]string{"service": service, "kind": kind} {
		if v != "" {
			query.Set(k, v)
		}
	}
	address := "/resources/" + url.PathEscape(id)
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

type resourcesShow struct{ resourceOf }

func (resourcesShow) Help() string {
	return `What is known of the resource at each site that has it. The operations on it are listed with
"skerry operations --resource ID".

Examples:

    skerry resources show 0190a5c2-7f31-7c55-9c1f-0d3d4f6b2a11
    skerry resources show debian --service images --kind image -o json`
}

func (c *resourcesShow) Run(ctx context.Context, p *program) error {
	b, err := p.api.Get(ctx, resourceAddress(c.ID, c.Service, c.Kind), nil)
	if err != nil {
		return err
	}
	return showResource(p, b)
}

func showResource(p *program, b json.RawMessage) error {
	if p.json {
		return p.printJSON(b)
	}
	r, err := client.Decode[client.Resource](b)
	if err != nil {
		return err
	}
	facts := []string{"resource", r.ID, "name", r.Label, "kind", r.Service + "." + r.Kind, "collaboration", r.Collaboration, "state", r.State,
		"reason", r.Reason, "created", moment(p.now(), r.CreatedAt)}
	if c := r.Compacted; c != nil {
		facts = append(facts, "compacted", fmt.Sprintf("%d operations until %s", c.Operations, moment(p.now(), c.Until)))
	}
	fields(p.out, facts...)
	fmt.Fprintln(p.out)
	t := table{out: p.out, width: p.width,
		columns: []column{{"SITE", 0, 0}, {"LOCAL ID", 0, 0}, {"STATE", 0, 0}, {"APPLIED", 0, 0}, {"PENDING", 0, 0}, {"REASON", 6, 0}}}
	if r.Collaboration == "cross" {
		t.columns = slices.Insert(t.columns, 2, column{"PART", 0, 0})
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(r.Sites)) {
		s := r.Sites[name]
		row := []string{name, s.LocalID, s.State, fmt.Sprint(s.Applied), fmt.Sprint(s.Pending), s.Reason}
		if r.Collaboration == "cross" {
			row = slices.Insert(row, 2, partOf(s))
		}
		rows = append(rows, row)
	}
	t.print(rows)
	if len(r.Superseded) == 0 {
		return nil
	}
	fmt.Fprintln(p.out, "\nValues that a concurrent, later operation took the place of (\"skerry resources restore\" sets one again):")
	lost := table{out: p.out, width: p.width,
		columns: []column{{"PATH", 0, 0}, {"VALUE", 16, 0}, {"SET BY", 0, 0}, {"REPLACED BY", 0, 0}, {"RULE", 16, 2}}}
	rows = nil
	for _, l := range r.Superseded {
		rows = append(rows, []string{l.Path, string(l.Value), who(l.By, p.now()), who(l.Over, p.now()), l.Rule})
	}
	lost.print(rows)
	return nil
}
