package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skerry/skerry/cmd/setup"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/draft"
	"github.com/skerry/skerry/glue/strictyaml"
	"github.com/skerry/skerry/web/shape"
)

type catalogCommand struct {
	Import  catalogImport  `cmd:"" help:"Draft a catalog from an application's OpenAPI document."`
	Check   catalogCheck   `cmd:"" help:"Tell all that is wrong with a catalog."`
	Try     catalogTry     `cmd:"" help:"Tell where a catalog is untrue of a live application, which it writes to."`
	Conform catalogConform `cmd:"" help:"Tell whether two applications show the same after concurrent changes at both."`
}

type catalogCheck struct {
	File string `arg:"" type:"path" help:"The catalog."`
}

func (catalogCheck) Help() string {
	return `Reads a catalog as an agent would and lists every problem with its line and column. It needs no agent.

Examples:

    skerry catalog check app.yaml`
}

func (c *catalogCheck) Run(p *program) error {
	catalog, err := glue.LoadCatalog(c.File)
	if err != nil {
		return listProblems(err)
	}
	kinds := 0
	for _, s := range catalog.Services {
		kinds += len(s.Kinds)
	}
	if p.json {
		return p.printJSON(map[string]any{"application": catalog.Application, "services": len(catalog.Services), "kinds": kinds,
			"digest": catalog.Digest})
	}
	fmt.Fprintf(p.out, "%s: catalog of %s, %s, %s, no problems\n", c.File, catalog.Application, shape.Count(len(catalog.Services), "service", "services"), shape.Count(kinds, "kind", "kinds"))
	return nil
}

// listProblems makes a list of problems in a file one that is printed a line each.
func listProblems(err error) error {
	var all *strictyaml.Error
	if errors.As(err, &all) {
		return &problemList{strings.Split(all.Error(), "\n")}
	}
	return err
}

type catalogImport struct {
	OpenAPI     string `arg:"" name:"openapi" help:"The document, a file or a URL: OpenAPI 2 or 3, JSON or YAML."`
	Application string `placeholder:"NAME" help:"Name of the application (default: made from the document's title)."`
	Service     string `placeholder:"NAME" help:"Name of the service that the document describes (default: made from its title)."`

	AgentToken string `type:"existingfile" placeholder:"FILE" help:"A bearer token of the agent's own account at the application, which the URL is asked with."`
	UpstreamCA string `name:"upstream-ca" type:"existingfile" placeholder:"FILE" help:"The authorities, in PEM, that the URL's certificate is checked with (default: the system's)."`
}

func (catalogImport) Help() string {
	return `Prints a catalog. Paths of a collection and its items become kinds; what the document cannot tell is written as comments that say
DECIDE. Skerry can read the catalog as it is; whether it is true of the application, a person has to say. A URL may redirect
within its own scheme, host and port.

Examples:

    skerry catalog import openapi.yaml > app.yaml
    skerry catalog import http://127.0.0.1:8000/openapi.json > app.yaml
    skerry catalog import https://shop.example/openapi.json --agent-token agent-token --upstream-ca ca.pem > app.yaml
    skerry catalog import swagger.json --application shop --service images > app.yaml`
}

func (c *catalogImport) Run(ctx context.Context, p *program) error {
	b, err := setup.Description(ctx, c.OpenAPI, setup.Options{Token: c.AgentToken, CA: c.UpstreamCA})
	if err != nil {
		return err
	}
	d, err := draft.From(b, draft.Options{Application: c.Application, Service: c.Service})
	if err != nil {
		return fmt.Errorf("%s: %w", c.OpenAPI, err)
	}
	if p.json {
		return p.printJSON(map[string]any{"catalog": string(d.YAML), "kinds": d.Kinds})
	}
	if _, err := p.out.Write(d.YAML); err != nil {
		return err
	}
	fmt.Fprintf(p.errs, "skerry: drafted %s; look at the lines that say DECIDE\n", shape.Count(d.Kinds, "kind", "kinds"))
	return nil
}
