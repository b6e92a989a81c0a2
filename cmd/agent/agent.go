package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/core"
	"github.com/skerry/skerry/engine/site"
	"github.com/skerry/skerry/engine/vivaldi"
	"github.com/skerry/skerry/engine/waiting"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/p2p"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/web"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/chronicle"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/hooks"
	"github.com/skerry/skerry/web/intercept"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/peer"
	"github.com/skerry/skerry/web/intercept/request"
	"github.com/skerry/skerry/web/meter"
	"github.com/skerry/skerry/web/traces"
	"github.com/skerry/skerry/web/typing"
)

// Agent is one site's agent with everything it is made of. It is made by New and used once, by Run.
type Agent struct {
	cfg      Config
	log      *slog.Logger
	version  string
	between  Between
	catalog  *glue.Catalog
	store    *storage.Store
	vault    *storage.Vault
	client   *glue.Client
	network  *p2p.Network
	core     *core.Core
	handlers map[engine.ServiceName]*intercept.Handler
	// refreshers find out which kinds the services get whose kinds are their own.
	refreshers map[engine.ServiceName]*refresher
	types      *typing.Checker
	guard      *auth.Guard
	server     *web.Server
	registry   *prometheus.Registry
	accessLog  *meter.Log // nil: there is none
	meter      *meter.Meter
	tracer     *traces.Tracer // nil: nothing is traced
	ready      readiness
	// correlations are the scopes of workflows.
	correlations *carry.Correlations
	// listeners are those of the services and of the API, open from New on, so that a port in use is told at once; bare are the sockets below.
	listeners map[engine.ServiceName]net.Listener
	api       net.Listener
	probes    net.Listener // nil: there is none
	bare      []*net.TCPListener
	clients   *connections
	// doors let clients in; entrances are those of doors that are open before their handlers are there.
	doors     map[engine.ServiceName]*door.Door
	entrances map[engine.ServiceName]*intercept.Entrance
	// letIn are the doors' servers once they are open, failed is closed when one has ended that should not have; shut ends them.
	letIn  *errgroup.Group
	failed <-chan struct{}
	shut   context.CancelFunc
	// hearing is who hears the process before, relays pass on the bytes of TLS for the one after.
	hearing, relays sync.WaitGroup
	let             bool // the store and the network are closed

	life      Life
	inherited *Inherited
	after     *control // the line to the process that has taken over; nil: none has
}

