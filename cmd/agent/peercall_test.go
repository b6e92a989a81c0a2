package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/p2p"
)

// shelf is an application of one kind of things, with a file beside each. It remembers the headers that it was asked with.
type shelf struct {
	mu     sync.Mutex
	things map[string]map[string]any
	last   int
	asked  []http.Header
	denied string // the user who may not change anything
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Header.Clone())
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(r.URL.Path, "/things")
	id, file := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/file")
	var body map[string]any
	if r.Method != http.MethodGet && !file {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	thing := s.things[id]
	switch {
	case s.denied != "" && r.Header.Get("X-Remote-User") == s.denied && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/about", file:
		_, _ = io.WriteString(w, `{"content":true}`)
	case path == r.URL.Path, id != "" && thing == nil:
		w.WriteHeader(http.StatusNotFound)
	case id == "" && r.Method == http.MethodGet:
		list := []any{}
		for _, t := range s.things {
			list = append(list, t)
		}
		_ = json.NewEncoder(w).Encode(list)
	case id == "":
		s.last++
		id = fmt.Sprintf("%s-%d", r.Host[strings.LastIndexByte(r.Host, ':')+1:], s.last)
		body["id"] = id
		s.things[id] = body
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(body)
	case body["name"] == "refused" && r.Header.Get("Authorization") == "Bearer agent":
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		for name, value := range body {
			thing[name] = value
		}
		_ = json.NewEncoder(w).Encode(thing)
	}
}

// seen returns all values that the application was asked with in a header.
func (s *shelf) seen(header string) (values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.asked {
		values = append(values, h.Values(header)...)
	}
	return values
}

const things = `
application: shelf
services:
  shelf:
    paths: [/about]
    headers: [X-Tenant]
    kinds:
      thing:
        collection: /things
        item: /things/{id}
        id: {from: body, at: /id}
        correct: merge-patch
        content: [{read: "GET /things/{id}/file", write: "PUT /things/{id}/file"}]
`

// startSite runs a whole agent in front of an application until the test ends.
func startSite(t *testing.T, name, more string) (*Agent, *shelf) {
	t.Helper()
	application := &shelf{things: map[string]map[string]any{}}
	a, _ := startIn(t, t.TempDir(), name, application, more, "")
	return a, application
}

// startIn runs one in a folder of its own, with further keys in its configuration, until it is stopped or the test ends.
func startIn(t *testing.T, folder, name string, application *shelf, more, keys string) (a *Agent, stop func()) {
	t.Helper()
	return startWith(t, folder, name, application, more, "", keys)
}

