package sim

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/core"
	"github.com/skerry/skerry/engine/vivaldi"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/web/intercept"
	"github.com/skerry/skerry/web/intercept/carry"
	"github.com/skerry/skerry/web/intercept/peer"
)

// labServices are the services of lab.
var labServices = []engine.ServiceName{lab.Images, lab.Networks, lab.Servers}

// labCatalog is lab's catalog. All its services honour Idempotency-Keys: nothing is uncertain, and nobody has to decide.
var labCatalog = sync.OnceValue(func() *glue.Catalog {
	c, err := glue.ParseCatalog("lab.yaml", lab.Catalog)
	if err != nil {
		panic(err) // it is the project's own
	}
	return c
})

// labSite is one site's instance of lab, which outlives the agent. Clients, agents and services speak HTTP over pipes.
type labSite struct {
	lab   *lab.Lab
	name  engine.SiteName
	pipes *pipes
	log   *slog.Logger

	servers []*http.Server
	wg      sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	mood   Mood
}

func always() bool { return true }

// newLabSite opens the instance and serves it.
func newLabSite(s *site, lines *pipes, random *rand.Rand) (*labSite, error) {
	l := &labSite{name: s.name, pipes: lines, random: random, log: s.log}
	// Its servers service asks the images service through the agent, as every client does.
	transport := &http.Transport{DialContext: lines.dial, DisableKeepAlives: true}
	var err error
	l.lab, err = lab.New(lab.Config{Data: filepath.Join(s.dir, "lab"), Images: "http://" + agentHost(s.name, lab.Images), Transport: transport})
	if err != nil {
		return nil, err
	}
	for _, name := range labServices {
		h := &http.Server{Handler: l.moody(l.lab.Service(string(name))), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		listener := lines.listen(l.host(name), always)
		l.servers = append(l.servers, h)
		l.wg.Go(func() { _ = h.Serve(listener) })
	}
	return l, nil
}

func (l *labSite) close() error {
	for _, h := range l.servers {
		_ = h.Close()
	}
	l.wg.Wait()
	return l.lab.Close()
}

// host is where the application's own service is, agentHost where clients reach it.
func (l *labSite) host(service engine.ServiceName) string {
	return fmt.Sprintf("%s.%s.lab", service, l.name)
}

func agentHost(site engine.SiteName, service engine.ServiceName) string {
	return fmt.Sprintf("%s.%s.agent", service, site)
}

func (l *labSite) setMood(m Mood) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mood = m
}

// moody lets the application behave as its mood is.
func (l *labSite) moody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		m, luck, late := l.mood, l.random.Float64(), time.Duration(l.random.Int64N(int64(20*time.Millisecond)))
		l.mu.Unlock()
		time.Sleep(late)
		safe := glue.Safe(r.Method)
		if luck -= m.Refuses; m.Down || luck < 0 && !safe {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if luck -= m.Fails; luck < 0 && !safe {
			panic(http.ErrAbortHandler)
		}
		if luck -= m.DoesSilent; luck < 0 && !safe {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

// ask asks the application itself.
func (l *labSite) ask(service engine.ServiceName, path string) (status int, body []byte) {
	w := httptest.NewRecorder()
	l.lab.Service(string(service)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.Bytes()
}

// list returns the items of a collection as the application shows them.
func (l *labSite) list(service engine.ServiceName, path string) []map[string]any {
	var items []map[string]any
	if status, body := l.ask(service, path); status == http.StatusOK {
		_ = json.Unmarshal(body, &items) // it is lab's own array
	}
	return items
}

// fit gives an engine the application.
func (l *labSite) fit(p *process, c *core.Config) (err error) {
	catalog := labCatalog()
	config := glue.ClientConfig{List: catalog.List, Dial: p.dialThrough(l.pipes)}
	for _, name := range labServices {
		config.Upstreams = append(config.Upstreams, glue.Upstream{Service: name, Kinds: catalog.Services[name].Kinds,
			URL: &url.URL{Scheme: "http", Host: l.host(name)}})
		c.Kinds = append(c.Kinds, catalog.Services[name].Kinds...)
	}
	if p.client, err = glue.NewClient(config); err != nil {
		return err
	}
	c.App, c.Catalog = mortalClient{p.client, p}, p.client
	return nil
}

// dialThrough opens connections out of which nothing gets when the process is dead.
func (p *process) dialThrough(lines *pipes) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := lines.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return pipeConn{c, p.alive}, nil
	}
}

// front puts the agent's interception in front of the application, and returns who answers other agents.
func (l *labSite) front(p *process) http.Handler {
	catalog := labCatalog()
	p.client.Use(p.Site)
	transport, traffic := p.network.Transport(), p.Traffic()
	types := peer.NewChecker(p.client, traffic, p.Mesh, transport, func(k *engine.Kind) glue.Visibility { return catalog.Rules(k).Visibility })
	correlations := carry.NewCorrelations(carry.CorrelationHeaders, carry.CorrelationTTL, p.site.clock)
	handlers := map[engine.ServiceName]*intercept.Handler{}
	for _, name := range labServices {
		handlers[name] = intercept.New(intercept.Config{Service: name, Client: p.client, Site: traffic, Membership: p.Mesh, Network: p.network,
			Peer: transport, Types: types, Application: catalog.Application, Services: labServices, Correlations: correlations,
			Accepts: p.Accept.Accepts, API: "http://" + string(l.name), Log: l.log})
		p.listen(l.pipes.listen(agentHost(l.name, name), p.alive), handlers[name])
	}
	return intercept.Peers(p.Mesh, handlers, http.NotFoundHandler())
}

func (l *labSite) services() []engine.ServiceName { return labServices }

// moved publishes where the site is, for scopes with around.
func (p *process) moved(ctx context.Context) func(vivaldi.Coordinate) {
	return func(at vivaldi.Coordinate) {
		if err := p.Mesh.Moved(context.WithoutCancel(ctx), at); err != nil && !p.dead.Load() {
			p.site.log.Error("publish where this site is", "err", err)
		}
	}
}

// mortalClient is a process's way to lab.
type mortalClient struct {
	*glue.Client
	p *process
}

// Do implements engine.Application.
func (c mortalClient) Do(ctx context.Context, call engine.Call) (engine.Reply, error) {
	if c.p.dead.Load() {
		return engine.Reply{}, errDead
	}
	fatal, after := false, false
	if !glue.Safe(call.Method) {
		fatal, after = c.p.doom.meet(true)
	}
	if !fatal {
		return c.Client.Do(ctx, call)
	}
	var err error
	if after {
		_, err = c.Client.Do(ctx, call)
	}
	c.p.die()
	return engine.Reply{}, cmp.Or(err, errDead)
}

var errDead = errors.New("the process is dead")

// answer is what a client got.
type answer struct {
	status int // 0: no answer
	header http.Header
	body   []byte
	err    error
}

// text is one member of the answer's object.
func (a answer) text(member string) string {
	var o map[string]any
	if json.Unmarshal(a.body, &o) != nil || o[member] == nil {
		return ""
	}
	return fmt.Sprint(o[member])
}

// call sends a client's request to the agent of a site. It takes as long as clients wait: a minute.
func (l *labSite) call(ctx context.Context, service engine.ServiceName, method, path string, body []byte, header ...string) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+agentHost(l.name, service)+path, bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	transport := &http.Transport{DialContext: l.pipes.dial, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		return answer{err: err}
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: b.Bytes()}
}
