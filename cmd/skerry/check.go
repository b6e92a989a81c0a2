package main

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/web/client"
)

type resourcesCheck struct{ resourceOf }

func (resourcesCheck) Help() string {
	return `Every site reads what its application shows of the resource, as it does by itself after each change and once
in a while. What somebody changed behind the agents is told by "skerry resources show" a moment later.

Examples:

    skerry resources check debian
    skerry resources check 7 --service servers`
}

func (c *resourcesCheck) Run(ctx context.Context, p *program) error {
	b, err := c.steer(ctx, p, "check", nil)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	r, err := client.Decode[client.Resource](b)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "the sites look at %s %s\n", r.Kind, r.ID)
	return nil
}
