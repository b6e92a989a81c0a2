package p2p

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"go.uber.org/goleak"

	"github.com/skerry/skerry/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(ending{m}) }

// ending runs the tests and gives what they started its time to end: goleak waits for less than half a second.
type ending struct{ m *testing.M }

func (e ending) Run() int {
	code := e.m.Run()
	for begin := time.Now(); goleak.Find() != nil && time.Since(begin) < patience; {
		time.Sleep(10 * time.Millisecond)
	}
	return code
}

// testSite is one site: a Network over a loopback host (or a simulated one) with its fakes.
type testSite struct {
	id       engine.SiteID
	key      crypto.PrivKey
	net      *Network
	members  *fakeMembership
	exchange *fakeExchange
	stop     func()

	mu     sync.Mutex
	events []string
}

func testKey(t testing.TB) (crypto.PrivKey, engine.SiteID) {
	t.Helper()
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, err := SiteIDOf(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, id
}

type testConfig struct {
	key     crypto.PrivKey // nil: a new one
	now     func() time.Time
	listen  []string
	options []libp2p.Option
	relay   bool
	tell    []string // announced
	log     *slog.Logger
}

// newTestSite makes a site that is its only member; run starts it.
func newTestSite(t testing.TB, c testConfig) *testSite {
	t.Helper()
	key, id := testKey(t)
	if c.key != nil {
		var err error
		if id, err = SiteIDOf(c.key); err != nil {
			t.Fatal(err)
		}
		key = c.key
	}
	s := &testSite{id: id, key: key, exchange: newFakeExchange(id), members: &fakeMembership{self: id, members: map[engine.SiteID]engine.Member{}}}
	if c.listen == nil {
		c.listen = []string{"/ip4/127.0.0.1/udp/0/quic-v1"}
	}
	if c.log == nil {
		c.log = testLog(t)
	}
	var err error
	s.net, err = New(Config{
		Key: key, Listen: c.listen, Relay: c.relay, Announce: c.tell, Options: c.options, Now: c.now, Log: c.log,
		OnStatus: func(site engine.SiteID, up bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, fmt.Sprint(site, up))
		},
	}, s.members, s.exchange)
	if err != nil {
		t.Fatal(err)
	}
	s.members.add(s.member())
	return s
}

func (s *testSite) member() engine.Member {
	return engine.Member{ID: s.id, SiteRecord: engine.SiteRecord{Addresses: s.net.Addresses()}}
}

func (s *testSite) run(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.net.Run(ctx) }()
	for !slices.Contains(s.net.host.Mux().Protocols(), httpProtocol) {
		select { // until it serves
		case err := <-done:
			cancel()
			t.Fatalf("run: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	t.Cleanup(s.stop)
}

// newTestMesh starts sites that know each other, and waits until each reaches all.
func newTestMesh(t testing.TB, count int, c testConfig) []*testSite {
	t.Helper()
	var sites []*testSite
	for range count {
		sites = append(sites, newTestSite(t, c))
	}
	introduce(sites)
	for _, s := range sites {
		s.run(t)
	}
	eventually(t, "all sites are reachable", func() bool { return allUp(sites) })
	return sites
}

// introduce has all sites know each other as members.
func introduce(sites []*testSite) {
	for _, s := range sites {
		for _, o := range sites {
			s.members.add(o.member())
		}
	}
}

func allUp(sites []*testSite) bool {
	for _, s := range sites {
		up := 0
		for _, status := range s.net.Status() {
			if status.Reachable {
				up++
			}
		}
		if up != len(sites)-1 {
			return false
		}
	}
	return true
}

func ids(sites []*testSite) []engine.SiteID {
	var all []engine.SiteID
	for _, s := range sites {
		all = append(all, s.id)
	}
	slices.Sort(all)
	return all
}

// same reports whether all have the same; all documents are shared by them all.
func same(sites []*testSite) bool {
	first := sites[0]
	for _, s := range sites[1:] {
		if first.exchange.sum(s.id) != s.exchange.sum(first.id) {
			return false
		}
	}
	return true
}

// send writes a change at the site and hands it to the network.
func (s *testSite) send(id engine.DocumentID, payload string) {
	placement, l := s.exchange.write(id, []byte(payload))
	s.net.Send(placement, l)
}

// patience bounds what would never come. It says nothing of how long anything takes: a loaded machine may be slow.
const patience = 2 * time.Minute

// eventually polls until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	within(t, patience, what, ok)
}

// within polls until ok, for d, which means something in virtual time only.
func within(t testing.TB, d time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(d)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
