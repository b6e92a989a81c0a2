package p2p

import (
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"

	"github.com/skerry/skerry/engine"
)

// A member that guesses the topic of a placement it is not in hears nothing there, and is not heard.
func TestTopicAdmitsItsPlacementOnly(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{})
	a := sites[0]
	key, badID := testKey(t)
	for _, s := range sites {
		s.members.add(engine.Member{ID: badID})
	}
	eventually(t, "the member is known", func() bool {
		return a.net.link(badID) != nil && sites[1].net.link(badID) != nil && sites[2].net.link(badID) != nil
	})
	bad := newStranger(t, libp2p.Identity(key))
	gossip, err := pubsub.NewGossipSub(t.Context(), bad)
	if err != nil {
		t.Fatal(err)
	}
	top, err := gossip.Join(topicName(ids(sites)))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := top.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan engine.SiteID, 1000)
	go func() {
		for {
			m, err := sub.Next(t.Context())
			if err != nil {
				return
			}
			if m.ReceivedFrom != bad.ID() {
				heard <- siteOf(m.ReceivedFrom)
			}
		}
	}()
	// It says that it is in the topic before anyone else is.
	for _, s := range sites {
		if err := bad.Connect(t.Context(), infoOf(t, s)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "its subscription is noticed", func() bool {
		a.net.topics.mu.Lock()
		defer a.net.topics.mu.Unlock()
		return len(a.net.topics.announced[bad.ID()]) == 1
	})
	id := a.replicas.create("doc", ids(sites))
	eventually(t, "gossip carries what the placement writes", func() bool {
		for _, s := range sites {
			if len(s.replicas.state()) > 0 {
				s.publish(id, "secret")
			}
		}
		eventually(t, "the placement has it", func() bool { return same(sites) })
		a.net.topics.mu.Lock()
		defer a.net.topics.mu.Unlock()
		top := a.net.topics.joined[topicName(ids(sites))]
		return top != nil && len(top.mesh) == 2
	})
	_, e := a.replicas.write(id, []byte("forged"))
	b, err := encodeCBOR(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := top.Publish(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	// Two of gossipsub's heartbeats, so that what it would tell later is told.
	for range 30 {
		a.publish(id, "secret")
		select {
		case from := <-heard:
			t.Fatalf("%s told it what it may not hear", from)
		case <-time.After(70 * time.Millisecond):
		}
	}
	eventually(t, "the placement has all", func() bool { return same(sites) })
	for _, s := range sites {
		s.replicas.mu.Lock()
		for _, from := range s.replicas.senders {
			if from == badID {
				t.Error("what it published was taken in")
			}
		}
		s.replicas.mu.Unlock()
	}
}

// A site that takes nothing in delays neither the writer nor the others, and has all in the end.
func TestSlowSiteDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 3)
		a, slow := sites[0], sites[2]
		release := make(chan struct{})
		slow.replicas.setFault(func(engine.SiteID, engine.Envelope) error {
			<-release
			return nil
		})
		var docs []engine.DocumentID
		for i := range 50 {
			docs = append(docs, a.replicas.create(fmt.Sprint("doc ", i), ids(sites)))
		}
		begin := time.Now()
		payload := string(make([]byte, 1000))
		for range 60 {
			for _, id := range docs {
				a.publish(id, payload)
			}
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("3,000 changes took the writer %v", took)
		}
		eventually(t, "the other site has all", func() bool { return same(sites[:2]) })
		if len(slow.replicas.state()) > 0 {
			t.Error("the slow site was not slow")
		}
		close(release)
		eventually(t, "the slow site has all", func() bool { return same(sites) })
	})
}

// Thirteen sites, one placement: larger than a gossip mesh. They are split in halves, and meet again.
func TestManySites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, len(sim.cut))
		id := sites[0].replicas.create("doc", ids(sites))
		sites[0].publish(id, "first")
		within(t, 2*time.Second, "all have the first change", func() bool { return same(sites) })
		for _, s := range sites {
			s.publish(id, "of each")
		}
		within(t, 2*time.Second, "all have a change of each", func() bool { return same(sites) })
		half := len(sites) / 2
		for i := range half {
			sim.cut[i].Store(true)
		}
		time.Sleep(5 * time.Second)
		for _, s := range sites {
			s.publish(id, "during the cut")
		}
		within(t, 5*time.Second, "those not cut off have the same", func() bool { return same(sites[half:]) })
		for i := range half {
			sim.cut[i].Store(false)
		}
		begin := time.Now()
		within(t, 10*time.Second, "all have all", func() bool { return same(sites) })
		t.Logf("healed in %v", time.Since(begin))
	})
}

// A placement that nothing has any more costs nothing: its topic is left, and joined again when it is needed.
func TestUnusedTopicsAreLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, time.Millisecond)
		sites := sim.mesh(t, 3)
		joined := func() int {
			n := 0
			for _, s := range sites {
				s.net.topics.mu.Lock()
				n += len(s.net.topics.joined)
				s.net.topics.mu.Unlock()
			}
			return n
		}
		id := sites[0].replicas.create("doc", ids(sites))
		for round := range 2 {
			for _, s := range sites {
				s.publish(id, fmt.Sprint("of each, round ", round))
				within(t, 5*time.Second, "all have it", func() bool { return same(sites) })
			}
			if joined() != len(sites) {
				t.Errorf("%d sites are in the topic of their placement", joined())
			}
			within(t, 2*topicIdle, "it is left", func() bool { return joined() == 0 })
		}
	})
}
