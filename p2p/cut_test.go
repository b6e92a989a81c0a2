package p2p

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/marcopolo/simnet"
	"github.com/quic-go/quic-go"
	"go.uber.org/fx"

	"github.com/skerry/skerry/engine"
)

// simulation is a network in virtual time. Packets of hosts that are cut off are dropped without a word.
type simulation struct {
	net *simnet.Simnet
	cut [13]atomic.Bool // by host
	n   int
	// reconcile is what hosts are configured with.
	reconcile time.Duration
}

func newSimulation(t *testing.T, latency time.Duration) *simulation {
	s := &simulation{net: &simnet.Simnet{LatencyFunc: simnet.StaticLatency(latency), Logger: testLog(t)}}
	s.net.Start()
	t.Cleanup(s.net.Close) // after the sites have stopped
	return s
}

// droppingConn drops what a host sends and receives while it is cut off.
type droppingConn struct {
	net.PacketConn
	cut *atomic.Bool
}

func (c droppingConn) WriteTo(b []byte, to net.Addr) (int, error) {
	if c.cut.Load() {
		return len(b), nil
	}
	return c.PacketConn.WriteTo(b, to)
}

func (c droppingConn) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(b)
		if err != nil || !c.cut.Load() {
			return n, from, err
		}
	}
}

// mesh makes sites that know each other, and waits until each reaches all.
func (s *simulation) mesh(t *testing.T, count int) []*testSite {
	t.Helper()
	var sites []*testSite
	for range count {
		sites = append(sites, newTestSite(t, s.host()))
	}
	for _, x := range sites {
		for _, y := range sites {
			x.members.add(y.member())
		}
		x.run(t)
	}
	within(t, 10*time.Second, "all are reachable", func() bool { return allUp(sites) })
	return sites
}

type fixedIP net.IP

func (ip fixedIP) PreferredSourceIPForDestination(*net.UDPAddr) (net.IP, error) {
	return net.IP(ip), nil
}

// host returns what makes a site the next host of the simulation.
func (s *simulation) host() testConfig {
	i := s.n
	s.n++
	ip := net.IPv4(10, 0, 0, byte(i+1)).To4()
	link := simnet.LinkSettings{BitsPerSecond: 100_000_000}
	option := libp2p.QUICReuse(
		func(l fx.Lifecycle, reset quic.StatelessResetKey, token quic.TokenGeneratorKey, opts ...quicreuse.Option) (*quicreuse.ConnManager, error) {
			m, err := quicreuse.NewConnManager(reset, token, opts...)
			if err == nil {
				l.Append(fx.StopHook(m.Close))
			}
			return m, err
		},
		quicreuse.OverrideSourceIPSelector(func() (quicreuse.SourceIPSelector, error) { return fixedIP(ip), nil }),
		quicreuse.OverrideListenUDP(func(_ string, a *net.UDPAddr) (net.PacketConn, error) {
			return droppingConn{s.net.NewEndpoint(a, simnet.NodeBiDiLinkSettings{Downlink: link, Uplink: link}), &s.cut[i]}, nil
		}))
	return testConfig{listen: []string{fmt.Sprintf("/ip4/%s/udp/8000/quic-v1", ip)}, reconcile: s.reconcile, options: []libp2p.Option{option}}
}

// Packets are dropped for a minute while both sides write; everything is back soon after they pass again.
func TestCutAndHeal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 3)
		a, b, c := sites[0], sites[1], sites[2]
		docs := make([]engine.DocumentID, 100)
		for i := range docs {
			docs[i] = a.replicas.create(fmt.Sprint("doc ", i), ids(sites))
			a.publish(docs[i], "x")
		}
		eventually(t, "all have all", func() bool { return same(sites) })

		sim.cut[2].Store(true)
		within(t, 4*time.Second, "both sides notice the cut", func() bool {
			return !a.net.Status()[c.id].Reachable && !b.net.Status()[c.id].Reachable && !c.net.Status()[a.id].Reachable
		})
		begin := time.Now()
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+string(c.id)+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.net.Transport().RoundTrip(r); !errors.Is(err, engine.ErrUnreachable) {
			t.Errorf("a request through the cut: %v", err)
		}
		if took := time.Since(begin); took > 1500*time.Millisecond {
			t.Errorf("a request through the cut took %v to fail", took)
		}
		for _, id := range docs {
			for _, s := range sites {
				s.publish(id, "during the cut")
			}
		}
		eventually(t, "those that are together have the same", func() bool { return same(sites[:2]) })
		time.Sleep(time.Minute)
		if same(sites) {
			t.Fatal("the cut let something through")
		}
		sim.cut[2].Store(false)
		begin = time.Now()
		within(t, 3*time.Second, "all have all after the cut", func() bool { return same(sites) })
		t.Logf("healed in %v", time.Since(begin))
		within(t, 3*time.Second, "all are reachable after the cut", func() bool { return allUp(sites) })
	})
}

