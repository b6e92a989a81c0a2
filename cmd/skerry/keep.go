package main

import (
	"context"
	"fmt"
	"net/url"
)

type keepCommand struct {
	replicaOf
	Force bool `help:"Also when it was repaired a few times lately and that did not last."`
}

func (keepCommand) Help() string {
	return `What the application of that site shows now becomes what all sites show: it is an operation like any other, and
the other sites are corrected to it.

Examples:

    skerry resources keep debian --site nantes
    skerry resources keep debian --site nantes --force`
}

func (c *keepCommand) Run(ctx context.Context, p *program) error {
	address, err := url.Parse(resourceAddress(c.ID, c.Service, c.Kind))
	if err != nil {
		return err
	}
	b, err := p.api.post(ctx, address.JoinPath("keep").String(), map[string]any{"site": c.Site, "force": c.Force})
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
	fmt.Fprintf(p.out, "operation %s brings the other sites to what %s shows\n", v.Operation, c.Site)
	return nil
}
