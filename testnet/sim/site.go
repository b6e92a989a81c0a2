package sim

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/libp2p/go-libp2p"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/core"
	loop "github.com/skerry/skerry/engine/site"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/p2p"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/web/intercept/peer"
)

// site is one location: its disk and its application, which stay, and the process of its agent, which comes and goes.
type site struct {
	n              int
	name           engine.SiteName
	id             engine.SiteID
	dir            string
	skew           atomic.Int64 // how far the clock is off, in nanoseconds
	history, epoch int          // of the engine's configuration
	app            *application
	lab            *labSite // in the place of app, for plans of things
	wires          *wires
	log            *slog.Logger

	turn chan struct{} // holds a token while the process is being started or stopped
	now  atomic.Pointer[process]
}

// process is one life of a site's agent.
type process struct {
	*core.Core
	store   *storage.Store
	network *p2p.Network
	client  *glue.Client // of lab
	site    *site

	dead atomic.Bool // nothing gets out of it any more
	doom doom
	died chan struct{}
	once sync.Once
	stop func() error // ends the goroutines and closes the disk
	ends []listening
	cut  chan struct{} // closed when requests that are under way end

	mu      sync.Mutex
	closing bool           // no request begins any more
	calls   sync.WaitGroup // requests under way; Add under mu, while not closing
}

// surroundings are what a process has around its engine: the application, and what takes the requests.
type surroundings interface {
	services() []engine.ServiceName
	// fit gives the engine its kinds and its way to the application.
	fit(p *process, c *core.Config) error
	// front is called when engine and network are there. It returns who answers other agents.
	front(p *process) http.Handler
}

func (s *site) around() surroundings {
	if s.lab != nil {
		return s.lab
	}
	return s.app
}

func (s *site) setMood(m Mood) {
	if s.lab != nil {
		s.lab.setMood(m)
		return
	}
	s.app.setMood(m)
}

func (s *site) clock() time.Time { return time.Now().Add(time.Duration(s.skew.Load())) }

// open makes the process over what is on disk. With a token it joins the mesh, without one and without a mesh it founds it.
func (s *site) open(ctx context.Context, token string) (p *process, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	p = &process{site: s, died: make(chan struct{})}
	if p.store, err = storage.Open(s.dir, storage.Options{Now: s.clock}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && p.network != nil {
			err = errors.Join(err, p.network.Close())
		}
		if err != nil {
			err = errors.Join(err, p.store.Close())
		}
	}()
	key, err := p2p.Identity(s.dir)
	if err != nil {
		return nil, err
	}
	self, err := p2p.SiteIDOf(key)
	if err != nil {
		return nil, err
	}
	if s.id == "" { // at its first start; it stays the same
		s.id = self
	}
	vault := p.store.Vault()
	blobs, err := storage.OpenBlobs(s.dir, vault)
	if err != nil {
		return nil, err
	}
	spools, err := storage.OpenSpools(s.dir, vault)
	if err != nil {
		return nil, err
	}
	documents, err := crdt.New(key)
	if err != nil {
		return nil, err
	}
	log := s.log.With("site", string(s.name))
	config := core.Config{
		Self: self, Documents: documents, Store: mortal{p.store, p}, Blobs: blobs, Spools: spools, Log: log, Now: s.clock,
		NewID:   func() string { return uuid.Must(uuid.NewV7()).String() },
		Random:  func(b []byte) { _, _ = crand.Read(b) },
		Changed: func() { p.membersChanged() },
		// A year of being away: nobody confirms deletions here.
		Limits: loop.Limits{Deletions: engine.DeletionLimits{Late: 365 * 24 * time.Hour}, Workers: 4, Cache: 8, History: s.history, Epoch: s.epoch},
	}
	if err := s.around().fit(p, &config); err != nil {
		return nil, err
	}
	if p.Core, err = core.New(ctx, config); err != nil {
		return nil, err
	}
	listen, option := s.wires.plug(s.n)
	p.network, err = p2p.New(p2p.Config{
		Key: key, Listen: []string{listen}, Log: log, Now: s.clock, Options: []libp2p.Option{option},
		OnStatus:   func(id engine.SiteID, up bool) { p.SiteChanged(context.WithoutCancel(ctx), id, up) },
		OnCompared: func(id engine.SiteID, first bool) { p.Compared(context.WithoutCancel(ctx), id, first) },
		At:         p.Mesh.Coordinate(), OnMoved: p.moved(ctx),
	}, p.Mesh, p.Core.Site)
	if err != nil {
		return nil, err
	}
	p.Attach(p.network, peer.NewForwarder(p.Mesh, p.network.Transport(), 0))
	return p, p.enter(ctx, token)
}

