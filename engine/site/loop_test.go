package site

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/libp2p/go-libp2p/core/crypto"

	"github.com/skerry/skerry/crdt"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/storage"
)

// thing is a kind whose identifiers clients choose.
var thing = &engine.Kind{Service: "things", Name: "thing", Collection: "/things", Item: "/things/{id}",
	ID: engine.IDRule{From: engine.IDFromPath, At: "/id"}}

// shelf is an application that keeps JSON objects by path.
type shelf struct {
	mu      sync.Mutex
	objects map[engine.LocalID][]byte
	calls   int
}

func (a *shelf) Do(_ context.Context, c engine.Call) (engine.Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	h := http.Header{"Content-Type": {"application/json"}}
	old, there := a.objects[c.Local]
	switch c.Method {
	case http.MethodGet:
		if !there {
			return engine.Reply{Status: 404, Header: h}, nil
		}
		return engine.Reply{Status: 200, Header: h, Body: old}, nil
	case http.MethodPut:
		a.objects[c.Local] = c.Body
		status := 201
		if there {
			status = 200
		}
		return engine.Reply{Status: status, Header: h, Body: c.Body, Local: c.Local}, nil
	case http.MethodDelete:
		delete(a.objects, c.Local)
		return engine.Reply{Status: 204, Header: h}, nil
	}
	return engine.Reply{Status: 405, Header: h}, nil
}

func (a *shelf) Present(_ context.Context, _ *engine.Kind, r engine.Reply) (engine.Reply, error) {
	return r, nil
}
func (a *shelf) Find(context.Context, *engine.Kind, string) ([]engine.Reply, error) { return nil, nil }
func (a *shelf) Items(*engine.Kind, []byte) ([][]byte, error)                       { return nil, nil }

func (a *shelf) Classify(_ engine.ServiceName, method, path string, _ map[string]string) (engine.KindName, engine.Type, bool) {
	types := map[string]engine.Type{http.MethodPut: engine.TypeReplace, http.MethodDelete: engine.TypeDelete, http.MethodPost: engine.TypeAction}
	t, ok := types[method]
	return thing.Name, t, ok && strings.HasPrefix(path, "/things/")
}

// crowd is a mesh whose members never change.
type crowd []engine.SiteID

func (c crowd) IsMember(id engine.SiteID) bool { return slices.Contains(c, id) }
func (c crowd) Name(id engine.SiteID) engine.SiteName {
	return engine.SiteName(fmt.Sprintf("site%d", slices.Index(c, id)))
}
func (c crowd) Mismatch(engine.ServiceName, engine.KindName, []engine.SiteID) string { return "" }
func (c crowd) Take(context.Context, engine.SiteID, []engine.SignedRecord, []engine.SiteID) error {
	return nil
}
func (c crowd) Fingerprint() engine.Fingerprint { return engine.Fingerprint{} }
func (c crowd) Records() []engine.SignedRecord  { return nil }
func (c crowd) Distances() func(a, b engine.SiteID) (time.Duration, bool) {
	return func(engine.SiteID, engine.SiteID) (time.Duration, bool) { return 0, false }
}
func (c crowd) Writable() error { return nil }
func (c crowd) SetQueues(context.Context, map[engine.ServiceName]engine.QueueStatus) error {
	return nil
}
func (c crowd) Rejoins(context.Context) error { return nil }

// wire joins sites without a network.
type wire struct {
	self  engine.SiteID
	sites map[engine.SiteID]*Site
	mu    *sync.Mutex
	cut   map[engine.SiteID]bool
	wg    sync.WaitGroup
	t     testing.TB
}

func (n *wire) Send(to []engine.SiteID, l *engine.Letter) {
	for _, id := range to {
		if n.reaches(id) {
			n.wg.Go(func() {
				if err := n.sites[id].Receive(context.Background(), n.self, l); err != nil {
					n.t.Logf("%s: %v", n.self, err)
				}
			})
		}
	}
}

func (n *wire) reaches(id engine.SiteID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.cut[id] && !n.cut[n.self]
}

func (n *wire) Status() map[engine.SiteID]engine.SiteStatus {
	st := map[engine.SiteID]engine.SiteStatus{}
	for id := range n.sites {
		st[id] = engine.SiteStatus{Reachable: n.reaches(id)}
	}
	return st
}

func (n *wire) Fetch(context.Context, engine.SiteID, engine.DocumentID, engine.BlobRef, engine.Incoming) error {
	return engine.ErrNotFound
}

type party struct {
	ids   []engine.SiteID
	sites map[engine.SiteID]*Site
	apps  map[engine.SiteID]*shelf
	wires map[engine.SiteID]*wire
	cut   map[engine.SiteID]bool
	mu    sync.Mutex
}

