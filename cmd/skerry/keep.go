package main

import "context"

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
	return c.operate(ctx, p, "keep", map[string]any{"site": c.Site, "force": c.Force}, "brings the other sites to what "+c.Site+" shows")
}
