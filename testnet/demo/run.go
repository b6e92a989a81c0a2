package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/testnet/process"
	"github.com/skerry/skerry/testnet/site"
)

// names are those of the sites, in order; as many as a demo can have.
var names = []string{"paris", "nantes", "toulouse", "rennes", "lyon", "lille", "brest", "nice", "metz", "pau"}

// stopping is how long one process has to end before it is killed. An API server of Kubernetes that has just started may take ten seconds to.
const stopping = 30 * time.Second

// member is one site of the demo.
type member struct {
	program string
	runs    *application
	config  site.Config
	// ports are those of the application's instance; programs is the folder of what it is made of, where that was looked for.
	ports    []int
	programs string
	agent    *process.Process
	app      *process.Process
}

func (m *member) Config() *site.Config { return &m.config }

func (m *member) Client() *site.Client {
	return &site.Client{Base: "http://" + m.config.API, HTTP: http.DefaultClient}
}

// Launch starts the agent.
func (m *member) Launch() (err error) {
	m.agent, err = process.Start("the agent of "+m.config.Name, m.config.Log(), m.program, "agent", "--config", m.config.File())
	return err
}

func (m *member) Ended() error { return errors.Join(m.agent.Ended(), m.app.Ended()) }

// launchApp starts the site's instance of the application.
func (m *member) launchApp() (err error) {
	m.app, err = process.Start(m.runs.name+" of "+m.config.Name, filepath.Join(m.config.Dir, m.runs.name+".log"), m.runs.command(m)...)
	return err
}

func (m *member) service(name string) site.Service {
	for _, s := range m.config.Services {
		if s.Name == name {
			return s
		}
	}
	return site.Service{}
}

// stop ends the agent before its application, so that nothing that runs meets a closed door.
func (m *member) stop() error {
	var errs []error
	for _, p := range []*process.Process{m.agent, m.app} {
		if p != nil && p.Ended() == nil {
			errs = append(errs, p.Stop(stopping))
		}
	}
	return errors.Join(errs...)
}

// Validate implements the parser's check of a command line: what it refuses is wrong usage.
func (c *Start) Validate() error {
	if c.Sites < 1 || c.Sites > len(names) {
		return fmt.Errorf("--sites is %d: give a number from 1 to %d", c.Sites, len(names))
	}
	return nil
}

func (c *Start) run(ctx context.Context, program string, out io.Writer) (err error) {
	lock, err := claim()
	if err != nil {
		return err
	}
	defer lock.Close()
	dir, remove, err := c.dir()
	if err != nil {
		return err
	}
	a := applications[c.App]
	members, p, err := plan(dir, c.Sites, program, a)
	if err != nil {
		return errors.Join(err, remove())
	}
	defer func() {
		stopped := stopAll(members)
		if err == nil && stopped == nil {
			err = remove()
		} else {
			fmt.Fprintf(out, "The data and logs are kept in %s\n", dir)
			err = errors.Join(err, stopped)
		}
	}()
	fmt.Fprintf(out, "Starting %d sites …\n", c.Sites)
	if err := begin(ctx, dir, a, members); err != nil {
		if ctx.Err() != nil {
			return nil // interrupted while starting
		}
		return err
	}
	defer beside(ctx, a, members)()
	s := state{PID: os.Getpid()}
	for _, m := range members {
		s.Sites = append(s.Sites, stateSite{Name: m.config.Name, API: m.Client().Base})
	}
	if err := s.publish(lock); err != nil {
		return err
	}
	var links []string
	for _, m := range members {
		var link struct{ Path string }
		if err := m.Client().Call(ctx, http.MethodPost, "/api/v1/links", struct{}{}, &link); err != nil {
			return err
		}
		links = append(links, m.Client().Base+link.Path)
	}
	describe(out, dir, a, members, links, p.replace, c.Data == "")
	watch(ctx, members, out)
	fmt.Fprintln(out, "\nStopping …")
	return nil
}