// membersChanged tells the network, once there is one.
func (p *process) membersChanged() {
	if p.network != nil {
		p.network.MembersChanged()
	}
}

// enter makes sure that the site belongs to the mesh.
func (p *process) enter(ctx context.Context, text string) error {
	record := engine.SiteRecord{Name: p.site.name, Addresses: p.network.Addresses(), Services: p.site.around().services()}
	if err := p.Mesh.SetKinds(ctx, p.Core.Site.Kinds()); err != nil {
		return err
	}
	switch {
	case p.Mesh.InMesh():
	case text == "":
		return p.Mesh.Found(ctx, record)
	default:
		token, err := p2p.DecodeToken(text)
		if err != nil {
			return err
		}
		records, err := p.network.Join(ctx, token, record)
		if err != nil {
			return err
		}
		if err := p.Mesh.Adopt(ctx, token.Mesh, token.Founder, records); err != nil {
			return err
		}
	}
	return p.Mesh.Announce(ctx, record)
}

// invite returns the text of an invitation for others.
func (p *process) invite(ctx context.Context, uses int) (string, error) {
	i, secret, err := p.Mesh.Invite(ctx, time.Hour, uses, 0)
	if err != nil {
		return "", err
	}
	return p2p.EncodeToken(p2p.Token{Mesh: p.Mesh.MeshID(), Founder: p.Mesh.Founder(), Inviter: p.Mesh.Self(), Addresses: p.network.Addresses(),
		Invitation: i.ID, Secret: secret, Expires: i.ExpiresAt})
}

// start opens the process and lets it work.
func (s *site) start(ctx context.Context, token string) error {
	p, err := s.open(ctx, token)
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	below, stop := context.WithCancel(ctx)
	p.cut = make(chan struct{})
	p.listen(p.network.Listener(), s.around().front(p))
	var wg sync.WaitGroup
	results := make(chan error, 2+len(p.ends))
	wg.Go(func() { results <- p.network.Run(below) })
	wg.Go(func() { results <- p.Run(below) })
	for _, l := range p.ends {
		wg.Go(func() {
			err := l.server.Serve(l.listener)
			if errors.Is(err, http.ErrServerClosed) {
				err = nil
			}
			results <- err
		})
	}
	p.stop = func() error {
		if !p.dead.Load() { // requests under way may finish
			late, cancel := context.WithTimeout(ctx, 10*time.Second)
			for _, l := range p.ends {
				_ = l.server.Shutdown(late)
			}
			cancel()
		}
		close(p.cut)
		p.mu.Lock()
		p.closing = true
		p.mu.Unlock()
		end := sync.OnceFunc(func() {
			for _, l := range p.ends {
				_ = l.server.Close()
			}
			stop()
		})
		over := make(chan struct{})
		wg.Go(func() {
			select {
			case <-p.died: // what its requests wait for never comes
				end()
			case <-over:
			}
		})
		p.calls.Wait()
		close(over)
		end()
		wg.Wait()
		close(results)
		var errs []error
		for err := range results {
			errs = append(errs, err)
		}
		return errors.Join(append(errs, p.store.Close())...)
	}
	s.now.Store(p)
	return nil
}

// end stops the process, or clears away what is left of a dead one. It does nothing while there is none.
func (s *site) end() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	p := s.now.Swap(nil)
	if p == nil {
		return nil
	}
	if err := p.stop(); err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}

// begin starts the process unless there is one.
func (s *site) begin(ctx context.Context) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.now.Load() != nil {
		return nil
	}
	return s.start(ctx, "")
}

// die ends the process between two instructions: what is not on disk and not on the wires by now never will be.
func (p *process) die() {
	p.once.Do(func() {
		p.dead.Store(true)
		p.site.wires.silence(p.site.n)
		close(p.died)
	})
}

// submit takes a request of a client or of another agent; told is false when no answer goes back.
func (p *process) submit(ctx context.Context, r engine.Request) (a engine.Answer, told bool, err error) {
	ctx, leave, ok := p.admit(ctx)
	if !ok {
		return a, true, errRefused
	}
	defer leave()
	a, err = p.Front.Submit(ctx, r)
	return a, !p.dead.Load() && ctx.Err() == nil, err
}