// Run runs one site's agent until ctx ends, or another process has taken over: it lets requests under way finish, stops everything and returns
// nil. Version is what the agent says of itself.
func Run(ctx context.Context, cfg Config, version string, log *slog.Logger, life Life) error {
	a, err := newAgent(ctx, cfg, version, log, nothing{}, life)
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// New opens the data directory and all listeners. After an error, nothing stays open.
func New(ctx context.Context, cfg Config, version string, log *slog.Logger) (*Agent, error) {
	return newAgent(ctx, cfg, version, log, nothing{}, Life{})
}

func newAgent(ctx context.Context, cfg Config, version string, log *slog.Logger, b Between, life Life) (*Agent, error) {
	a := &Agent{cfg: cfg, log: log, version: version, between: b, life: life, inherited: life.Inherited,
		listeners: map[engine.ServiceName]net.Listener{}, handlers: map[engine.ServiceName]*intercept.Handler{},
		refreshers: map[engine.ServiceName]*refresher{}, doors: map[engine.ServiceName]*door.Door{}, entrances: map[engine.ServiceName]*intercept.Entrance{}}
	if a.inherited == nil {
		a.inherited = &Inherited{}
	}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *Agent) open(ctx context.Context) (err error) {
	cfg := a.cfg
	if a.catalog, err = glue.LoadCatalog(cfg.Application); err != nil {
		return err
	}
	if err = Check(cfg, a.catalog); err != nil {
		return err
	}
	a.log = a.log.With("site", string(cfg.Site))
	a.registry = prometheus.NewRegistry()
	if cfg.Traces != nil {
		if a.tracer, err = a.newTracer(ctx); err != nil {
			return err
		}
		a.log = a.tracer.Logs(a.log)
	}
	lock := a.inherited.lock
	if a.life.StandBy && lock == nil {
		if lock, err = a.standBy(ctx); err != nil {
			return err
		}
	}
	if a.inherited.before == nil {
		if err = a.openStore(lock); err != nil {
			return err
		}
	}
	if err = a.prepare(ctx); err != nil {
		return err
	}
	if a.inherited.before != nil {
		if err = a.openEntrances(); err != nil {
			return err
		}
		a.openDoors(ctx)
		if err = a.takeOver(ctx); err == nil {
			err = a.openStore(lock)
		}
		if err != nil {
			return err
		}
	}
	key, err := p2p.Identity(cfg.DataDir)
	if err != nil {
		return err
	}
	self, err := p2p.SiteIDOf(key)
	if err != nil {
		return err
	}
	a.vault = a.store.Vault()
	blobs, err := storage.OpenBlobs(cfg.DataDir, a.vault)
	if err != nil {
		return err
	}
	spools, err := storage.OpenSpools(cfg.DataDir, a.vault)
	if err != nil {
		return err
	}
	documents, err := crdt.New(key)
	if err != nil {
		return err
	}
	a.core, err = core.New(ctx, core.Config{
		Accept: cfg.Accept,
		Kept:   waiting.Rooms{All: waiting.Share(cfg.Limits.Kept.All), Each: waiting.Share(cfg.Limits.Kept.Caller), Nobody: waiting.Share(cfg.Limits.Kept.Anonymous)},
		Self:   self, Kinds: kinds(a.catalog), Documents: documents, Store: a.tracer.Store(a.between.Store(a.store, self), self), Blobs: a.between.Blobs(blobs),
		Spools: a.between.Spools(spools), App: a.between.Application(a.client), Catalog: a.client,
		Unknown: func(service engine.ServiceName, _ engine.KindName) {
			if r := a.refreshers[service]; r != nil {
				r.poke()
			}
		},
		Changed: func() {
			if a.network != nil {
				a.network.MembersChanged()
			}
		},
		Log: a.log, Now: time.Now, Clock: a.clock,
		NewID:  func() string { return uuid.Must(uuid.NewV7()).String() },
		Random: func(b []byte) { rand.Read(b) },
		Limits: site.Limits{
			Deletions: engine.DeletionLimits(cfg.Limits.Deletions), MaxBlob: cfg.Limits.Body,
			KeepOperations: cfg.Limits.Operations.Keep, MaxOperations: cfg.Limits.Operations.Number,
			ClockSkew: cfg.Limits.ClockSkew, Shared: cfg.Limits.Members.Resources, Bodies: cfg.Limits.Members.Bodies,
			LookAfter: cfg.Looks.After, LookEvery: cfg.Looks.Every,
		},
	})
	if err != nil {
		return err
	}
	a.client.Use(a.core.Site)
	a.network, err = p2p.New(p2p.Config{
		Key: key, Listen: cfg.Mesh.Listen, Peers: cfg.Mesh.Peers, Announce: cfg.Mesh.Announce, Relay: cfg.Mesh.Relay, Log: a.log,
		OnStatus:   func(id engine.SiteID, up bool) { a.core.SiteChanged(context.WithoutCancel(ctx), id, up) },
		OnCompared: func(id engine.SiteID, first bool) { a.core.Compared(context.WithoutCancel(ctx), id, first) },
		Limits:     p2p.Limits{Streams: cfg.Limits.Members.Streams, InFlight: cfg.Limits.Members.InFlight, Memory: cfg.Limits.Members.Memory},
		At:         a.core.Mesh.Coordinate(),
		OnMoved: func(at vivaldi.Coordinate) {
			if err := a.core.Mesh.Moved(context.WithoutCancel(ctx), at); err != nil {
				a.log.Error("publish where this site is", "err", err)
			}
		},
	}, a.core.Mesh, a.core.Site)
	if err != nil {
		return err
	}
	transport := a.tracer.Peers(a.network.Transport(), a.core.Mesh.Name)
	a.core.Attach(a.between.Network(a.network), a.between.Forwarder(peer.NewForwarder(a.core.Mesh, transport, 0)))
	traffic, operator := a.core.Traffic(), a.core.Operator()
	a.types = peer.NewChecker(a.client, traffic, a.core.Mesh, transport, func(k *engine.Kind) glue.Visibility { return a.catalog.Rules(k).Visibility })
	if a.guard, err = auth.New(auth.Config{Accounts: cfg.API.Accounts, Own: onlyOwn(cfg.API, a.log), Store: a.store.Shelves(), Secret: a.vault.Derive("browsers"), Now: time.Now}); err != nil {
		return err
	}
	limits := request.Limits{Body: cfg.Limits.Body, List: cfg.Limits.AskTimeout,
		Bodies: request.NewBodies(cfg.Limits.Bodies, cfg.Limits.BodyStall), PeerBodies: request.NewBodies(cfg.Limits.Bodies, cfg.Limits.BodyStall)}
	for name := range a.catalog.Services {
		var discover func(context.Context) bool
		if r := a.refreshers[name]; r != nil {
			discover = r.seek
		}
		a.handlers[name] = intercept.New(intercept.Config{
			Discover: discover, Meter: a.meter, Check: operator.Check, Tracer: a.tracer,
			Service: name, Client: a.client, Site: traffic, Membership: a.core.Mesh, Network: a.network, Peer: transport, Open: a.network.Open, Types: a.types,
			Application: a.catalog.Application, Services: slices.Sorted(maps.Keys(a.catalog.Services)), Accepts: a.core.Accept.Accepts,
			Believes: a.believes(name), Proxies: cfg.Services[name].TrustedProxies, Correlations: a.correlations, API: cfg.API.URL(),
			Limits: limits, Log: a.log,
		})
	}
	if err = a.newServer(operator); err != nil {
		return err
	}
	return a.enter(ctx)
}

// standBy waits until no other agent has the data directory.
func (a *Agent) standBy(ctx context.Context) (*os.File, error) {
	a.log.Info("standing by for whoever has the data directory", "data_dir", a.cfg.DataDir)
	a.tellManager(daemon.SdNotifyReady)
	lock, err := storage.Await(ctx, a.cfg.DataDir)
	if err == nil {
		a.log.Info("nobody else has the data directory: this agent serves from now on")
	}
	return lock, err
}

// openStore opens the store, whose lock may be this process's already.
func (a *Agent) openStore(lock *os.File) (err error) {
	if a.store, err = storage.Open(a.cfg.DataDir, storage.Options{Key: a.cfg.EncryptionKey, Lock: lock}); err != nil {
		return fmt.Errorf("open the data directory %s: %w", a.cfg.DataDir, err)
	}
	return nil
}

// prepare makes what clients meet first and what needs no store: the client of the application, the listeners, the meter.
func (a *Agent) prepare(ctx context.Context) (err error) {
	cfg := a.cfg
	if err = a.discover(ctx); err != nil {
		return err
	}
	if a.client, err = NewClient(cfg, a.catalog, a.log); err != nil {
		return err
	}
	if err = a.listen(); err != nil {
		return err
	}
	if a.tracer != nil {
		a.client.Surround(a.tracer.Crosses)
	}
	if cfg.AccessLog != nil {
		if a.accessLog, err = meter.Open(cfg.AccessLog.File, cfg.AccessLog.Format, cfg.AccessLog.One, a.log); err != nil {
			return err
		}
	}
	if a.meter, err = meter.NewMeter(a.registry, a.accessLog, slices.Sorted(maps.Keys(a.catalog.Services))); err != nil {
		return fmt.Errorf("register the metrics: %w", err)
	}
	a.correlations = carry.NewCorrelations(cfg.Correlation.Headers, cfg.Correlation.TTL, time.Now)
	return nil
}

// clock is the site's clock: the machine's, set right by those of other sites. Nothing is dated before the network is there.
func (a *Agent) clock() time.Time { return time.Now().Add(a.network.Correction()) }

// listen opens the listeners of the services and of the API.
func (a *Agent) listen() error {
	most := a.cfg.Limits.Connections
	var proxies request.Proxies
	for _, s := range a.cfg.Services {
		proxies = append(proxies, s.TrustedProxies...)
	}
	a.clients = newConnections(most, proxies)
	a.clients.giveWay = a.giveWay
	for name, s := range a.cfg.Services {
		l, err := a.listenOn(s.Listen, a.clients, s.TLS, s.FrontProxy != nil)
		if err != nil {
			return fmt.Errorf("listen for service %s on %s: %w", name, s.Listen, err)
		}
		a.listeners[name] = l
	}
	most.All = max(most.All/8, 64)
	l, err := a.listenOn(a.cfg.API.Listen, newConnections(most, a.cfg.API.TrustedProxies), a.cfg.API.TLS, false)
	if err != nil {
		return fmt.Errorf("listen for the API on %s: %w", a.cfg.API.Listen, err)
	}
	a.api = l
	if at := a.cfg.API.Probes; at != "" {
		if a.probes, err = a.listenOn(at, newConnections(most, nil), nil, false); err != nil {
			return fmt.Errorf("listen for probes on %s: %w", at, err)
		}
	}
	a.inherited.rest(a.log)
	return nil
}

// listenOn opens one listener, or takes the one that was inherited. Optional is for secure.
func (a *Agent) listenOn(address string, bound *connections, t *ListenerTLS, optional bool) (net.Listener, error) {
	l, err := a.inherited.listen(address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := l.(*net.TCPListener); ok {
		a.bare = append(a.bare, tcp)
	}
	l = &bounded{l, bound, t == nil}
	if t == nil {
		return l, nil
	}
	secured, err := secure(l, t, optional, a.log)
	if err != nil {
		l.Close()
	}
	return secured, err
}

func (a *Agent) newServer(operator *core.Operator) (err error) {
	var services []api.Service
	for _, name := range slices.Sorted(maps.Keys(a.catalog.Services)) {
		services = append(services, api.Service{Name: name, Kinds: func() []*engine.Kind { return a.client.Kinds(name) }, Handler: a.handlers[name],
			URL: a.serviceURL(name), Glue: a.catalog.Services[name].Glue,
			Certificates: a.cfg.Services[name].FrontProxy != nil, ServerName: func() string { return a.cfg.Services[name].TLS.nameAt(a.listeners[name].Addr()) }})
	}
	for _, c := range []prometheus.Collector{networkMetrics{a.network.Counters}, connectionMetrics{a.clients, a.gaveWay}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := a.registry.Register(c); err != nil {
			return fmt.Errorf("register the metrics: %w", err)
		}
	}
	desk, err := hooks.New(hooks.Config{Store: a.store.Shelves(), Vault: a.vault, Now: time.Now, Log: a.log, HTTP: hooks.NewClient()})
	if err != nil {
		return err
	}
	a.server, err = web.New(web.Config{Listen: a.cfg.API.Listen, Hosts: a.cfg.API.Hosts, Proxies: a.cfg.API.TrustedProxies, HeadTimeout: a.cfg.Limits.HeadTimeout, Idle: a.cfg.Limits.Idle, Config: api.Config{
		Streams: a.cfg.Limits.Streams.All, ViewerStreams: a.cfg.Limits.Streams.Viewer,
		Application: a.catalog.Application, Catalog: a.catalog.Digest, Version: a.version, Dashboard: a.dashboard(), Configuration: a.cfg.show(), LogLevel: a.life.LogLevel, Services: services,
		Store: a.store, Counter: a.store, Mesh: a.core.Mesh, Network: a.network, Operator: operator, Waiter: a.core.Site, Peer: a.network.Transport(),
		Referring: a.client.Referring, Made: a.client.Made, Types: a.types, Reaches: a.client.Reaches, Accepts: a.core.Accept.Accepts,
		Token: a.token, Ready: a.isReady, Auth: a.guard, Audit: audit.New(a.store.Shelves(), a.vault.Derive("audit trail")), Hooks: desk,
		Chronicle: chronicle.New(chronicle.Config{Store: a.store.Shelves(), Now: time.Now, Log: a.log}), Registry: a.registry, Log: a.log, Now: time.Now,
	}})
	return err
}

// serviceURL tells where clients reach a service.
func (a *Agent) serviceURL(name engine.ServiceName) string {
	scheme := "http://"
	if a.cfg.Services[name].TLS != nil {
		scheme = "https://"
	}
	return scheme + a.listeners[name].Addr().String()
}

// isReady says why the site does not serve, or does not serve whole.
func (a *Agent) isReady() error {
	if err := a.ready.check(); err != nil {
		return err
	}
	return a.core.Mesh.Writable()
}

// token is the text of an invitation.
func (a *Agent) token(i engine.Invitation, secret []byte) string {
	text, err := p2p.EncodeToken(p2p.Token{
		Mesh: a.core.Mesh.MeshID(), Founder: a.core.Mesh.Founder(), Inviter: a.core.Mesh.Self(), Addresses: a.network.Addresses(), Invitation: i.ID, Secret: secret, Expires: i.ExpiresAt,
	})
	if err != nil {
		a.log.Error("encode an invitation", "err", err)
	}
	return text
}

// enter makes sure that this site belongs to a mesh and says there what is to be known of it.
func (a *Agent) enter(ctx context.Context) error {
	record := engine.SiteRecord{
		Name: a.cfg.Site, Addresses: a.network.Addresses(), Services: slices.Sorted(maps.Keys(a.catalog.Services)),
		Application: a.catalog.Application, Catalog: a.catalog.Digest, Version: a.version,
		ApplicationVersion: a.cfg.ApplicationVersion,
	}
	if err := a.core.Mesh.SetKinds(ctx, a.core.Site.Kinds()); err != nil {
		return err
	}
	invitation, err := a.cfg.Mesh.Invitation()
	switch {
	case err != nil && !a.core.Mesh.InMesh():
		return err
	case a.core.Mesh.InMesh():
		if err := a.core.Mesh.Announce(ctx, record); err != nil {
			return err
		}
		if name := a.core.Mesh.Name(a.core.Mesh.Self()); name != a.cfg.Site {
			a.log.Warn("the mesh knows this site under another name than its configuration says: an authority can rename it (skerry sites certify)", "name", string(name))
		}
		return nil
	case invitation == "":
		a.log.Info("this is the first site of a new mesh: other sites join by invitation")
		return a.core.Mesh.Found(ctx, record)
	}
	token, err := p2p.DecodeToken(invitation)
	if err != nil {
		return err
	}
	records, err := a.network.Join(ctx, token, record)
	if err != nil {
		return err
	}
	if err := a.core.Mesh.Adopt(ctx, token.Mesh, token.Founder, records); err != nil {
		return err
	}
	return a.core.Mesh.Announce(ctx, record)
}
