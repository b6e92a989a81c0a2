package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	siteagent "github.com/skerry/skerry/cmd/agent"
	"github.com/skerry/skerry/cmd/setup"
)

type initCommand struct {
	Folder string `arg:"" optional:"" default:"." type:"path" help:"Where the files go (default: here)."`

	Site        string   `placeholder:"NAME" help:"The site's name, unique in the mesh and what scopes call it."`
	Upstream    []string `placeholder:"[SERVICE=]URL" help:"Where the application is: its only service, or each by its name."`
	OpenAPI     string   `name:"openapi" placeholder:"FILE|URL" help:"Its OpenAPI document, of which a catalog is drafted."`
	Kubeconfig  string   `type:"path" placeholder:"FILE" help:"It is a cluster of Kubernetes, which this file leads to."`
	Context     string   `placeholder:"NAME" help:"The context there (default: the current one)."`
	Clouds      string   `type:"path" placeholder:"FILE" help:"It is an OpenStack, which this file clouds.yaml leads to."`
	Cloud       string   `placeholder:"NAME" help:"The cloud there, if it has several."`
	Catalog     string   `type:"existingfile" placeholder:"FILE" help:"The catalog that the other sites have."`
	Application string   `placeholder:"NAME" help:"What a drafted catalog calls the application (default: made from its title)."`
	Service     string   `placeholder:"NAME" help:"What a drafted catalog calls its service, and scopes too (default: made from its title)."`

	AgentToken string `type:"existingfile" placeholder:"FILE" help:"A bearer token of the agent's own account at the application; other sites may do here what that may."`
	UpstreamCA string `name:"upstream-ca" type:"existingfile" placeholder:"FILE" help:"The authorities, in PEM, that the application's certificate is checked with (default: the system's)."`

	JoinFile  string   `type:"path" placeholder:"FILE" help:"An invitation of another site (skerry invite -q); without one this is the first site of a new mesh."`
	Listen    string   `default:"127.0.0.1:9701" placeholder:"HOST:PORT" help:"Where clients reach the first service, through the agent; further ones follow at the next ports (default ${default})."`
	APIListen string   `name:"api-listen" default:"127.0.0.1:8700" placeholder:"HOST:PORT" help:"Where the REST API and the dashboard listen (default ${default})."`
	MeshPort  int      `default:"4700" placeholder:"PORT" help:"Where other sites' agents reach this one, with UDP and TCP (default ${default})."`
	Announce  []string `placeholder:"ADDRESS" help:"Where they reach it besides: /ip4/198.51.100.7/udp/4700/quic-v1, the address of a NAT that passes the port on, or a name."`
	DataDir   string   `placeholder:"DIR" help:"Where the agent keeps its data (default: data, beside the configuration)."`

	Offline bool `help:"Ask nobody: neither the application nor where it is."`
	Yes     bool `short:"y" help:"Ask no questions: take what was found, and what the flags say."`
}

func (initCommand) Help() string {
	return `Writes the configuration of a site, agent.yaml, and the catalog of what is in front of it, catalog.yaml. What flags do not
say it asks for; it looks for a kubeconfig and a clouds.yaml where clients do, and for an OpenAPI document where
applications have them. Before it writes it asks the application whether it answers. It overwrites nothing.

Examples:

    skerry init
    skerry init --site paris --openapi http://127.0.0.1:9801/openapi.yaml
    skerry init /etc/skerry --site paris --kubeconfig /etc/rancher/k3s/k3s.yaml --agent-token agent-token
    skerry init --site paris --clouds clouds.yaml --cloud paris
    skerry init --site nantes --catalog catalog.yaml --upstream http://127.0.0.1:9801 --join-file invitation
    skerry init --site nantes --catalog catalog.yaml --kubeconfig /etc/rancher/k3s/k3s.yaml --agent-token agent-token --join-file invitation`
}

func (c *initCommand) Run(ctx context.Context, p *program) error {
	ask := &questions{in: bufio.NewReader(p.in), out: p.errs, quiet: c.Yes}
	host, _ := os.Hostname() // without one there is no suggestion
	host, _, _ = strings.Cut(host, ".")
	name := c.Site
	if name == "" {
		var err error
		if name, err = ask.text("What is this site called", host); err != nil {
			return fmt.Errorf("what is this site called? give --site NAME: %w", err)
		}
	}
	front, err := c.front(ctx, p, ask)
	if err != nil {
		return err
	}
	if c.Offline {
		front.Unasked()
	} else if err := front.Check(ctx); err != nil {
		return err
	}
	site := setup.Site{Name: name, DataDir: cmp.Or(c.DataDir, "data"), API: c.APIListen, Listen: c.Listen, MeshPort: c.MeshPort, Announce: c.Announce, JoinFile: c.JoinFile}
	paths, err := front.Write(c.Folder, site, p.now())
	if err != nil {
		return err
	}
	config := filepath.Join(c.Folder, setup.Configuration)
	if _, _, wrong := siteagent.CheckFile(config); len(wrong) > 0 {
		for _, path := range paths {
			wrong = append(wrong, os.Remove(path))
		}
		var list []string
		for _, err := range wrong {
			if err != nil {
				list = append(list, strings.Split(err.Error(), "\n")...)
			}
		}
		return &problemList{append(list, "nothing was written: say it otherwise")}
	}
	return c.tell(p, front, paths, config)
}