// dir returns where the data are, and what removes them at the end if they are not to be kept.
func (c *Start) dir() (string, func() error, error) {
	if c.Data != "" {
		dir, err := filepath.Abs(c.Data)
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		if err != nil {
			return "", nil, fmt.Errorf("make data directory: %w", err)
		}
		return dir, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "skerry-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("make data directory: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// plan decides names, ports and paths.
func plan(dir string, sites int, program string, a *application) ([]*member, *ports, error) {
	p := &ports{given: map[int]bool{}}
	var members []*member
	for i, name := range names[:sites] {
		api, err := p.port(8701+i, "the API of "+name)
		if err != nil {
			return nil, nil, err
		}
		mesh, err := p.port(4701+i, "the mesh of "+name)
		if err != nil {
			return nil, nil, err
		}
		m := &member{program: program, runs: a, config: site.Config{
			Name:    name,
			Dir:     filepath.Join(dir, name),
			Catalog: filepath.Join(dir, "app.yaml"),
			API:     fmt.Sprintf("127.0.0.1:%d", api),
			Mesh: []string{fmt.Sprintf("/ip4/127.0.0.1/udp/%d/quic-v1", mesh),
				fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", mesh)},
		}}
		for j, what := range a.beside {
			port, err := p.port(9801+10*i+len(a.services)+j, what+" of "+name)
			if err != nil {
				return nil, nil, err
			}
			m.ports = append(m.ports, port)
		}
		for j, s := range a.services {
			listen, err := p.port(9701+10*i+j, s+" of "+name)
			if err != nil {
				return nil, nil, err
			}
			upstream, err := p.port(9801+10*i+j, "the application's own "+s+" of "+name)
			if err != nil {
				return nil, nil, err
			}
			m.ports = slices.Insert(m.ports, j, upstream)
			m.config.Services = append(m.config.Services, site.Service{
				Name:     s,
				Listen:   fmt.Sprintf("127.0.0.1:%d", listen),
				Upstream: fmt.Sprintf("http://127.0.0.1:%d", upstream),
			})
		}
		members = append(members, m)
	}
	return members, p, nil
}

// begin starts the applications, then the agents.
func begin(ctx context.Context, dir string, a *application, members []*member) error {
	ctx, cancel := context.WithTimeout(ctx, a.starting)
	defer cancel()
	if err := os.WriteFile(filepath.Join(dir, "app.yaml"), a.catalog, 0o600); err != nil {
		return fmt.Errorf("write the catalog: %w", err)
	}
	for _, m := range members {
		if err := os.MkdirAll(m.config.Dir, 0o700); err != nil {
			return fmt.Errorf("make directory of %s: %w", m.config.Name, err)
		}
	}
	if a.furnish != nil {
		if err := a.furnish(ctx, dir, members); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := m.launchApp(); err != nil {
			return err
		}
	}
	for _, m := range members {
		if a.ready != nil {
			if err := a.ready(ctx, m); err != nil {
				return fmt.Errorf("wait for %s of %s: %w", a.name, m.config.Name, err)
			}
			continue
		}
		own := &site.Client{Base: m.config.Services[0].Upstream, HTTP: http.DefaultClient}
		if err := own.Answers(ctx, a.health, m.app.Ended); err != nil {
			return fmt.Errorf("wait for %s of %s: %w", a.name, m.config.Name, err)
		}
	}
	return site.Mesh(ctx, members)
}

// beside runs what belongs to the instances, until stop has returned.
func beside(ctx context.Context, a *application, members []*member) (stop func()) {
	if a.alongside == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, m := range members {
		running.Go(func() {
			if err := a.alongside(ctx, m); err != nil {
				slog.Error("what stands beside an application has ended", "site", m.config.Name, "err", err)
			}
		})
	}
	return func() { cancel(); running.Wait() }
}

// watch returns when ctx ends; it tells of processes that end before.
func watch(ctx context.Context, members []*member, out io.Writer) {
	type end struct {
		process *process.Process
		again   string
	}
	ends := make(chan end)
	for _, m := range members {
		for p, again := range map[*process.Process]string{
			m.agent: fmt.Sprintf("Start it again with: %s agent --config %s", program(), m.config.File()),
			m.app:   "The agent keeps what it has to do there until it is back.",
		} {
			go func() {
				select {
				case <-p.Done():
				case <-ctx.Done():
					return
				}
				select {
				case ends <- end{p, again}:
				case <-ctx.Done():
				}
			}()
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-ends:
			fmt.Fprintf(out, "\n%v\n%s\n", e.process.Ended(), e.again)
		}
	}
}

// stopAll stops the sites side by side.
func stopAll(members []*member) error {
	errs := make(chan error)
	for _, m := range members {
		go func() { errs <- m.stop() }()
	}
	var all []error
	for range members {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}