// admit lets a request in, unless the process takes none any more; its context ends when requests that are under way end. Leave
// says that it is over.
func (p *process) admit(ctx context.Context) (_ context.Context, leave func(), ok bool) {
	p.mu.Lock()
	if p.closing || p.dead.Load() {
		p.mu.Unlock()
		return ctx, nil, false
	}
	p.calls.Add(1)
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		select {
		case <-p.cut:
			cancel()
		case <-over:
		}
	}()
	return ctx, func() {
		close(over)
		cancel()
		p.calls.Done()
	}, true
}

// listening is one address at which a process takes requests.
type listening struct {
	listener net.Listener
	server   *http.Server
}

// listen has a process take the requests of a listener, once it is started.
func (p *process) listen(l net.Listener, h http.Handler) {
	p.ends = append(p.ends, listening{l, &http.Server{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, leave, ok := p.admit(r.Context())
			if !ok {
				panic(http.ErrAbortHandler) // the other side gets no answer
			}
			defer leave()
			h.ServeHTTP(w, r.WithContext(ctx))
		})}})
}

func (p *process) alive() bool { return !p.dead.Load() }

// ending reports whether the process takes no requests any more.
func (p *process) ending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closing
}

// errRefused: there is no process that would take the client's connection.
var errRefused = errors.New("connection refused")

// doom says with which commit, or request to the application, a process dies. It is safe for concurrent use.
type doom struct {
	mu      sync.Mutex
	left    int // how many until then; 0: it does not die
	request bool
	after   bool // it dies just after that one, not just before
	met     bool // that one has come
}

func (d *doom) set(left int, request, after bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.request, d.after = left, request, after
}

// meet counts a commit or a request and reports whether it is the one.
func (d *doom) meet(request bool) (fatal, after bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 || d.request != request {
		return false, false
	}
	d.left--
	d.met = d.left == 0
	return d.met, d.after
}

// sealed reports whether the process dies whatever comes.
func (d *doom) sealed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.met
}

// mortal is the store of a process that may die with a commit.
type mortal struct {
	*storage.Store
	p *process
}

// Commit implements engine.Store.
func (m mortal) Commit(ctx context.Context, b *engine.Batch) error {
	if m.p.dead.Load() {
		return fmt.Errorf("the process is dead: %w", engine.ErrStorage)
	}
	fatal, after := m.p.doom.meet(false)
	if !fatal {
		return m.Store.Commit(ctx, b)
	}
	var err error
	if after {
		err = m.Store.Commit(ctx, b)
	} else if b.Told != nil {
		b.Told()
	}
	m.p.die()
	return cmp.Or(err, fmt.Errorf("the process is dead: %w", engine.ErrStorage))
}

// client is a process's way to its application.
type client struct{ p *process }

// Do implements engine.Application.
func (c client) Do(ctx context.Context, call engine.Call) (engine.Reply, error) {
	call, err := whole(call)
	if err != nil {
		return engine.Reply{}, err
	}
	if c.p.dead.Load() {
		return engine.Reply{}, errDead
	}
	fatal, after := false, false
	if call.Method != http.MethodGet {
		fatal, after = c.p.doom.meet(true)
	}
	if !fatal {
		return c.p.site.app.do(ctx, call)
	}
	if after {
		_, err = c.p.site.app.do(ctx, call)
	}
	c.p.die()
	return engine.Reply{}, cmp.Or(err, errDead)
}

// Find implements engine.Application.
func (c client) Find(ctx context.Context, k *engine.Kind, request string) ([]engine.Reply, error) {
	if c.p.dead.Load() {
		return nil, errDead
	}
	return c.p.site.app.find(ctx, k, request)
}

// Present implements engine.Application.
func (c client) Present(ctx context.Context, k *engine.Kind, r engine.Reply) (engine.Reply, error) {
	return present(ctx, c.p.Site, k, r)
}

// Items implements engine.Application. Nothing of the model contains anything.
func (c client) Items(*engine.Kind, []byte) ([][]byte, error) { return nil, nil }

func (a *application) services() []engine.ServiceName { return []engine.ServiceName{"model"} }

func (a *application) fit(p *process, c *core.Config) error {
	c.Kinds, c.App, c.Catalog = kinds, client{p}, classifier{}
	return nil
}

func (a *application) front(p *process) http.Handler { return peers{p} }
