package main

import (
	"fmt"
	"strings"

	siteagent "github.com/skerry/skerry/cmd/agent"
	"github.com/skerry/skerry/web/shape"
)

type configCommand struct {
	Check configCheck `cmd:"" help:"Tell all that is wrong with a configuration and its catalog."`
}

type configCheck struct {
	File string `arg:"" type:"path" help:"The site's configuration."`
}

func (configCheck) Help() string {
	return `Reads a configuration and the catalog that it names as an agent would, and lists every problem of both, and where they do not fit, with line
and column. It needs no agent, starts nothing and asks nobody.

Examples:

    skerry config check /etc/skerry/agent.yaml`
}

func (c *configCheck) Run(p *program) error {
	cfg, catalog, wrong := siteagent.CheckFile(c.File)
	if len(wrong) > 0 {
		var lines []string
		for _, err := range wrong {
			lines = append(lines, strings.Split(err.Error(), "\n")...)
		}
		return &problemList{lines}
	}
	if p.json {
		return p.printJSON(map[string]any{"site": cfg.Site, "application": catalog.Application, "services": len(cfg.Services), "digest": catalog.Digest})
	}
	fmt.Fprintf(p.out, "%s: configuration of %s with %s of %s, no problems\n", c.File, cfg.Site, shape.Count(len(cfg.Services), "service", "services"), catalog.Application)
	return nil
}