// A cut so short that no connection dies loses nothing either.
func TestShortCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 25*time.Millisecond)
		sites := sim.mesh(t, 2)
		if rtt := sites[0].net.Status()[sites[1].id].RTT; rtt < 50*time.Millisecond || rtt > 60*time.Millisecond {
			t.Errorf("a round trip of 50 ms is told as %v", rtt)
		}
		id := sites[0].replicas.create("doc", ids(sites))
		sim.cut[0].Store(true)
		sites[0].publish(id, "during the cut")
		time.Sleep(time.Second)
		sim.cut[0].Store(false)
		within(t, 3*time.Second, "both have it", func() bool { return same(sites) })
	})
}

func TestIsolation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 3)
		a, b := sites[0], sites[1]
		a.net.SetIsolated(true)
		if !a.net.Isolated() {
			t.Error("it does not say so")
		}
		eventually(t, "both sides notice", func() bool {
			return !a.net.Status()[b.id].Reachable && !b.net.Status()[a.id].Reachable
		})
		id := a.replicas.create("doc", ids(sites))
		a.publish(id, "alone")
		b.replicas.create("doc", ids(sites))
		b.publish(id, "together")
		eventually(t, "the others go on", func() bool { return same(sites[1:]) })
		if len(a.net.host.Network().Peers()) > 0 {
			t.Error("an isolated site is connected")
		}
		a.net.SetIsolated(false)
		within(t, 3*time.Second, "all have all", func() bool { return same(sites) && allUp(sites) })
		b.mu.Lock()
		defer b.mu.Unlock()
		want := []string{fmt.Sprint(a.id, true), fmt.Sprint(a.id, false), fmt.Sprint(a.id, true)}
		var got []string
		for _, e := range b.events {
			if e[:len(a.id)] == string(a.id) {
				got = append(got, e)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("events %v, not %v", got, want)
		}
	})
}

// A site that starts again under the same key and address is back at once.
func TestRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 2)
		a, b := sites[0], sites[1]
		b.stop()
		id := a.replicas.create("doc", ids(sites))
		a.publish(id, "while the other is down")
		sim.n = 1
		again := sim.host()
		n, err := New(Config{Key: b.key, Listen: again.listen, Options: again.options, Log: testLog(t)}, b.members, b.replicas)
		if err != nil {
			t.Fatal(err)
		}
		b.net = n
		b.run(t)
		within(t, 4*time.Second, "both have it", func() bool { return same(sites) && allUp(sites) })
	})
}

// A site that refuses this one closes each connection at once. It is not dialled over and over for that.
func TestRefusingSiteIsNotHammered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		a, b := newTestSite(t, sim.host()), newTestSite(t, sim.host())
		a.members.add(b.member()) // and b knows nothing of a
		var dials atomic.Int64
		a.net.host.Network().Notify(&network.NotifyBundle{ConnectedF: func(network.Network, network.Conn) { dials.Add(1) }})
		a.run(t)
		b.run(t)
		time.Sleep(20 * time.Second)
		if n := dials.Load(); n < 5 || n > 60 {
			t.Errorf("%d connections in 20 s", n)
		}
		b.members.add(a.member())
		within(t, 3*time.Second, "both are reachable once they know each other", func() bool { return allUp([]*testSite{a, b}) })
	})
}

// A request that comes right after a connection was lost waits for the next one, from either side.
func TestRequestAfterLostConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := []*testSite{newTestSite(t, sim.host()), newTestSite(t, sim.host())}
		for _, s := range sites {
			for _, o := range sites {
				s.members.add(o.member())
			}
			s.run(t)
			s.serve(t, http.NotFoundHandler())
		}
		for i := range 10 {
			eventually(t, "all are reachable", func() bool { return allUp(sites) })
			time.Sleep(5 * time.Second)
			from, to := sites[i%2], sites[1-i%2]
			for _, c := range from.net.host.Network().Conns() {
				_ = c.Close()
			}
			r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+string(to.id)+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := from.net.Transport().RoundTrip(r)
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
			_ = answer.Body.Close()
		}
	})
}
