package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"
)

// Command is "skerry demo" with its subcommands; without one it starts the demo.
type Command struct {
	Start  Start  `cmd:"" default:"withargs" help:"Start sites on this machine and run until interrupted (the default)."`
	Cut    Cut    `cmd:"" help:"Cut a site of the running demo off from the others."`
	Heal   Heal   `cmd:"" help:"Let a site that was cut off reach the others again."`
	Status Status `cmd:"" help:"Show the sites of the running demo and whom each of them reaches."`
}

// Start starts the demo.
type Start struct {
	Sites int    `help:"How many sites, 1 to 10." default:"3"`
	App   string `help:"The application: lab, a small one of our own, glance, OpenStack's image service as Debian packages it (glance-api, with python3-openstackclient for the walk-through), or kubernetes, an API server with controllers a site (make demo builds them)." enum:"lab,glance,kubernetes" default:"lab"`
	Data  string `help:"Directory to keep all data in, for another start with the same. Default: fresh data, removed at the end." placeholder:"DIR" type:"path"`
}

// Run runs the demo until ctx ends or SIGINT or SIGTERM comes; it stops the processes and waits for them.
func (c *Start) Run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	return c.run(ctx, program, os.Stdout)
}

// Cut names the site to cut off.
type Cut struct {
	Site string `arg:"" help:"Name of the site."`
}

// Run cuts the site off. Local requests there go on as if nothing had happened.
func (c *Cut) Run(ctx context.Context) error { return isolate(ctx, c.Site, true, os.Stdout) }

// Heal names the site to reconnect.
type Heal struct {
	Site string `arg:"" help:"Name of the site."`
}

// Run ends what Cut began.
func (c *Heal) Run(ctx context.Context) error { return isolate(ctx, c.Site, false, os.Stdout) }

// Status has no options.
type Status struct{}

// Run prints a table of the sites.
func (c *Status) Run(ctx context.Context) error { return status(ctx, os.Stdout) }

// asking bounds how long the small commands wait for an agent.
const asking = 5 * time.Second

func isolate(ctx context.Context, name string, isolated bool, out io.Writer) error {
	s, err := readState()
	if err != nil {
		return err
	}
	site, err := s.site(name)
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	if err := site.client().Isolate(asked, isolated); err != nil {
		return fmt.Errorf("tell the agent of %s: %w", name, err)
	}
	if isolated {
		fmt.Fprintf(out, "%s is cut off. End it with: %s demo heal %s\n", name, program(), name)
		return nil
	}
	if err := s.rejoin(ctx, site); err != nil {
		fmt.Fprintf(out, "%s may reach the others again; not all do yet: %v\n", name, err)
		return nil
	}
	fmt.Fprintf(out, "%s and the others reach each other again.\n", name)
	return nil
}

func status(ctx context.Context, out io.Writer) error {
	s, err := readState()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SITE\tAGENT\tDASHBOARD\tREACHES")
	var errs []error
	for _, site := range s.Sites {
		seen, err := site.client().Sites(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("ask the agent of %s: %w", site.Name, err))
			fmt.Fprintf(w, "%s\tdoes not answer\t%s/\t\n", site.Name, site.API)
			continue
		}
		fmt.Fprintf(w, "%s\tanswers\t%s/\t%s\n", site.Name, site.API, reaches(seen))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return errors.Join(errs...)
}