func newParty(t testing.TB, n int) *party {
	p := &party{sites: map[engine.SiteID]*Site{}, apps: map[engine.SiteID]*shelf{}, wires: map[engine.SiteID]*wire{}, cut: map[engine.SiteID]bool{}}
	var docs []*crdt.Documents
	for range n {
		key, _, err := crypto.GenerateEd25519Key(nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := crdt.New(key)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, d)
		p.ids = append(p.ids, d.Self())
	}
	slices.Sort(p.ids)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, d := range docs {
		dir := t.TempDir()
		store, err := storage.Open(dir, storage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		blobs, err := storage.OpenBlobs(dir, store.Vault())
		if err != nil {
			t.Fatal(err)
		}
		app := &shelf{objects: map[engine.LocalID][]byte{}}
		s, err := New(ctx, Config{Self: d.Self(), Kinds: []*engine.Kind{thing}, Documents: d, Statuses: d, Store: store, Blobs: blobs, App: app, Catalog: app,
			Members: crowd(p.ids), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
			NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Random: func() float64 { return 0.5 }})
		if err != nil {
			t.Fatal(err)
		}
		n := &wire{self: d.Self(), sites: p.sites, cut: p.cut, mu: &p.mu, t: t}
		s.Attach(n, nil)
		p.sites[d.Self()], p.apps[d.Self()], p.wires[d.Self()] = s, app, n
		running.Go(func() { s.Run(ctx) })
		t.Cleanup(func() { store.Close() })
	}
	t.Cleanup(func() {
		for _, n := range p.wires {
			n.wg.Wait()
		}
		cancel()
		running.Wait()
	})
	return p
}

// compare exchanges what two sites lack of each other.
func (p *party) compare(t testing.TB, a, b engine.SiteID) {
	ctx := context.Background()
	for range 3 {
		for _, pair := range [][2]engine.SiteID{{a, b}, {b, a}} {
			from, to := p.sites[pair[0]], p.sites[pair[1]]
			digests, err := from.Digests(ctx, pair[1], engine.Range{})
			if err != nil {
				t.Fatal(err)
			}
			var ids []engine.DocumentID
			for _, d := range digests {
				ids = append(ids, d.Document)
			}
			have, err := to.Have(ctx, pair[0], ids)
			if err != nil {
				t.Fatal(err)
			}
			l, _, err := from.Missing(ctx, pair[1], have, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Receive(ctx, pair[0], l); err != nil {
				t.Logf("compare: %v", err)
			}
		}
	}
	p.sites[a].Compared(b)
	p.sites[b].Compared(a)
}

func (p *party) put(ctx context.Context, at engine.SiteID, id, body string) (replica.Given, error) {
	s := p.sites[at]
	a := &engine.About{Service: thing.Service, Kind: thing.Name, Collaboration: engine.Replication, Key: engine.ResourceID(id), Placement: p.ids}
	_, doc, err := s.cfg.Documents.Identify(*a)
	if err != nil {
		return replica.Given{}, err
	}
	return s.Ask(ctx, doc, a, &replica.Ask{Operation: engine.OperationID(s.cfg.NewID()), Creates: true, Request: engine.Request{Kind: thing,
		Type: engine.TypeReplace, Method: http.MethodPut, Path: thing.Item, Target: id, Placement: p.ids, Body: []byte(body),
		Header: map[string]string{"Content-Type": "application/json"}, Credentials: &engine.Credentials{}}})
}

func (p *party) settled(t testing.TB, id string) {
	t.Helper()
	for _, at := range p.ids {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		a := engine.About{Service: thing.Service, Kind: thing.Name, Collaboration: engine.Replication, Key: engine.ResourceID(id), Placement: p.ids}
		_, doc, err := p.sites[at].cfg.Documents.Identify(a)
		if err != nil {
			t.Fatal(err)
		}
		for err = engine.ErrNotFound; err != nil && ctx.Err() == nil; {
			err = p.sites[at].Await(ctx, doc, func(r *replica.Replica) bool {
				return r.Exists() && !slices.ContainsFunc(p.ids, func(s engine.SiteID) bool {
					return !slices.Equal(slices.Sorted(maps.Keys(r.At(s).Settled)), slices.Sorted(maps.Keys(r.Me.Settled))) || len(r.At(s).Settled) == 0 || r.At(s).Shown == nil
				})
			})
			if err != nil {
				time.Sleep(time.Millisecond)
			}
		}
		if err != nil {
			row, _ := p.sites[at].cfg.Store.ResourceByDocument(context.Background(), doc)
			b, _ := json.Marshal(row)
			t.Fatalf("%s: %v: %s", p.sites[at].cfg.Members.Name(at), err, b)
		}
	}
}

func TestACreateComesToAllSites(t *testing.T) {
	p := newParty(t, 3)
	g, err := p.put(context.Background(), p.ids[0], "one", `{"id":"one","colour":"red"}`)
	if err != nil || g.Answer.Status != 201 {
		t.Fatalf("%+v, %v", g.Answer, err)
	}
	p.settled(t, "one")
	for _, id := range p.ids {
		if got := string(p.apps[id].objects["one"]); got != `{"id":"one","colour":"red"}` {
			t.Errorf("%s shows %s", id, got)
		}
	}
}

func BenchmarkCreates(b *testing.B) {
	p := newParty(b, 3)
	b.ResetTimer()
	var callers sync.WaitGroup
	next := make(chan int)
	for range 16 {
		callers.Go(func() {
			for i := range next {
				id := fmt.Sprintf("thing-%d", i)
				if _, err := p.put(context.Background(), p.ids[0], id, `{"id":"`+id+`","colour":"red"}`); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range b.N {
		next <- i
	}
	close(next)
	callers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acknowledged/s")
	for i := range b.N {
		p.settled(b, fmt.Sprintf("thing-%d", i))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "everywhere/s")
}
