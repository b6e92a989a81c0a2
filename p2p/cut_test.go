package p2p

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// Packets are dropped for a minute while both sides write; everything is back soon after they pass again.
func TestCutAndHeal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 3)
		a, b, c := sites[0], sites[1], sites[2]
		docs := make([]engine.DocumentID, 100)
		for i := range docs {
			docs[i] = a.exchange.create(fmt.Sprint("doc ", i), ids(sites))
			a.send(docs[i], "x")
		}
		eventually(t, "all have all", func() bool { return same(sites) })

		sim.cut[2].Store(true)
		within(t, 4*time.Second, "both sides notice the cut", func() bool {
			return !a.net.Status()[c.id].Reachable && !b.net.Status()[c.id].Reachable && !c.net.Status()[a.id].Reachable
		})
		if since, silent := a.net.Status()[c.id].Silent(); !silent || time.Since(since) > 5*time.Second {
			t.Errorf("c is silent: %t, since %v", silent, since)
		}
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
				s.send(id, "during the cut")
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
		within(t, 3*time.Second, "what a has is known to c", func() bool { _, silent := c.net.Status()[a.id].Silent(); return !silent })
		t.Logf("healed in %v", time.Since(begin))
		within(t, 3*time.Second, "all are reachable after the cut", func() bool { return allUp(sites) })
	})
}

// Whenever the network is back, the sites notice it within about a second.
func TestReconnectsSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 3)
		var longest time.Duration
		for i := range 40 {
			sim.cut[i%3].Store(true)
			time.Sleep(20*time.Second + time.Duration(i)*83*time.Millisecond)
			if allUp(sites) {
				t.Fatal("nobody noticed the cut")
			}
			sim.cut[i%3].Store(false)
			begin := time.Now()
			within(t, 5*time.Second, "all are reachable", func() bool { return allUp(sites) })
			longest = max(longest, time.Since(begin))
		}
		t.Logf("at most %v", longest)
		if longest > 1300*time.Millisecond {
			t.Errorf("it took %v", longest)
		}
	})
}

// The first letter over a new connection arrives as well.
func TestFirstLetterAfterACut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 2)
		a, b := sites[0], sites[1]
		id := a.exchange.create("doc", ids(sites))
		for range 3 {
			a.send(id, "x")
			within(t, 20*time.Millisecond, "it is there", func() bool { return same(sites) })
			sim.cut[0].Store(true)
			time.Sleep(10 * time.Second)
			sim.cut[0].Store(false)
			within(t, 2*time.Second, "both are reachable", func() bool { return allUp(sites) })
		}
		if n := a.net.Counters().Reconciled + b.net.Counters().Reconciled; n > 0 {
			t.Errorf("%d comparisons, though nothing was lost", n)
		}
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
		id := sites[0].exchange.create("doc", ids(sites))
		sim.cut[0].Store(true)
		sites[0].send(id, "during the cut")
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
		id := a.exchange.create("doc", ids(sites))
		a.send(id, "alone")
		b.exchange.create("doc", ids(sites))
		b.send(id, "together")
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
		id := a.exchange.create("doc", ids(sites))
		a.send(id, "while the other is down")
		sim.n = 1
		again := sim.host()
		n, err := New(Config{Key: b.key, Listen: again.listen, Options: again.options, Log: testLog(t)}, b.members, b.exchange)
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

// Two agents that run with one key, because a data directory was copied, are one member. Streams to it go to one of them; both
// are heard, and hear of each other's writing.
func TestBothRunsOfAClonedSiteAreHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		a := newTestSite(t, sim.host())
		key, _ := testKey(t)
		var clones []*testSite
		for range 2 {
			c := sim.host()
			c.key = key
			clones = append(clones, newTestSite(t, c))
		}
		a.members.add(clones[0].member())
		a.run(t)
		for _, s := range clones {
			s.members.add(a.member())
			s.run(t)
		}
		for round := range 5 {
			time.Sleep(20 * time.Second)
			for i, s := range append(clones, a) {
				s.send(s.exchange.create(fmt.Sprint("of run ", i, round), []engine.SiteID{a.id, s.id}), "x")
				s.exchange.record(fmt.Sprint("of run ", i, round))
			}
			documents := 3 * (round + 1)
			within(t, 10*time.Second, "all three have all", func() bool {
				mesh := a.exchange.MeshFingerprint()
				return a.exchange.documents() == documents && clones[0].exchange.MeshFingerprint() == mesh && clones[1].exchange.MeshFingerprint() == mesh
			})
		}
	})
}
