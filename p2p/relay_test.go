package p2p

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

// nowhere is a member of which no address is known.
func (s *testSite) nowhere() engine.Member { return engine.Member{ID: s.id} }

// newRelayed starts two sites that know no address of each other, and one that both reach and that relays.
func newRelayed(t *testing.T) (a, b, relay *testSite) {
	t.Helper()
	a, b, relay = newTestSite(t, testConfig{}), newTestSite(t, testConfig{}), newTestSite(t, testConfig{relay: true})
	sites := []*testSite{a, b, relay}
	introduce(sites)
	a.members.add(b.nowhere())
	b.members.add(a.nowhere())
	for _, s := range sites {
		s.run(t)
	}
	return a, b, relay
}

// Two sites that do not reach each other meet through a member, in all that sites do with each other.
func TestThroughARelay(t *testing.T) {
	a, b, relay := newRelayed(t)
	sites := []*testSite{a, b, relay}
	eventually(t, "all sites are reachable", func() bool { return allUp(sites) })
	eventually(t, "each says through whom", func() bool {
		return a.net.Status()[b.id].Relay == relay.id && b.net.Status()[a.id].Relay == relay.id
	})
	x, y := a.net.Ways()[b.id], b.net.Ways()[a.id]
	if way := a.net.Ways()[relay.id]; way.Relay != "" || !way.Relays || way.Transport != "quic" || way.Tries != nil || x.Transport != "quic" || x.Seen != "" || x.Relays {
		t.Errorf("a tells of the relay %+v, and of b %+v", way, x)
	}
	if tries := append(x.Tries, y.Tries...); len(tries) == 0 || tries[0].Result != engine.TryNoAddress {
		t.Errorf("neither says why it does not reach the other itself: %+v", tries)
	}
	// A document of the two alone.
	two := []engine.SiteID{a.id, b.id}
	for i := range 50 {
		id := a.exchange.create(fmt.Sprint("doc ", i), two)
		a.send(id, strings.Repeat("x", 10_000))
	}
	eventually(t, "both have the same", func() bool { return a.exchange.sum(b.id) == b.exchange.sum(a.id) })
	// Two members may be called through the relay, and two connections at most lead through it while they agree on one.
	eventually(t, "the relay counts", func() bool {
		c := relay.net.Counters().Relay
		return c.Bytes > 500_000 && c.Places == 2 && c.Connections > 0 && c.Full == 0
	})
	if c := a.net.Counters().Relay; c != (RelayCounters{}) {
		t.Errorf("who relays nothing counts %+v", c)
	}
	if got := relay.exchange.sum(a.id); got != newFakeExchange(relay.id).sum(a.id) {
		t.Error("the relay has got a document that passes through it")
	}
	// A request.
	go func() {
		_ = http.Serve(b.net.Listener(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "b hears "+r.RemoteAddr) }))
	}()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+string(b.id)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.net.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "b hears "+string(a.id) {
		t.Errorf("the answer is %q, %v", body, err)
	}

	relay.stop()
	eventually(t, "both notice that the relay has gone", func() bool { return !a.net.Status()[b.id].Reachable && !b.net.Status()[a.id].Reachable })
}

// As soon as there is a way of their own, two sites leave the relay.
func TestARelayIsLeft(t *testing.T) {
	a, b, relay := newRelayed(t)
	eventually(t, "all sites are reachable", func() bool { return allUp([]*testSite{a, b, relay}) })
	introduce([]*testSite{a, b})
	a.net.link(b.id).setAddresses(b.net.Addresses(), 3)
	a.net.link(b.id).dialDirect(t.Context())
	eventually(t, "each reaches the other itself", func() bool {
		x, y := a.net.Status()[b.id], b.net.Status()[a.id]
		return x.Reachable && x.Relay == "" && y.Reachable && y.Relay == ""
	})
}

