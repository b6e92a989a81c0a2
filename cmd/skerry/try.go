package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	siteagent "github.com/skerry/skerry/cmd/agent"
	"github.com/skerry/skerry/cmd/trial"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/shape"
)

type catalogTry struct {
	File     string            `arg:"" optional:"" type:"existingfile" help:"The catalog; with --config the one that the configuration names."`
	Config   string            `type:"existingfile" placeholder:"FILE" help:"A site's configuration: its application is tried, with the agent's own credentials."`
	Upstream []string          `placeholder:"[SERVICE=]URL" help:"Without a configuration: where the application is, its only service or each by its name."`
	Header   []string          `sep:"none" placeholder:"'NAME: VALUE'" help:"A header of every request, such as one that says who asks; others on this machine see command lines."`
	Kind     []string          `placeholder:"SERVICE/KIND" help:"Try these kinds alone (default: all)."`
	Body     map[string]string `mapsep:"none" placeholder:"SERVICE/KIND=FILE" help:"A file of JSON that creates an object of a kind; without one it gets a name alone."`
	Patience time.Duration     `default:"10s" placeholder:"DURATION" help:"How long the application may take to show what it has accepted (default ${default})."`
	Yes      bool              `short:"y" help:"Do not ask before objects are made."`
}

func (catalogTry) Help() string {
	return `Says where a catalog is untrue of a live application. Of each kind it makes two objects, reads them, changes the name of one as an
agent would, lists and deletes them. It tells of identifiers that are not where the catalog says, of fields that change by
themselves and belong into "ignore", of a PUT that drops fields, of a DELETE that lingers. Objects are named skerry-try-…, and
are deleted at the end; those that could not be are listed. It asks before it makes anything. It goes past the agent, to the
application. The exit status is 1 where the catalog is untrue, or nothing could be tried.

Examples:

    skerry catalog try --config agent.yaml
    skerry catalog try catalog.yaml --upstream http://127.0.0.1:9801 --body images/image=image.json --yes
    skerry catalog try catalog.yaml --upstream image=http://10.0.0.1:9292 --header "X-Auth-Token: $TOKEN"`
}

func (c *catalogTry) Run(ctx context.Context, p *program) error {
	cfg, catalog, err := c.site()
	if err != nil {
		return listProblems(err)
	}
	t := &trial.Trial{Catalog: catalog, Patience: c.Patience, Bodies: map[string]json.RawMessage{}, Name: tryName}
	if t.Kinds, err = c.kinds(catalog); err != nil {
		return err
	}
	for kind, path := range c.Body {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !json.Valid(b) {
			return fmt.Errorf("%s is no JSON", path)
		}
		t.Bodies[kind] = b
	}
	if t.Credentials, err = c.credentials(); err != nil {
		return err
	}
	if t.Client, err = siteagent.NewClient(cfg, catalog, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	defer t.Client.CloseIdle()
	if !c.Yes {
		if err := p.agree(fmt.Sprintf("Objects of %s are made and deleted again at %s", shape.Count(len(t.Kinds), "kind", "kinds"), c.where(cfg))); err != nil {
			return err
		}
	}
	report := t.Run(ctx)
	if p.json {
		if err := p.printJSON(report); err != nil {
			return err
		}
	} else {
		tellTrial(p, t.Kinds, report)
	}
	if !report.True() || len(report.Tried) == 0 {
		return ended{exitRefused}
	}
	return nil
}

// agree asks whether what is said may be done.
func (p *program) agree(what string) error {
	ask := &questions{in: bufio.NewReader(p.in), out: p.errs}
	answer, err := ask.text(what+". Go on (yes or no)", "no")
	if err != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		return fmt.Errorf("nothing was tried: answer yes, or say --yes")
	}
	return nil
}