// tell says what was found and written, and what is next.
func (c *initCommand) tell(p *program, front setup.Front, paths []string, config string) error {
	next := append([]string{}, front.Next...)
	run := []string{"skerry config check " + config, "skerry catalog try --config " + config, "skerry agent --config " + config}
	if p.json {
		return p.printJSON(map[string]any{"found": front.Told, "wrote": paths, "look_after": next, "next": run})
	}
	for _, l := range front.Told {
		fmt.Fprintln(p.out, "found "+clean(l))
	}
	for _, path := range paths {
		fmt.Fprintln(p.out, "wrote "+path)
	}
	if len(next) > 0 {
		fmt.Fprint(p.out, "\nLook after this:\n")
		for _, l := range next {
			fmt.Fprintln(p.out, "  - "+clean(l))
		}
	}
	fmt.Fprintf(p.out, "\nWhat to do next:\n    %s\n", strings.Join(run, "\n    "))
	if c.JoinFile == "" {
		fmt.Fprint(p.out, "For the next site, once the agent runs here, and then there:\n    skerry invite -q > invitation\n"+
			"    skerry init --catalog catalog.yaml --join-file invitation\n")
	}
	return nil
}

// front finds the application that the flags, or a person, name.
func (c *initCommand) front(ctx context.Context, p *program, ask *questions) (setup.Front, error) {
	o := setup.Options{Application: c.Application, Service: c.Service, CA: c.UpstreamCA, Token: c.AgentToken, Offline: c.Offline, Upstreams: map[string]string{}}
	for _, u := range c.Upstream {
		service, address, named := strings.Cut(u, "=")
		if !named || strings.Contains(service, ":") {
			service, address = "", u
		}
		o.Upstreams[service] = address
	}
	switch {
	case c.Catalog != "":
		b, err := os.ReadFile(c.Catalog)
		if err != nil {
			return setup.Front{}, err
		}
		if c.Kubeconfig != "" {
			f, err := setup.FromKubeconfig(c.Kubeconfig, c.Context, o)
			if err != nil {
				return f, err
			}
			f, err = f.With(c.Catalog, b)
			return f, listProblems(err)
		}
		f, err := setup.FromCatalog(c.Catalog, b, o)
		return f, listProblems(err)
	case c.OpenAPI != "":
		return setup.FromOpenAPI(ctx, c.OpenAPI, o)
	case c.Kubeconfig != "":
		return setup.FromKubeconfig(c.Kubeconfig, c.Context, o)
	case c.Clouds != "":
		return setup.FromClouds(ctx, c.Clouds, c.Cloud, o)
	case o.Upstreams[""] != "":
		return setup.FromAddress(ctx, o.Upstreams[""], o)
	}
	found := setup.Detect(p.getenv)
	choices := make([]string, len(found))
	for i, f := range found {
		choices[i] = f.String()
	}
	i, err := ask.choice("What is in front", append(choices, "another application, at a URL"))
	switch {
	case err != nil:
		return setup.Front{}, fmt.Errorf("what is in front? give --openapi, --upstream, --kubeconfig, --clouds or --catalog: %w", err)
	case i < len(found) && found[i].Kubeconfig != "":
		return setup.FromKubeconfig(found[i].Kubeconfig, c.Context, o)
	case i < len(found):
		name := found[i].Name
		if ask.quiet && i+1 < len(found) { // nobody has chosen among several
			name = ""
		}
		return setup.FromClouds(ctx, found[i].Clouds, cmp.Or(c.Cloud, name), o)
	}
	address, err := ask.text("Where is it (the URL of its OpenAPI document, or its own)", "")
	if err != nil {
		return setup.Front{}, fmt.Errorf("where is the application? give --openapi or --upstream: %w", err)
	}
	return setup.FromAddress(ctx, address, o)
}

// questions asks somebody.
type questions struct {
	in  *bufio.Reader
	out io.Writer
	// quiet has the suggestions taken unasked.
	quiet bool
}

var errNoAnswer = errors.New("nobody answers")

// text asks for a word; an empty answer is the suggestion, if there is one.
func (q *questions) text(question, suggestion string) (string, error) {
	if q.quiet {
		if suggestion == "" {
			return "", errNoAnswer
		}
		return suggestion, nil
	}
	if suggestion != "" {
		question += " [" + suggestion + "]"
	}
	fmt.Fprint(q.out, question+": ")
	line, err := q.in.ReadString('\n')
	if answer := strings.TrimSpace(line); answer != "" {
		return answer, nil
	}
	if err != nil || suggestion == "" {
		fmt.Fprintln(q.out)
		return "", errNoAnswer
	}
	return suggestion, nil
}

// choice asks for one of several; the first is suggested. One alone is no question.
func (q *questions) choice(question string, choices []string) (int, error) {
	if len(choices) == 1 {
		return 0, nil
	}
	if !q.quiet {
		fmt.Fprintln(q.out, question+"?")
		for i, c := range choices {
			fmt.Fprintf(q.out, "  %d. %s\n", i+1, clean(c))
		}
	}
	answer, err := q.text("Number", "1")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(answer)
	if err != nil || n < 1 || n > len(choices) {
		return 0, fmt.Errorf("%q is none of 1 to %d", answer, len(choices))
	}
	return n - 1, nil
}
