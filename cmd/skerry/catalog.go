package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/strictyaml"
)

type catalogCommand struct {
	Check catalogCheck `cmd:"" help:"Tell all that is wrong with a catalog."`
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
	fmt.Fprintf(p.out, "%s: catalog of %s, %d services, %d kinds, no problems\n", c.File, catalog.Application, len(catalog.Services), kinds)
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