// site is the catalog, and where its services are.
func (c *catalogTry) site() (cfg siteagent.Config, catalog *glue.Catalog, err error) {
	if c.Config != "" {
		if cfg, err = siteagent.Load(c.Config); err != nil {
			return cfg, nil, err
		}
		if c.File == "" {
			c.File = cfg.Application
		}
	}
	if c.File == "" {
		return cfg, nil, usagef("which catalog? give its file, or --config")
	}
	if catalog, err = glue.LoadCatalog(c.File); err != nil {
		return cfg, nil, err
	}
	if c.Config != "" {
		return cfg, catalog, siteagent.Check(cfg, catalog)
	}
	cfg.Services = map[engine.ServiceName]siteagent.Service{}
	for _, u := range c.Upstream {
		name, address, named := strings.Cut(u, "=")
		if !named || strings.Contains(name, ":") {
			name, address = "", u
			for only := range catalog.Services {
				name = string(only)
			}
			if len(catalog.Services) != 1 {
				return cfg, nil, usagef("which service is at %s? give --upstream SERVICE=URL", u)
			}
		}
		cfg.Services[engine.ServiceName(name)] = siteagent.Service{Upstream: address}
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Services)) {
		if cfg.Services[name].Upstream == "" {
			return cfg, nil, usagef("where is the service %s? give --upstream %s=URL, or --config", name, name)
		}
	}
	return cfg, catalog, nil
}

// kinds are those to try, with the containers that they lie in.
func (c *catalogTry) kinds(catalog *glue.Catalog) (kinds []*engine.Kind, err error) {
	wanted := slices.Clone(c.Kind)
	for i := 0; i < len(wanted); i++ {
		service, kind, _ := strings.Cut(wanted[i], "/")
		k := catalog.Kind(engine.ServiceName(service), engine.KindName(kind))
		if k == nil {
			return nil, usagef("the catalog has no kind %s", wanted[i])
		}
		if k.Within != "" {
			wanted = append(wanted, service+"/"+string(k.Within))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.Services)) {
		for _, k := range catalog.Services[name].Kinds {
			if len(wanted) == 0 || slices.Contains(wanted, string(name)+"/"+string(k.Name)) {
				kinds = append(kinds, k)
			}
		}
	}
	if len(kinds) == 0 {
		return nil, usagef("the catalog lists no kinds that could be tried; a cluster of Kubernetes tells its kinds itself, and what it tells is true")
	}
	return kinds, nil
}

// credentials are the headers that were given, nil without any.
func (c *catalogTry) credentials() (*engine.Credentials, error) {
	if len(c.Header) == 0 {
		return nil, nil
	}
	all := http.Header{}
	for _, h := range c.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, usagef("%q is no header: give 'NAME: VALUE'", h)
		}
		all.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return &engine.Credentials{Header: all}, nil
}

func (c *catalogTry) where(cfg siteagent.Config) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Services)) {
		all = append(all, fmt.Sprintf("%s (%s)", name, cfg.Services[name].Upstream))
	}
	return strings.Join(all, ", ")
}

// tellTrial prints what was seen, kind by kind.
func tellTrial(p *program, kinds []*engine.Kind, report trial.Report) {
	for _, k := range kinds {
		name := string(k.Service) + "/" + string(k.Name)
		var lines []string
		untrue := false
		for _, f := range report.Findings {
			if f.Kind != name {
				continue
			}
			lines = append(lines, "  - "+clean(f.Seen))
			if f.Say != "" {
				lines = append(lines, "    say: "+clean(f.Say))
			}
			untrue = untrue || f.Untrue
		}
		verdict := "the catalog is true of it"
		switch {
		case untrue:
			verdict = "the catalog is untrue of it"
		case !slices.Contains(report.Tried, name):
			verdict = "not tried"
		}
		fmt.Fprintf(p.out, "%s: %s\n", name, verdict)
		for _, l := range lines {
			fmt.Fprintln(p.out, l)
		}
	}
	for _, l := range report.Left {
		fmt.Fprintf(p.out, "left behind, delete it by hand: %s\n", clean(l))
	}
}

// tryName is a name that nothing has yet, which says where it comes from.
func tryName() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "skerry-try-" + hex.EncodeToString(b[:])
}
