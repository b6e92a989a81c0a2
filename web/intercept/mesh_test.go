package intercept

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/request"
)

// mesh is three sites in this process, each with an application of its own. Requests between them are real HTTP; what
// the engine would do is scripted.
type mesh struct {
	t     testing.TB
	sites map[engine.SiteID]*siteUnderTest
	list  *glue.List // what the catalog says of lists; nil: nothing
}

type siteUnderTest struct {
	patience time.Duration // with its application; zero: the default
	rest     atomic.Int32  // requests of clients that were not plain
	running  atomic.Int32  // those of them that have not ended
	mesh     *mesh
	id       engine.SiteID
	url      string // of the service's listener
	app      *app
	handler  *Handler
	peers    *httptest.Server
	accepts  func(engine.Wish) engine.Acceptance // nil: everything

	mu        sync.Mutex
	resources map[string]engine.ResourceRow // by meta-identifier
	down      map[engine.SiteID]bool        // cut off, and known to be
	broken    map[engine.SiteID]bool        // cut off, and not known to be yet
	chosen    map[string]engine.SiteID      // by name
	submitted []engine.Request
	large     string // the last body that was not held in memory
	submit    func(engine.Request) (engine.Answer, error)
	relying   map[string][]engine.ResourceRow           // by what is relied on
	holding   map[string][]engine.ResourceRow           // by what they lie in
	making    func(context.Context) bool                // nil: nothing is being made
	reached   func(context.Context, engine.After) error // nil: all is
}

// app is an application that keeps what it was asked.
type app struct {
	mu     sync.Mutex
	log    []asked
	answer http.HandlerFunc
	url    string
	close  func()
}

type asked struct {
	method, uri, host, body string
	header                  http.Header
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	answer := a.answer
	a.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	b, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	a.log = append(a.log, asked{r.Method, r.RequestURI, r.Host, string(b), r.Header.Clone()})
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":%q,"uri":%q}`, strings.TrimPrefix(r.URL.Path, "/images/"), r.RequestURI)
}

func (a *app) asked() []asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.log)
}

func (a *app) set(f http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = f
}

var imageKind = &engine.Kind{
	Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID: engine.IDRule{From: engine.IDFromBody, At: "/id"},
}

const paris, nantes, lyon = engine.SiteID("QmParis"), engine.SiteID("QmNantes"), engine.SiteID("QmLyon")

func newMesh(t testing.TB) *mesh { return newMeshWith(t, request.Limits{}, 0) }

func newMeshWith(t testing.TB, limits request.Limits, headerTimeout time.Duration) *mesh {
	return newMeshOf(t, imageKind, limits, headerTimeout)
}

func newMeshOf(t testing.TB, kind *engine.Kind, limits request.Limits, headerTimeout time.Duration) *mesh {
	return newMeshIn(t, nil, kind, limits, headerTimeout)
}

// newMeshRefusing is of an application whose clients understand refusals in one form.
func newMeshRefusing(t testing.TB, r glue.Refuser) *mesh {
	t.Helper()
	m := newMesh(t)
	for _, s := range m.sites {
		s.handler.refuser = r
	}
	return m
}

// never is longer than any test takes. These sites answer each other in real time, which a loaded machine stretches: what the agent
// does when an answer is late is tested in virtual time (crowd), and here where a test asks for it.
const never = time.Hour

// newMeshIn is of an application with a dialect; nil for none.
func newMeshIn(t testing.TB, dialect glue.Dialect, kind *engine.Kind, limits request.Limits, headerTimeout time.Duration) *mesh {
	if limits.Grace == 0 {
		limits.Grace = never
	}
	if limits.Hedge == 0 {
		limits.Hedge = never
	}
	if limits.List == 0 {
		limits.List = never
	}
	if limits.Silence == 0 {
		limits.Silence = never
	}
	m := &mesh{t: t, sites: map[engine.SiteID]*siteUnderTest{}}
	for _, id := range []engine.SiteID{paris, nantes, lyon} {
		s := &siteUnderTest{
			mesh: m, id: id, app: &app{}, resources: map[string]engine.ResourceRow{},
			down: map[engine.SiteID]bool{}, broken: map[engine.SiteID]bool{}, patience: headerTimeout,
		}
		application := httptest.NewServer(s.app)
		t.Cleanup(application.Close)
		s.app.url, s.app.close = application.URL, application.Close
		upstream, _ := url.Parse(application.URL)
		client, err := glue.NewClient(glue.ClientConfig{HeaderTimeout: headerTimeout, ContinueTimeout: time.Minute, List: func(*engine.Kind) *glue.List { return m.list }, Upstreams: []glue.Upstream{{Service: "images", URL: upstream, Kinds: []*engine.Kind{kind}, Dialect: dialect,
			Paths: []string{"/", "/x*", "/a*", "/reports", "/logs", "/s*", "/u*", "/b*", "/c*", "/d*", "/w*", "/v*"}, Headers: kubernetes.Headers}}})
		if err != nil {
			t.Fatal(err)
		}
		client.Use(s)
		t.Cleanup(client.CloseIdle)
		s.handler = New(Config{
			Service: "images", Client: client, Site: s, Membership: s, Network: s, Peer: s,
			Application: "lab", Services: []engine.ServiceName{"images", "servers"}, API: "http://api:8701/",
			Limits: limits, Log: slog.New(slog.DiscardHandler),
			Accepts: func(w engine.Wish) engine.Acceptance {
				if s.accepts != nil {
					return s.accepts(w)
				}
				return anything(w)
			},
		})
		s.url = s.open(t, s.handler)
		peers := Peers(s, map[engine.ServiceName]*Handler{"images": s.handler}, http.NotFoundHandler())
		s.peers = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.RemoteAddr = r.Header.Get("X-Test-From")
			r.Header.Del("X-Test-From")
			peers.ServeHTTP(w, r)
		}))
		t.Cleanup(s.peers.Close)
		m.sites[id] = s
	}
	return m
}