// startWith has more keys for the service.
func startWith(t *testing.T, folder, name string, application *shelf, more, service, keys string) (a *Agent, stop func()) {
	t.Helper()
	upstream := httptest.NewServer(application)
	t.Cleanup(upstream.Close)
	files := map[string]string{"app.yaml": things, "token": "agent", "skerry.yaml": fmt.Sprintf(`
site: %s
data_dir: ./data
application: ./app.yaml
api: {listen: "127.0.0.1:0", loopback: open} # tests hand requests in without a connection
mesh: {listen: [/ip4/127.0.0.1/tcp/0]%s}
services: {shelf: {listen: "127.0.0.1:0", upstream: %q, credentials: {token_file: token}%s}}
%s
`, name, more, upstream.URL, service, keys)}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := Load(filepath.Join(folder, "skerry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	a, err = New(context.Background(), cfg, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		end()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return a, stop
}

// sitesOf starts sites of one mesh; the first founds it.
func sitesOf(t *testing.T, names ...string) (agents []*Agent, applications []*shelf) {
	t.Helper()
	for i, name := range names {
		more := ""
		if i > 0 {
			invitation, secret, err := agents[0].core.Mesh.Invite(t.Context(), time.Hour, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			more = fmt.Sprintf(", join: %q", agents[0].token(invitation, secret))
		}
		a, s := startSite(t, name, more)
		agents, applications = append(agents, a), append(applications, s)
	}
	for _, a := range agents {
		within(t, "all sites meet", func() bool {
			status := a.network.Status()
			up := 0
			for _, s := range status {
				if s.Reachable {
					up++
				}
			}
			return up == len(names)-1
		})
	}
	return agents, applications
}

// within waits until something is so.
func within(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// request sends one of a client of a site.
func (a *Agent) request(t *testing.T, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	a.handlers["shelf"].ServeHTTP(w, r)
	return w.Result()
}

// knows is a stranger's view of a mesh: one member, which it would like to ask.
type knows struct {
	engine.Membership
	self  engine.SiteID
	other engine.Member
}

func (k knows) Self() engine.SiteID                { return k.self }
func (k knows) Members() []engine.Member           { return []engine.Member{k.other} }
func (k knows) IsMember(id engine.SiteID) bool     { return id == k.other.ID }
func (k knows) Inviting() bool                     { return false }
func (k knows) Name(engine.SiteID) engine.SiteName { return "" }

// TestEveryCallBetweenAgents goes over the table of calls. A stranger gets nothing. A member gets what needs no part; one that has a part
// in what it asks about gets all, until its key is revoked: then it is served less than a stranger. Nothing of what is refused happens.
func TestEveryCallBetweenAgents(t *testing.T) {
	agents, applications := sitesOf(t, "paris", "nantes", "lyon")
	paris, nantes, lyon := agents[0], agents[1], agents[2]
	self := paris.core.Mesh.Self()

	resp := paris.request(t, "POST", "/things", `{"name":"a"}`, "Scope: {shelf: paris & nantes}")
	id, operation := resp.Header.Get("Skerry-Resource"), resp.Header.Get("Skerry-Operation")
	if resp.StatusCode != http.StatusCreated || id == "" {
		t.Fatalf("created with %d %v", resp.StatusCode, resp.Header)
	}
	kind := paris.client.Kind("shelf", "thing")
	row := func(a *Agent) engine.ResourceRow {
		row, _ := a.core.Traffic().Lookup(t.Context(), kind, id)
		return row
	}
	within(t, "nantes has it", func() bool { return row(nantes).Local != "" })
	// What paris' application refuses to the agent is a conflict there.
	if resp := nantes.request(t, "PATCH", "/things/"+id, `{"name":"refused"}`); resp.StatusCode != http.StatusOK {
		t.Fatalf("changed with %d", resp.StatusCode)
	}
	var conflict string
	within(t, "paris has a conflict", func() bool {
		list, _, _ := paris.store.Conflicts(t.Context(), engine.ConflictFilter{Document: row(paris).Document})
		for _, c := range list {
			conflict = string(c.ID)
		}
		return conflict != ""
	})
	document := row(paris).Document
	if err := nantes.core.Operator().Pause(t.Context(), document, self, ""); err != nil { // it needs the body as long as that lasts
		t.Fatal(err)
	}
	large := paris.request(t, "PUT", "/things/"+id+"/file", strings.Repeat("x", 100<<10), "Content-Type: application/octet-stream")
	if large.StatusCode != http.StatusOK {
		t.Fatalf("the file was put with %d", large.StatusCode)
	}
	var blob engine.BlobRef
	within(t, "paris has the large body", func() bool {
		ops, _, _ := paris.store.Operations(t.Context(), engine.OperationFilter{Document: row(paris).Document})
		for _, o := range ops {
			if o.Blob != nil && o.Sites[self].State == engine.StateApplied {
				blob = *o.Blob
			}
		}
		return blob.Hash != ""
	})

	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	outside, err := p2p.SiteIDOf(key)
	if err != nil {
		t.Fatal(err)
	}
	var member engine.Member
	for _, m := range nantes.core.Mesh.Members() {
		if m.ID == self {
			member = m
		}
	}
	stranger, err := p2p.New(p2p.Config{Key: key, Listen: []string{"/ip4/127.0.0.1/tcp/0"}}, knows{self: outside, other: member}, nantes.core.Site)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- stranger.Run(ctx) }()
	defer func() { stop(); <-ran }()

	type asker struct {
		site    engine.SiteID
		network *p2p.Network
	}
	askers := map[string]asker{"stranger": {outside, stranger}, "member": {lyon.core.Mesh.Self(), lyon.network}, "part": {nantes.core.Mesh.Self(), nantes.network}}
	// got reports whether paris has done what it was asked for.
	http1 := func(by asker, method, path, body string, headers ...string) bool {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://"+string(self)+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		resp, err := by.network.Transport().RoundTrip(r)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		for _, refused := range []string{"/problems/stranger", "/problems/not-found", "/problems/no-replica", "/problems/catalog-mismatch"} {
			if bytes.Contains(b, []byte(refused)) {
				return false
			}
		}
		if resp.StatusCode >= 500 {
			t.Errorf("%s %s by %s: %d %s", method, path, by.site, resp.StatusCode, b)
		}
		return true
	}
	service := func(method, path string, headers ...string) func(asker) bool {
		return func(by asker) bool {
			return http1(by, method, path, "", append(headers, "Skerry-Service: shelf", "Skerry-Via: "+string(nantes.core.Mesh.Self()), "Skerry-Placement: "+string(self))...)
		}
	}
	api := func(by asker, name, body string) bool {
		method, path, _ := strings.Cut(name, " ")
		of := id
		switch {
		case strings.Contains(path, "/operations/"):
			of = operation
		case strings.Contains(path, "/conflicts/"):
			of = conflict
		}
		path = strings.NewReplacer(":id", of, ":name", string(self)).Replace(path)
		return http1(by, method, path, body, "Skerry-Via: "+string(nantes.core.Mesh.Self()))
	}
	bodies := map[string]string{
		"PATCH /api/v1/resources/:id": `{"add":["lyon"]}`, "POST /api/v1/resources/:id/restore": `{"path":"/name"}`, "POST /api/v1/resources/:id/keep": `{"site":"paris"}`,
		"POST /api/v1/resources/:id/pause": `{"site":"paris"}`, "POST /api/v1/resources/:id/resume": `{"site":"paris"}`,
		"POST /api/v1/conflicts/:id/resolve": `{"action":"none"}`, "POST /api/v1/sites/:name/resume": `{}`,
	}
	asks := map[string]func(asker) bool{
		engine.CallRequest:     service("GET", "/things/"+id, "X-Remote-User: root", "X-Forwarded-User: root", "X-Tenant: blue"),
		engine.CallDescription: service("GET", "/about", "X-Remote-User: root", "X-Forwarded-User: root"),
		engine.CallListPart:    service("GET", "/things", "Skerry-Aggregate: "+string(self), "X-Remote-User: root", "X-Forwarded-User: root"),
		engine.CallContent:     service("GET", "/things/"+id+"/file", "Skerry-Content: 1", "X-Remote-User: root", "X-Forwarded-User: root"),
		engine.HTTPCall:        service("GET", "/things"),
		engine.PingCall:        func(by asker) bool { return by.network.Status()[self].Reachable },
		engine.JoinCall: func(by asker) bool {
			if by.site != outside && by.network.Status()[self].Reachable {
				return true
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			token := p2p.Token{Mesh: paris.core.Mesh.MeshID(), Inviter: self, Addresses: paris.network.Addresses(), Invitation: "none",
				Secret: make([]byte, 32), Expires: time.Now().Add(time.Hour)}
			if by.site != outside { // an open invitation is of no use to one whose key was revoked
				invitation, secret, err := paris.core.Mesh.Invite(ctx, time.Hour, 1, 0)
				if err != nil {
					t.Fatal(err)
				}
				token.Invitation, token.Secret = invitation.ID, secret
			}
			_, err := by.network.Join(ctx, token, engine.SiteRecord{Name: "evil"})
			return err == nil
		},
		engine.BlobCall: func(by asker) bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			got := &gets{}
			err := by.network.Fetch(ctx, self, document, blob, got)
			return err == nil && len(got.body) == int(blob.Size)
		},
		// What a comparison tells, and what a letter may bring, is decided by the proven key and the part of its site.
		engine.CompareCall: func(by asker) bool {
			digests, _ := paris.core.Site.Digests(t.Context(), by.site, engine.Range{})
			missing, _, _ := paris.core.Site.Missing(t.Context(), by.site, []engine.Have{{Document: document}}, 1<<20)
			if (len(digests) > 0) != (missing != nil && len(missing.Parcels) > 0) {
				t.Errorf("%s is told of %d documents and given %v", by.site, len(digests), missing)
			}
			return by.network.Status()[self].Reachable && (by.site == lyon.core.Mesh.Self() || len(digests) > 0)
		},
		engine.LettersCall: func(by asker) bool {
			l, _, err := nantes.core.Site.Missing(t.Context(), nantes.core.Mesh.Self(), []engine.Have{{Document: document}}, 1<<20)
			if err != nil || len(l.Parcels) == 0 {
				t.Fatal(l, err)
			}
			err = paris.core.Site.Receive(t.Context(), by.site, &engine.Letter{Parcels: l.Parcels})
			return !errors.Is(err, engine.ErrRefused)
		},
	}
	served := func(name string) func(asker) bool {
		if ask := asks[name]; ask != nil || !strings.Contains(name, " /api/") {
			return ask
		}
		return func(by asker) bool { return api(by, name, bodies[name]) }
	}
	order := slices.Clone(engine.PeerCalls)
	slices.SortStableFunc(order, func(x, y engine.PeerCall) int { // what settles the conflict comes late, what lets lyon in last
		last := func(c engine.PeerCall) int { return strings.Count(c.Name, "/keep") + 2*strings.Count(c.Name, "PATCH") }
		return last(x) - last(y)
	})
	for _, c := range order {
		ask := served(c.Name)
		if ask == nil {
			t.Errorf("nobody tries %q", c.Name)
			continue
		}
		for _, who := range []string{"stranger", "member", "part"} {
			want := who == "part" || who == "member" && c.Who != engine.HasPart
			if got := ask(askers[who]); got != want {
				t.Errorf("%s by a %s: served %v, want %v", c.Name, who, got, want)
			}
			if who != "part" && row(paris).Sites[lyon.core.Mesh.Self()].State != "" {
				t.Fatalf("%s by a %s put lyon into the placement", c.Name, who)
			}
		}
	}
	// Once its key is revoked, the one that has a part gets nothing more, not even what needs none.
	if err := paris.core.Mesh.RevokeSite(t.Context(), nantes.core.Mesh.Self()); err != nil {
		t.Fatal(err)
	}
	within(t, "paris hangs up", func() bool { return !nantes.network.Status()[self].Reachable })
	for _, c := range order {
		if ask := served(c.Name); ask != nil && ask(askers["part"]) {
			t.Errorf("%s by a revoked member: served", c.Name)
		}
	}
	for _, header := range []string{"X-Remote-User", "X-Forwarded-User"} {
		if got := applications[0].seen(header); len(got) > 0 {
			t.Errorf("the application was told by another site who asks: %s %v", header, got)
		}
	}
	if got := applications[0].seen("X-Tenant"); len(got) == 0 {
		t.Error("a header that the catalog names did not travel")
	}
}

// TestOtherSitesReachWhatTheCatalogDescribes tries other paths of an application through another site's agent.
func TestOtherSitesReachWhatTheCatalogDescribes(t *testing.T) {
	agents, applications := sitesOf(t, "paris", "nantes")
	for _, path := range []string{"/admin", "/things/../admin", "/things/%2e%2e/admin", "/things//x", "/"} {
		r, err := http.NewRequest("GET", "http://"+string(agents[0].core.Mesh.Self())+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Skerry-Service", "shelf")
		r.Header.Set("X-Forwarded-User", "root")
		resp, err := agents[1].network.Transport().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s is answered with %d", path, resp.StatusCode)
		}
	}
	applications[0].mu.Lock()
	defer applications[0].mu.Unlock()
	if len(applications[0].asked) > 0 {
		t.Errorf("the application was asked: %v", applications[0].asked)
	}
}

// gets takes a blob in.
type gets struct {
	digests engine.Digests
	body    []byte
}

func (g *gets) Digests() engine.Digests           { return g.digests }
func (g *gets) SetDigests(d engine.Digests) error { g.digests = d; return nil }
func (g *gets) Next() int64                       { return int64(len(g.body)) / engine.ChunkSize }
func (g *gets) Add(chunk []byte) error            { g.body = append(g.body, chunk...); return nil }
func (g *gets) Done() error                       { return nil }
func (g *gets) Close() error                      { return nil }
