package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/skerry/skerry/testnet/demo"
	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/web/client"
)

// Exit statuses that scripts may rely on.
const (
	exitDone    = 0
	exitRefused = 1 // the agent or the application refused, or could not be reached
	exitUsage   = 2
)

// commands is the command line. Fields that are no command hold for all of them.
type commands struct {
	API       string `name:"api" default:"${api}" placeholder:"URL" help:"Where the agent's REST API is; without it SKERRY_API, or http://127.0.0.1:8700."`
	Token     string `placeholder:"TOKEN" help:"What the agent knows you by; without it SKERRY_TOKEN. Others on this machine see command lines: rather use --token-file."`
	TokenFile string `type:"path" placeholder:"FILE" help:"A file with the token."`
	CA        string `name:"ca" type:"path" placeholder:"FILE" help:"The authorities, in PEM, that the agent's certificate is checked with; without it the system's."`
	Output    string `short:"o" enum:"table,json" default:"table" placeholder:"FORMAT" help:"table for people (the default) or json for programs."`

	Init       initCommand          `cmd:"" help:"Write the configuration and the catalog of a site, from what is in front of it."`
	Agent      agentCommand         `cmd:"" help:"Run one site's agent."`
	Demo       demo.Command         `cmd:"" help:"Run a mesh of several sites with a demo application on this machine."`
	Lab        lab.Command          `cmd:"" help:"Run one instance of the demo application, to try a site with."`
	Sites      sitesCommand         `cmd:"" help:"List the sites of the mesh, or show one."`
	Status     statusCommand        `cmd:"" help:"Show how the whole mesh is, on one screen; the exit status tells it too."`
	Top        topCommand           `cmd:"" help:"Watch the whole mesh on one screen: sites, what needs a look, the latest operations."`
	Resources  resourcesCommand     `cmd:"" help:"List the replicated resources, or show one."`
	Export     exportCommand        `cmd:"" help:"Print where resources live, as a file that can be kept in git."`
	Apply      applyCommand         `cmd:"" help:"Bring resources to the sites that a file says, or say what that would change."`
	Conflicts  conflictsCommand     `cmd:"" help:"List what waits for a person, show one conflict, or decide about it."`
	Relations  relationsCommand     `cmd:"" help:"List what refers to what, or draw the tree of one resource."`
	Operations operationsCommand    `cmd:"" help:"List operations, show one, or settle one that needs a person."`
	Events     eventsCommand        `cmd:"" help:"List what happened at this site, or watch it happen."`
	Kubeconfig kubeconfigCommand    `cmd:"" help:"Print a kubeconfig with which kubectl reaches this site's cluster through its agent."`
	Exec       execCommand          `cmd:"" help:"Run a client so that every request that it makes carries a scope."`
	Explain    explainCommand       `cmd:"" help:"Tell what a scope means and what a request with it would do."`
	Zones      zonesCommand         `cmd:"" help:"List zones, set one or take one away."`
	Authority  authorityCommand     `cmd:"" help:"List who may say who belongs to the mesh, add or remove one, or sign off line."`
	Invite     inviteCommand        `cmd:"" help:"Print an invitation for a new site."`
	Hooks      hooksCommand         `cmd:"" help:"List the addresses that events are pushed to, add or remove one."`
	Tokens     tokensCommand        `cmd:"" help:"List the tokens of programs, make one or revoke one."`
	Open       openCommand          `cmd:"" help:"Print a link that lets one browser in to a site's page, once."`
	Audit      auditCommand         `cmd:"" help:"List who has changed what at this site, or verify that list."`
	Accounts   accountsCommand      `cmd:"" help:"List, add or remove those who may log in to a site."`
	Catalog    catalogCommand       `cmd:"" help:"Work with the description of an application."`
	Backup     backupCommand        `cmd:"" help:"Copy the data directory of this machine's site into a file, while its agent works."`
	Restore    restoreBackupCommand `cmd:"" help:"Put a backup back into an empty data directory."`
	Debug      debugCommand         `cmd:"" help:"Gather what somebody needs who finds out what is wrong with a site."`
	Config     configCommand        `cmd:"" help:"Work with the configuration of a site."`
	Completion completionCommand    `cmd:"" help:"Print what makes a shell complete commands and identifiers."`
	Man        manCommand           `cmd:"" help:"Write the pages of the manual."`
	Version    versionCommand       `cmd:"" help:"Print the version of this program."`
}

