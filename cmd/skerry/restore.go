package main

import (
	"context"
	"fmt"
	"net/url"
)

type restoreCommand struct {
	ID      string `arg:"" help:"Its identifier: the one for all sites, or this site's own."`
	Path    string `required:"" placeholder:"POINTER" help:"Where the value was lost, as \"resources show\" lists it."`
	From    string `placeholder:"OPERATION" help:"The operation that had set it, where several values were lost there."`
	Service string `placeholder:"NAME" help:"Its service, where the identifier alone means several."`
	Kind    string `placeholder:"NAME" help:"Its kind, likewise."`
}

func (restoreCommand) Help() string {
	return `Values that a concurrent, later operation took the place of are listed by "skerry resources show ID". This sets one of
them again: an operation like any client's, which this site's application takes first.

Examples:

    skerry resources restore debian --path /name
    skerry resources restore debian --path /disks/sda/size --from 0190a5c2-7f31-7c55-9c1f-0d3d4f6b2a11`
}

func (c *restoreCommand) Run(ctx context.Context, p *program) error {
	address, err := url.Parse(resourceAddress(c.ID, c.Service, c.Kind))
	if err != nil {
		return err
	}
	body := map[string]string{"path": c.Path}
	if c.From != "" {
		body["from"] = c.From
	}
	b, err := p.api.post(ctx, address.JoinPath("restore").String(), body)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := decode[struct {
		Operation string `json:"operation"`
	}](b)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "operation %s sets %s again\n", v.Operation, c.Path)
	return nil
}
