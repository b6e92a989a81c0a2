package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/skerry/skerry/web/client"
)

type adoptCommand struct {
	What  string `arg:"" name:"service/kind" help:"The kind of the object, such as images/image."`
	ID    string `arg:"" help:"What the application of this site calls it."`
	Scope string `required:"" help:"The sites where it is to live, this one among them."`
}

func (adoptCommand) Help() string {
	return `An object that the application of this site has, and that nobody replicates yet, becomes a resource. Nothing is sent to
this site's application but a read; the other sites make the object from what it shows and copy what lies beside it. It keeps its
identifier where that is free. Asked again, it adds the sites that are missing. A scope with % spreads it: what the catalog divides is
shared out, here as well.

Examples:

    skerry resources adopt images/image debian --scope 'paris & nantes'
    skerry resources adopt servers/server web --scope 'paris % nantes'`
}

func (c *adoptCommand) Run(ctx context.Context, p *program) error {
	service, kind, ok := strings.Cut(c.What, "/")
	if !ok {
		return usagef("%q names no kind: give SERVICE/KIND, such as images/image", c.What)
	}
	b, err := p.api.Post(ctx, "/resources", map[string]string{"service": service, "kind": kind, "id": c.ID, "scope": c.Scope})
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(b)
	}
	v, err := client.Decode[struct {
		Resource  json.RawMessage `json:"resource"`
		Operation string          `json:"operation"`
	}](b)
	if err != nil {
		return err
	}
	if v.Operation != "" {
		fmt.Fprintf(p.out, "operation %s brings it to the other sites\n\n", v.Operation)
	}
	return showResource(p, v.Resource)
}
