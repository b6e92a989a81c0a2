package env

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skerry/skerry/testnet/netns"
	"github.com/skerry/skerry/testnet/site"
)

// Env is a running environment. Its sites may be used from several goroutines as long as no two start or stop the same
// one.
type Env struct {
	setup   Setup
	dir     string
	network *netns.Network
	sites   []*Site
}

// starting bounds how long all sites together take to be ready, unless the application says otherwise.
const starting = 5 * time.Minute

// Open makes the environment with its files in dir and returns when all sites are ready. Close ends it, also after an
// error.
func Open(ctx context.Context, dir string, setup Setup) (*Env, error) {
	e := &Env{setup: setup, dir: dir}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(setup.Application.Within, starting))
	defer cancel()
	network, err := netns.New(append(slices.Clone(setup.Sites), setup.Hosts...)...)
	if err != nil {
		return e, err
	}
	e.network = network
	for _, name := range setup.NAT {
		if err := network.Host(name).BehindNAT(); err != nil {
			return e, err
		}
	}
	for _, name := range setup.Symmetric {
		if err := network.Host(name).Symmetric(); err != nil {
			return e, err
		}
	}
	catalog := filepath.Join(dir, "app.yaml")
	if err := os.WriteFile(catalog, setup.Application.Catalog, 0o600); err != nil {
		return e, fmt.Errorf("write catalog: %w", err)
	}
	for _, name := range setup.Sites {
		e.sites = append(e.sites, newSite(e, name, catalog))
	}
	for _, s := range e.sites { // all of them before any is waited for
		if err := e.begin(s); err != nil {
			return e, err
		}
	}
	for _, s := range e.sites {
		if err := e.ready(ctx, s); err != nil {
			return e, err
		}
	}
	if err := site.Mesh(ctx, e.sites); err != nil {
		return e, err
	}
	return e, nil
}

// Rest ends the agents at the end of a test, so that Again can make the environment that of another one.
func (e *Env) Rest() error {
	var errs []error
	for _, s := range e.sites {
		errs = append(errs, s.stopAgent(), s.host.Heal())
	}
	return errors.Join(errs...)
}

// Again makes an environment that rests that of another setup, whose sites and application are the same. Agents are new ones, with data and
// configuration of their own; hosts stay, and applications go on: what these hold is the caller's to put back before. It returns when all sites are ready.
func (e *Env) Again(ctx context.Context, setup Setup) error {
	e.setup = setup
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(setup.Application.Within, starting))
	defer cancel()
	for i, old := range e.sites {
		s := newSite(e, old.Name(), old.config.Catalog)
		s.app, e.sites[i] = old.app, s
		for _, path := range []string{s.config.Data(), s.config.Log()} {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("forget the agent of %s: %w", s.Name(), err)
			}
		}
		if err := e.ready(ctx, s); err != nil {
			return err
		}
	}
	return site.Mesh(ctx, e.sites)
}

// begin starts the application of a site.
func (e *Env) begin(s *Site) error {
	if err := os.MkdirAll(s.config.Dir, 0o700); err != nil {
		return err
	}
	if before := e.setup.Before; before != nil {
		if err := before(s.config.Dir); err != nil {
			return fmt.Errorf("before the application of %s starts: %w", s.Name(), err)
		}
	}
	return s.launchApplication()
}

// ready waits for the application of a site and prepares the site for its agent.
func (e *Env) ready(ctx context.Context, s *Site) error {
	if err := s.applicationAnswers(ctx); err != nil {
		return err
	}
	if ready := e.setup.Application.Ready; ready != nil {
		if err := ready(ctx, s); err != nil {
			return fmt.Errorf("prepare the application of %s: %w", s.Name(), err)
		}
	}
	if e.setup.Prepare != nil {
		return e.setup.Prepare(s)
	}
	return nil
}

// Site returns the site of that name; nil when there is none.
func (e *Env) Site(name string) *Site {
	for _, s := range e.sites {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// Sites returns all sites, in the order of the setup. The slice belongs to the environment.
func (e *Env) Sites() []*Site { return e.sites }

// Host returns one of the further hosts, or that of a site.
func (e *Env) Host(name string) *netns.Host { return e.network.Host(name) }

// Close stops all processes, waits for them and removes the network. An agent that does not end well is an error.
func (e *Env) Close() error {
	stopped := make(chan error)
	for _, s := range e.sites {
		go func() { stopped <- s.stop() }()
	}
	var errs []error
	for range e.sites {
		errs = append(errs, <-stopped)
	}
	if e.network != nil {
		errs = append(errs, e.network.Close())
	}
	return errors.Join(errs...)
}

// Describe writes what every site says of its peers, resources and operations, and the end of its logs.
func (e *Env) Describe(w io.Writer) {
	for _, s := range e.sites {
		s.describe(w)
	}
}
