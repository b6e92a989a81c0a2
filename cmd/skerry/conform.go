package main

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/skerry/skerry/testnet/conform"
	"github.com/skerry/skerry/web/shape"
)

type catalogConform struct {
	File     string            `arg:"" type:"existingfile" help:"The catalog."`
	Upstream []string          `required:"" placeholder:"[SERVICE=]URL" help:"Where one application is, its only service or each by its name."`
	Other    []string          `required:"" placeholder:"[SERVICE=]URL" help:"Where another instance of it is, likewise."`
	Header   []string          `sep:"none" placeholder:"'NAME: VALUE'" help:"A header of every request, such as one that says who asks; the agents have a credential among them (Authorization, Cookie, X-Auth-Token, X-Api-Key) as their own. Others on this machine see command lines."`
	Kind     []string          `placeholder:"SERVICE/KIND" help:"Try these kinds alone (default: all)."`
	Body     map[string]string `mapsep:"none" placeholder:"SERVICE/KIND[/OPERATION]=FILE" help:"A file that creates an object of a kind, or is sent with an operation that the catalog names. A kind without one gets a name alone. Of a file whose name ends in .json each field that has a text, a number or an array is changed; in any other {name} and {value} are replaced."`
	Patience time.Duration     `default:"1m" placeholder:"DURATION" help:"How long the two sites may take to settle after the cut (default ${default})."`
	Yes      bool              `short:"y" help:"Do not ask before objects are made."`
}

func (catalogConform) Help() string {
	return `Says whether two instances of an application, each behind an agent, end up showing the same, whatever clients do at both while they are cut off
from each other. It starts two agents of its own on this machine. Of every kind it makes objects, finds out what the application takes (PUT, PATCH,
JSON Patch, actions, content, DELETE), cuts the agents off from each other, and has each pair of operations done to an object, one at each
site. Then it ends the cut, waits until the agents say that they have settled, and asks both applications directly. It compares what they show,
arrays in order, less what the catalog says that each site has for itself. Last it deletes what it has made, through one agent.

A page in Markdown says what came of each pair: = both show the same, and the agents say so; = ? the same, and a person is asked about
something; ≠ ? they differ, and the agents say so; ≠ they differ, and the agents say that they do not; early: the same in the end, and called so
before; lost: both lack what was acknowledged; – the application refused one of the two. The exit status is 1 where the applications
differ, or something is lost or left behind. Do it where nobody works: an application may tell others of what is made.

Examples:

    skerry catalog conform app.yaml --upstream http://127.0.0.1:9801 --other http://127.0.0.1:9811
    skerry catalog conform app.yaml --upstream images=http://127.0.0.1:9801 --other images=http://127.0.0.1:9811 --body images/image=image.json --yes > images.md`
}

func (c *catalogConform) Run(ctx context.Context, p *program) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := conform.Conformance{Patience: c.Patience, Bodies: map[string]conform.Body{}, Tell: func(format string, args ...any) {
		fmt.Fprintf(p.errs, "skerry: "+format+"\n", args...)
	}}
	if run.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if run.Text, err = os.ReadFile(c.File); err != nil {
		return err
	}
	for i, upstream := range [][]string{c.Upstream, c.Other} {
		try := catalogTry{File: c.File, Upstream: upstream, Kind: c.Kind, Header: c.Header}
		if err := c.side(&run, i, &try); err != nil {
			return listProblems(err)
		}
	}
	for of, path := range c.Body {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		body := conform.Body{Text: text}
		if ext := filepath.Ext(path); ext != ".json" {
			body.Media = mime.TypeByExtension(ext)
		} else if !json.Valid(text) {
			return fmt.Errorf("%s is no JSON", path)
		}
		run.Bodies[of] = body
	}
	if !c.Yes {
		if err := p.agree(fmt.Sprintf("Objects of %s are made and deleted again at both applications", shape.Count(len(run.Kinds), "kind", "kinds"))); err != nil {
			return err
		}
	}
	if run.Dir, err = os.MkdirTemp("", "skerry-conform-"); err != nil {
		return fmt.Errorf("make a directory for the agents: %w", err)
	}
	report, err := run.Run(ctx)
	if err != nil {
		return fmt.Errorf("%w; the agents' logs are in %s", err, run.Dir)
	}
	if err := os.RemoveAll(run.Dir); err != nil {
		return err
	}
	return c.tell(p, &report)
}

// side takes in what is said of one of the two applications.
func (c *catalogConform) side(run *conform.Conformance, i int, try *catalogTry) (err error) {
	cfg, catalog, err := try.site()
	if err != nil {
		return err
	}
	run.Upstreams[i] = map[string]string{}
	for name, s := range cfg.Services {
		run.Upstreams[i][string(name)] = s.Upstream
	}
	if i > 0 {
		return nil // of both the catalog is the same
	}
	run.Catalog, run.Header = catalog, http.Header{}
	if run.Kinds, err = try.kinds(catalog); err != nil {
		return err
	}
	credentials, err := try.credentials()
	if credentials != nil {
		run.Header = credentials.Header
	}
	return err
}

func (c *catalogConform) tell(p *program, report *conform.Report) error {
	if p.json {
		if err := p.printJSON(report); err != nil {
			return err
		}
	} else {
		fmt.Fprint(p.out, report.Markdown(2))
	}
	if !report.Conforms() {
		return ended{exitRefused}
	}
	return nil
}
