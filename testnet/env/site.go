package env

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/skerry/skerry/testnet/netns"
	"github.com/skerry/skerry/testnet/process"
	"github.com/skerry/skerry/testnet/site"
)

// stopping is how long a process has to end after SIGTERM.
const stopping = 2 * time.Minute

// Site is one site: its host, its agent and its instance of the application.
type Site struct {
	env    *Env
	host   *netns.Host
	http   *http.Client
	config site.Config
	// program is the agent's.
	program string
	agent   *process.Process
	app     *process.Process
}

func newSite(e *Env, name, catalog string) *Site {
	h := e.network.Host(name)
	s := &Site{env: e, host: h, http: h.Client(), program: cmp.Or(e.setup.Programs[name], e.setup.Program), config: site.Config{
		Name:    name,
		Dir:     filepath.Join(e.dir, name),
		Catalog: catalog,
		API:     "127.0.0.1:8701",
		Mesh:    listening(h.Address),
		Extra:   e.setup.Extra,
	}}
	for _, n := range e.setup.Application.names() {
		s.config.Services = append(s.config.Services, site.Service{Name: n,
			Listen: e.setup.Application.listener(n), Upstream: e.setup.Application.upstream(n)})
	}
	return s
}

// listening is where an agent at an address listens for others.
func listening(address string) []string {
	return []string{"/ip4/" + address + "/udp/4701/quic-v1", "/ip4/" + address + "/tcp/4701"}
}

// Name returns the site's name.
func (s *Site) Name() string { return s.config.Name }

// Config returns the configuration; changes take effect at the next Start.
func (s *Site) Config() *site.Config { return &s.config }

// Host returns the host on which the site runs.
func (s *Site) Host() *netns.Host { return s.host }

// Use has the agent be another program, from the next Start on.
func (s *Site) Use(program string) { s.program = program }

// HTTP returns a client inside the site's host.
func (s *Site) HTTP() *http.Client { return s.http }

// Client returns what asks the agent's REST API.
func (s *Site) Client() *site.Client {
	return &site.Client{Base: "http://" + s.config.API, HTTP: s.http}
}

// Agent returns the agent's process, nil before it was started.
func (s *Site) Agent() *process.Process { return s.agent }

// Launch starts the agent and does not wait.
func (s *Site) Launch() (err error) {
	s.agent, err = process.Start("the agent of "+s.Name(), s.config.Log(),
		s.host.Command(s.program, "agent", "--config", s.config.File())...)
	return err
}

// Ended returns how the agent or the application ended, nil while both run.
func (s *Site) Ended() error { return errors.Join(s.agent.Ended(), s.app.Ended()) }

// Up writes the configuration, starts the agent and waits until it is ready.
func (s *Site) Up(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	return site.Up(ctx, s, true)
}

// StartApplication starts the site's instance of the application and waits until it answers.
func (s *Site) StartApplication(ctx context.Context) error {
	if err := s.launchApplication(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.env.setup.Application.Within, starting))
	defer cancel()
	return s.applicationAnswers(ctx)
}

func (s *Site) launchApplication() (err error) {
	argv := s.env.setup.Application.Command(s.config.Dir)
	s.app, err = process.Start("the application of "+s.Name(), s.applicationLog(), s.host.Command(argv...)...)
	return err
}

func (s *Site) applicationAnswers(ctx context.Context) error {
	a := s.env.setup.Application
	c := &site.Client{Base: a.upstream(a.names()[0]), HTTP: s.http}
	if err := c.Answers(ctx, a.Health, s.app.Ended); err != nil {
		return fmt.Errorf("wait for the application of %s: %w", s.Name(), err)
	}
	return nil
}

// ApplicationEnded returns how the application ended, nil while it runs.
func (s *Site) ApplicationEnded() error { return s.app.Ended() }

// StopApplication ends the site's instance of the application.
func (s *Site) StopApplication() error { return s.app.Stop(stopping) }

func (s *Site) applicationLog() string { return filepath.Join(s.config.Dir, "application.log") }

// stop ends the agent before its application, so that nothing that runs meets a closed door.
func (s *Site) stop() error {
	err := s.stopAgent()
	if s.app != nil && s.app.Ended() == nil {
		err = errors.Join(err, s.app.Stop(stopping))
	}
	return err
}

func (s *Site) stopAgent() (err error) {
	if s.agent != nil && s.agent.Ended() == nil {
		err = s.agent.Stop(stopping)
	}
	s.http.CloseIdleConnections()
	return err
}
