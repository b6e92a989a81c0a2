package main

import (
	"context"
	"net/http"

	"github.com/skerry/skerry/web/client"
)

// placeCommand changes where a resource lives.
type placeCommand struct {
	resourceOf
	Sites  []string `placeholder:"NAME,…" help:"All sites that it is to live at."`
	Add    []string `placeholder:"NAME,…" help:"Sites that get a replica."`
	Remove []string `placeholder:"NAME,…" help:"Sites that lose theirs; the object stays there, unmanaged."`
	Scope  string   `placeholder:"SCOPE" help:"All of them, and how they share it: with % between them it is divided from then on, with & it is one replicated resource."`
	Force  []string `placeholder:"actions" help:"Add sites though they would begin without what undeclared actions have done."`
}

func (placeCommand) Help() string {
	return `An added site makes the resource as it is, copies what lies beside it, and takes what comes after. A removed site
applies what it knows from before and lets go: its object stays, and nothing of the resource reaches it any more. Both
happen when the site hears of it; the operation shows how far they are.

Examples:

    skerry resources place debian --add toulouse
    skerry resources place debian --remove nantes
    skerry resources place debian --sites paris,toulouse
    skerry resources place group --scope 'paris % nantes'    # what the catalog divides is divided over both
    skerry resources place group --scope 'paris & nantes'    # and back`
}

func (c *placeCommand) Run(ctx context.Context, p *program) error {
	body := map[string]any{}
	if c.Scope != "" {
		body["scope"] = c.Scope
	}
	for name, sites := range map[string][]string{"sites": c.Sites, "add": c.Add, "remove": c.Remove, "force": c.Force} {
		if len(sites) > 0 {
			body[name] = sites
		}
	}
	b, err := p.api.Call(ctx, http.MethodPatch, resourceAddress(c.ID, c.Service, c.Kind), body)
	if err != nil {
		return err
	}
	if what, err := client.Decode[struct{ Type string }](b); err != nil || what.Type == "" { // it lives there already
		return showResource(p, b)
	}
	return showOperation(p, b)
}