// open has clients come in for a handler, as an agent does, and returns where.
func (s *siteUnderTest) open(t testing.TB, h *Handler) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := h.Door(door.Limits{Head: 1 << 20, AnswerTimeout: s.patience, Drain: time.Millisecond})
	d.Log = slog.New(panics{slog.DiscardHandler, t})
	d.Rest = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.rest.Add(1)
		s.running.Add(1)
		defer s.running.Add(-1)
		h.ServeHTTP(w, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// anything accepts everything.
func anything(engine.Wish) engine.Acceptance { return engine.Acceptance{Accepted: true} }

// panics fails the test when a handler has panicked, which net/http only logs.
type panics struct {
	slog.Handler
	t testing.TB
}

func (p panics) Enabled(context.Context, slog.Level) bool { return true }

func (p panics) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "panic") {
		p.t.Error(r.Message)
	}
	return nil
}

// RoundTrip carries a request to another site's peer handler.
func (s *siteUnderTest) RoundTrip(r *http.Request) (*http.Response, error) {
	to := s.mesh.sites[engine.SiteID(r.URL.Host)]
	s.mu.Lock()
	cut := to == nil || s.down[to.id] || s.broken[to.id]
	s.mu.Unlock()
	if cut {
		return nil, fmt.Errorf("open a stream to %s: %w", r.URL.Host, engine.ErrUnreachable)
	}
	out := r.Clone(r.Context())
	out.URL.Host = strings.TrimPrefix(to.peers.URL, "http://")
	out.Header.Set("X-Test-From", string(s.id))
	return http.DefaultTransport.RoundTrip(out)
}

func (s *siteUnderTest) Self() engine.SiteID { return s.id }

func (s *siteUnderTest) Members() []engine.Member {
	return []engine.Member{
		{ID: paris, SiteRecord: engine.SiteRecord{Name: "paris"}},
		{ID: nantes, SiteRecord: engine.SiteRecord{Name: "nantes"}},
		{ID: lyon, SiteRecord: engine.SiteRecord{Name: "lyon"}},
	}
}

func (s *siteUnderTest) IsMember(id engine.SiteID) bool { return s.mesh.sites[id] != nil }
func (s *siteUnderTest) Inviting() bool                 { return false }
func (s *siteUnderTest) Admit(context.Context, engine.JoinRequest) ([]engine.SignedRecord, error) {
	return nil, engine.ErrRefused
}

// Status puts nantes nearer than lyon.
func (s *siteUnderTest) Status() map[engine.SiteID]engine.SiteStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := map[engine.SiteID]engine.SiteStatus{}
	for id, rtt := range map[engine.SiteID]time.Duration{paris: 5, nantes: 1, lyon: 9} {
		if id != s.id {
			status[id] = engine.SiteStatus{Reachable: !s.down[id], RTT: rtt * time.Millisecond}
		}
	}
	return status
}

func (s *siteUnderTest) Contents(context.Context, engine.DocumentID, engine.KindName) ([]engine.Contained, error) {
	return nil, nil
}

func (s *siteUnderTest) ContentsChanged(engine.DocumentID) {}

func (s *siteUnderTest) Reached(ctx context.Context, a engine.After) error {
	if s.reached == nil {
		return nil
	}
	return s.reached(ctx, a)
}

func (s *siteUnderTest) Making(ctx context.Context, _ engine.DocumentID) bool {
	return s.making != nil && s.making(ctx)
}

func (s *siteUnderTest) LastShown(context.Context, engine.DocumentID) (map[engine.SiteID]json.RawMessage, error) {
	return nil, nil
}

func (s *siteUnderTest) Lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	row, err := s.Known(ctx, k, id)
	if err == nil && (row.State.Past() || row.GoneAt(s.id)) {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	return row, err
}

