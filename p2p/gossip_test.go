package p2p

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestPublishReachesThePlacementOnly(t *testing.T) {
	sites := newTestMesh(t, 4, testConfig{})
	placement := ids(sites[:3])
	id := sites[0].replicas.create("doc", placement)
	for i := range 200 {
		sites[0].publish(id, fmt.Sprint("change ", i))
	}
	eventually(t, "three sites have all changes", func() bool { return same(sites[:3]) })
	// Now the others know the placement, write too, and gossip takes over from hints.
	for i := range 200 {
		for _, s := range sites[:3] {
			s.publish(id, fmt.Sprint("change ", i))
		}
	}
	eventually(t, "three sites have all changes of all", func() bool { return same(sites[:3]) })
	if got, _ := sites[3].replicas.seen(); got != 0 || len(sites[3].replicas.state()) != 0 {
		t.Errorf("a site outside the placement received %d envelopes", got)
	}
}

// The topics are joined by all after the first change of each; from then on nothing has to be sent directly.
func TestGossipTakesOverFromHints(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{})
	id := sites[0].replicas.create("doc", ids(sites))
	eventually(t, "a change of each site reaches all by gossip alone", func() bool {
		var before, after uint64
		for _, s := range sites {
			before += s.net.Counters().Hinted
		}
		for _, s := range sites {
			if len(s.replicas.state()) > 0 {
				s.publish(id, "change")
			}
		}
		eventually(t, "all sites have it", func() bool { return same(sites) })
		for _, s := range sites {
			after += s.net.Counters().Hinted
		}
		return before == after && len(sites[2].replicas.state()) > 0
	})
}

func TestBurstIsNotLost(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{})
	var docs []engine.DocumentID
	for i := range 100 {
		docs = append(docs, sites[0].replicas.create(fmt.Sprint("doc ", i), ids(sites)))
	}
	for range 30 {
		for _, id := range docs {
			sites[0].publish(id, strings.Repeat("x", 200))
		}
	}
	eventually(t, "3,000 changes are everywhere", func() bool { return same(sites) })
}

func TestLargeChangeIsPulled(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{})
	id := sites[0].replicas.create("doc", ids(sites))
	placement, e := sites[0].replicas.write(id, bytes.Repeat([]byte("x"), 1000<<10))
	sites[0].net.Publish(placement, e)
	eventually(t, "a change too large for gossip is everywhere", func() bool { return same(sites) })
}

// What the fast path loses is found again by comparing; a gap is filled at once.
func TestGapIsPulledAtOnce(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{reconcile: time.Hour})
	id := sites[0].replicas.create("doc", ids(sites))
	sites[0].replicas.write(id, []byte("never published"))
	sites[0].replicas.write(id, []byte("nor this"))
	sites[0].publish(id, "published")
	eventually(t, "both have all three", func() bool { return same(sites) })
}

func TestLostGossipIsRepaired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sim.reconcile = 200 * time.Millisecond
		sites := sim.mesh(t, 3)
		id := sites[0].replicas.create("doc", ids(sites))
		for range 10 {
			sites[0].replicas.write(id, []byte("never published"))
		}
		within(t, 5*time.Second, "what was never sent is everywhere", func() bool { return same(sites) })
	})
}

// A storage that is full for a while is no reason to lose a change.
func TestFailedReceiveIsRepaired(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{reconcile: time.Hour})
	id := sites[0].replicas.create("doc", ids(sites))
	refused := make(chan struct{}, 100)
	sites[1].replicas.setFault(func(engine.SiteID, engine.Envelope) error {
		refused <- struct{}{}
		return engine.ErrStorage
	})
	sites[0].publish(id, "published")
	<-refused
	sites[1].replicas.setFault(nil)
	eventually(t, "both have it", func() bool { return same(sites) })
}
