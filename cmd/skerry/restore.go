package main

import "context"

type restoreCommand struct {
	resourceOf
	Path string `required:"" placeholder:"POINTER" help:"Where the value was lost, as \"resources show\" lists it."`
	From string `placeholder:"OPERATION" help:"The operation that had set it, where several values were lost there."`
}

func (restoreCommand) Help() string {
	return `Values that a concurrent, later operation took the place of are listed by "skerry resources show ID". This sets one of
them again: an operation like any client's, which this site's application takes first.

Examples:

    skerry resources restore debian --path /name
    skerry resources restore debian --path /disks/sda/size --from 0190a5c2-7f31-7c55-9c1f-0d3d4f6b2a11`
}

func (c *restoreCommand) Run(ctx context.Context, p *program) error {
	body := map[string]string{"path": c.Path}
	if c.From != "" {
		body["from"] = c.From
	}
	return c.operate(ctx, p, "restore", body, "sets "+c.Path+" again")
}