// A relay is for members: others get no place, and nobody is called through it who is none.
func TestARelayIsForMembers(t *testing.T) {
	_, b, relay := newRelayed(t)
	eventually(t, "the relay reaches b", func() bool { return relay.net.Status()[b.id].Reachable })
	relay.members.invite("secret") // so that strangers are not turned away before
	stranger := newTestSite(t, testConfig{})
	stranger.members.add(relay.member())
	stranger.members.add(b.nowhere())
	pid, err := peerOf(relay.id)
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.net.host.Connect(t.Context(), peer.AddrInfo{ID: pid, Addrs: relay.net.host.Addrs()}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Reserve(t.Context(), stranger.net.host, peer.AddrInfo{ID: pid}); err == nil || !strings.Contains(err.Error(), "PERMISSION_DENIED") {
		t.Errorf("a stranger asks for a place: %v", err)
	}
	other, err := peerOf(b.id)
	if err != nil {
		t.Fatal(err)
	}
	way, err := parseAddresses([]string{"/p2p/" + pid.String() + "/p2p-circuit"})
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.net.host.Connect(t.Context(), peer.AddrInfo{ID: other, Addrs: way}); err == nil || !strings.Contains(err.Error(), "PERMISSION_DENIED") {
		t.Errorf("a stranger calls a member: %v", err)
	}
	if err := stranger.net.Close(); err != nil {
		t.Error(err)
	}
}

// What the configuration announces stands before what the interfaces say; a name stands for every port.
func TestAnnounced(t *testing.T) {
	s := newTestSite(t, testConfig{listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"},
		tell: []string{"/ip4/198.51.100.7/udp/14700/quic-v1", "paris.example.org"}})
	defer s.net.Close()
	var want []string
	for _, l := range s.net.listens() {
		want = append(want, strings.Replace(l.String(), "/ip4/127.0.0.1/", "/dns/paris.example.org/", 1))
	}
	got := s.net.Addresses()
	slices.Sort(want) // libp2p has no order of its own
	slices.Sort(got[min(1, len(got)):])
	want = append([]string{"/ip4/198.51.100.7/udp/14700/quic-v1"}, want...)
	if !slices.Equal(got, want) {
		t.Errorf("it announces %v, want %v", got, want)
	}
	key, _ := testKey(t)
	if _, err := New(Config{Key: key, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Announce: []string{"/ip4/nonsense"}}, nil, nil); err == nil {
		t.Error("a nonsense address is announced")
	}
}

// A site that announces its name is reached by it, also over a WebSocket.
func TestReachedByNameOverAWebSocket(t *testing.T) {
	a := newTestSite(t, testConfig{listen: []string{"/ip4/127.0.0.1/tcp/0/ws"}, tell: []string{"localhost"}})
	b := newTestSite(t, testConfig{listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	a.members.add(b.nowhere())
	b.members.add(a.member())
	a.run(t)
	b.run(t)
	eventually(t, "both are reachable", func() bool { return allUp([]*testSite{a, b}) })
	if c := b.net.link(a.id).direct(); c == nil || !strings.HasSuffix(c.RemoteMultiaddr().String(), "/ws") {
		t.Errorf("the connection is %v", c)
	}
}

// A site that came over TCP has no address that a hole could be made to: QUIC is tried first, for longer than a handshake takes where all
// are busy.
func TestQUICIsTriedFirst(t *testing.T) {
	var addrs []multiaddr.Multiaddr
	for _, a := range []string{"/ip4/10.0.0.1/tcp/4001", "/ip4/10.0.0.1/udp/4001/quic-v1", "/ip4/10.0.0.1/tcp/4002/ws"} {
		addrs = append(addrs, multiaddr.StringCast(a))
	}
	for _, d := range preferQUIC(addrs) {
		if overQUIC(d.Addr) != (d.Delay == 0) || !overQUIC(d.Addr) && d.Delay < headStart {
			t.Errorf("%s is tried after %v", d.Addr, d.Delay)
		}
	}
	for _, d := range preferQUIC(addrs[:1]) {
		if d.Delay != 0 {
			t.Errorf("alone, %s is tried after %v", d.Addr, d.Delay)
		}
	}
}