func (s *siteUnderTest) Known(_ context.Context, k *engine.Kind, id string) (engine.ResourceRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for meta, row := range s.resources {
		if (k.Name == "image" || k.Name == row.Kind) && (meta == id || (row.Local != "" && string(row.Local) == id)) {
			return row, nil
		}
	}
	return engine.ResourceRow{}, engine.ErrNotFound
}

func (s *siteUnderTest) Relying(_ context.Context, k *engine.Kind, id string, _ int) ([]engine.ResourceRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.relying[id], nil
}

func (s *siteUnderTest) Holding(_ context.Context, k *engine.Kind, id string, _ int) ([]engine.ResourceRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding[id], nil
}

func (s *siteUnderTest) Local(ctx context.Context, _ engine.ServiceName, _ engine.KindName, id engine.ResourceID) (engine.LocalID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.resources[string(id)]
	return row.Local, ok && row.Local != ""
}

func (s *siteUnderTest) Meta(ctx context.Context, _ engine.ServiceName, _ engine.KindName, id engine.LocalID) (engine.ResourceID, bool) {
	row, err := s.Lookup(ctx, imageKind, string(id))
	return row.ID, err == nil && row.Local == id
}

func (s *siteUnderTest) Translated(engine.ServiceName, engine.KindName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for meta, row := range s.resources {
		if meta != string(row.Local) {
			return true
		}
	}
	return false
}

func (s *siteUnderTest) Chosen(_ context.Context, _ *engine.Kind, id string) (engine.SiteID, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chosen[id], s.chosen[id] == s.id, nil
}

func (s *siteUnderTest) Zones() []engine.Zone {
	return []engine.Zone{{Name: "west", Sites: []engine.SiteID{paris, nantes}}}
}

// Distances puts nantes and lyon 30 ms apart, and does not know how far others are from each other.
func (s *siteUnderTest) Distances() func(a, b engine.SiteID) (time.Duration, bool) {
	status := s.Status()
	return func(a, b engine.SiteID) (time.Duration, bool) {
		st, known := status[b]
		if a != s.id {
			return 30 * time.Millisecond, a == nantes && b == lyon
		}
		return st.RTT, known
	}
}

func (s *siteUnderTest) Replicates(*engine.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.resources) > 0
}

func (s *siteUnderTest) Submit(_ context.Context, r engine.Request) (engine.Answer, error) {
	s.mu.Lock()
	s.submitted = append(s.submitted, r)
	f := s.submit
	s.mu.Unlock()
	if r.Large != nil {
		in, err := r.Large.Open()
		if err != nil {
			return engine.Answer{}, err
		}
		body, err := io.ReadAll(in)
		if err != nil {
			return engine.Answer{}, fmt.Errorf("%w: %w", engine.ErrIncomplete, err)
		}
		s.mu.Lock()
		s.large = string(body)
		s.mu.Unlock()
	}
	if f != nil {
		return f(r)
	}
	return engine.Answer{
		Status: 201, Header: http.Header{"Content-Type": {"application/json"}, "Location": {"/images/M"}, "Connection": {"close"}},
		Body: []byte(`{"id":"M"}`), Operation: "op-1", Resource: "M", Site: s.id,
	}, nil
}

func (s *siteUnderTest) operations() []engine.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.submitted)
}

// replicate registers a resource with its replicas at all of the sites.
func (m *mesh) replicate(meta string, locals map[engine.SiteID]engine.LocalID) {
	status := map[engine.SiteID]engine.ReplicaStatus{}
	for id, local := range locals {
		status[id] = engine.ReplicaStatus{Local: local, State: engine.StateConverged}
	}
	for id, local := range locals {
		s := m.sites[id]
		s.mu.Lock()
		s.resources[meta] = engine.ResourceRow{ID: engine.ResourceID(meta), Service: "images", Kind: "image", Collaboration: engine.Replication, Local: local, Sites: maps.Clone(status)}
		s.mu.Unlock()
	}
}

func (s *siteUnderTest) cut(ids ...engine.SiteID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.down[id] = true
	}
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request to the site's listener; headers are "Name: value" lines.
func (s *siteUnderTest) do(method, path, body string, headers ...string) answer {
	s.mesh.t.Helper()
	return send(s.mesh.t, s.url, method, path, body, headers...)
}

func send(t testing.TB, base, method, path, body string, headers ...string) answer {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, base+path, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// want checks status and, for each "Name: value", a header; a value of "-" means that it is not there.
func (a answer) want(t testing.TB, status int, headers ...string) answer {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.body)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		got := a.header.Get(name)
		if got != value && !(value == "-" && got == "") {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	return a
}

func (a answer) problem(t testing.TB, status int, typ string) {
	t.Helper()
	a.want(t, status, "Content-Type: application/problem+json")
	if !strings.Contains(a.body, `"type":"/problems/`+typ+`"`) {
		t.Errorf("want a problem of type %s: %s", typ, a.body)
	}
}
