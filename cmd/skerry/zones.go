package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/skerry/skerry/web/client"
)

// zone is a named set of sites as the API tells it.
type zone struct {
	Name  string    `json:"name"`
	Sites []string  `json:"sites"`
	By    string    `json:"by"`
	At    time.Time `json:"at"`
}

type zonesCommand struct {
	List   zonesList   `cmd:"" default:"withargs" help:"List the zones (the default)."`
	Set    zonesSet    `cmd:"" help:"Make a zone, or give it other sites."`
	Delete zonesDelete `cmd:"" help:"Take a zone away."`
}

func (zonesCommand) Help() string { return zonesList{}.Help() }

type zonesList struct{ paging }

func (zonesList) Help() string {
	return `A zone is a named set of sites. A scope that names it means all of them, as if & stood between them. Zones are the
same at all sites.

Examples:

    skerry zones
    skerry zones set west paris nantes
    skerry explain --scope '{images: west}'`
}

func (c *zonesList) Run(ctx context.Context, p *program) error {
	l := listing[zone]{
		paging: c.paging, path: "/zones",
		columns: []column{{"ZONE", 0, 0}, {"SITES", 16, 0}, {"SET BY", 0, 1}, {"AGE", 0, 0}},
		row: func(z zone) []string {
			return []string{z.Name, strings.Join(z.Sites, " "), z.By, ago(p.now(), z.At)}
		},
		key: func(z zone) string { return z.Name },
	}
	return l.run(ctx, p)
}

type zonesSet struct {
	Name  string   `arg:"" help:"Name of the zone."`
	Sites []string `arg:"" help:"Names of its sites, or their peer ids."`
}

func (zonesSet) Help() string {
	return `What was created in a zone stays where it is when the zone gets other sites.

Examples:

    skerry zones set west paris nantes`
}

func (c *zonesSet) Run(ctx context.Context, p *program) error {
	b, err := p.api.Put(ctx, "/zones/"+url.PathEscape(c.Name), map[string]any{"sites": c.Sites})
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	z, err := client.Decode[zone](b)
	if err != nil {
		return err
	}
	fields(p.out, "zone", z.Name, "sites", strings.Join(z.Sites, " "))
	return nil
}

type zonesDelete struct {
	Name string `arg:"" help:"Name of the zone."`
}

func (zonesDelete) Help() string {
	return `Examples:

    skerry zones delete west`
}

func (c *zonesDelete) Run(ctx context.Context, p *program) error {
	return p.api.Delete(ctx, "/zones/"+url.PathEscape(c.Name))
}