const description = `Skerry lets the sites of an application made for one cloud collaborate, request by request.

Most commands ask a running agent; tell which with --api or SKERRY_API. "agent", "demo", "backup", "restore" and what works with files do not.`

// program is what a command works with.
type program struct {
	api  *client.Client
	in   io.Reader
	out  io.Writer
	errs io.Writer
	json bool // whether to print JSON
	// width is how many columns the output has; 0: as many as it takes.
	width int
	// height is how many lines the terminal has; 0: no bound. Terminal says that a text can be put in the place of another there.
	height   int
	terminal bool
	now      func() time.Time
	getenv   func(name string) string
	// environ is the environment, for commands that are run for somebody else.
	environ func() []string
	retry   time.Duration // before a broken stream of events is opened again
}

// usageError is a mistake on the command line that kong does not see.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// helped ends the parsing when help was asked for and printed.
type helped struct{ status int }

func main() {
	os.Exit(run(arguments(os.Args), surroundings{in: os.Stdin, out: os.Stdout, errs: os.Stderr, getenv: os.Getenv, environ: os.Environ, now: time.Now}))
}

// surroundings is what a run of the program sees of the world. Ages are told by now, times in its zone.
type surroundings struct {
	in        io.Reader
	out, errs io.Writer
	getenv    func(name string) string
	environ   func() []string
	now       func() time.Time
}

// run runs one command line and returns the exit status.
func run(args []string, s surroundings) (status int) {
	defer func() {
		if v := recover(); v != nil {
			h, ok := v.(helped)
			if !ok {
				panic(v)
			}
			status = h.status
		}
	}()
	var c commands
	k, err := kong.New(&c, kong.Name("skerry"), kong.Description(description), kong.Writers(s.out, s.errs),
		kong.Vars{"api": cmp.Or(s.getenv("SKERRY_API"), "http://127.0.0.1:8700")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Exit(func(status int) { panic(helped{status}) }))
	if err != nil {
		panic(err) // the tags above are wrong
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == completionWord {
		return printCandidates(k, &c, args[1:], s)
	}
	parsed, err := k.Parse(args)
	if err != nil {
		return complain(s.errs, usageError{explainUsage(k, err)})
	}
	api, err := client.New(c.API, client.Options{Token: cmp.Or(c.Token, s.getenv("SKERRY_TOKEN")), TokenFile: c.TokenFile, CA: c.CA})
	if err != nil {
		return complain(s.errs, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, terminal := screenOf(s.out, s.getenv)
	p := &program{api: api, out: out, terminal: terminal, height: terminalHeight(s.out, s.getenv), errs: s.errs, json: c.Output == "json", width: terminalWidth(s.out, s.getenv),
		now: s.now, retry: time.Second, in: s.in, environ: s.environ, getenv: s.getenv}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if n := parsed.Selected(); n != nil {
		parsed.Bind(verb(n.Name))
	}
	return complain(s.errs, parsed.Run(p))
}

// problemList is an error that is a list of problems, one a line.
type problemList struct{ lines []string }

func (l *problemList) Error() string { return strings.Join(l.lines, "\n") }

// explainUsage adds where help is to a mistake in the command line.
func explainUsage(k *kong.Kong, err error) error {
	command := k.Model.Name
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil {
		if n := p.Context.Selected(); n != nil {
			command = n.FullPath()
		}
	}
	return fmt.Errorf("%w (see %s --help)", err, command)
}

// complain prints err, if there is one, in one line, and returns the exit status that goes with it.
func complain(stderr io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	if end := (ended{}); errors.As(err, &end) {
		return end.status
	}
	if list := (*problemList)(nil); errors.As(err, &list) {
		for _, l := range list.lines {
			fmt.Fprintln(stderr, clean(l))
		}
	} else {
		fmt.Fprintln(stderr, "skerry: "+clean(strings.Join(strings.Fields(err.Error()+advice(err)), " ")))
	}
	usage, address := usageError{}, (*client.AddressError)(nil)
	if errors.As(err, &usage) || errors.As(err, &address) {
		return exitUsage
	}
	return exitRefused
}
