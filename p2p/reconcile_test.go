package p2p

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// Both sides wrote 1,000 documents while they were cut off from each other: new ones, and the same ones.
func TestThousandDocumentsDiffer(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a, b := sites[0], sites[1]
	a.net.SetIsolated(true)
	eventually(t, "the cut is noticed", func() bool { return !b.net.Status()[a.id].Reachable })
	for i := range 1000 {
		for j, s := range sites {
			id := s.replicas.create(fmt.Sprint("of both ", i), ids(sites))
			s.replicas.write(id, []byte("x"))
			id = s.replicas.create(fmt.Sprint("of one ", i, j), ids(sites))
			s.replicas.write(id, []byte("x"))
		}
	}
	a.net.SetIsolated(false)
	begin := time.Now()
	eventually(t, "both have all", func() bool { return same(sites) })
	t.Logf("after %v", time.Since(begin))
	if got := len(a.replicas.state()); got != 3000 {
		t.Errorf("%d documents, not 3,000", got)
	}
}

// What it costs to find out that ten documents differ does not follow the number of those that do not.
func TestCostFollowsTheDifference(t *testing.T) {
	a, b := newTestSite(t, testConfig{reconcile: time.Hour}), newTestSite(t, testConfig{reconcile: time.Hour})
	sites := []*testSite{a, b}
	var all []engine.DocumentID
	for i := range 20_000 {
		for _, s := range sites {
			id := s.replicas.create(fmt.Sprint(i), ids(sites))
			if s == a {
				all = append(all, id)
			}
		}
	}
	for i := range 5 {
		a.replicas.write(all[i], []byte("x"))
		b.replicas.write(all[len(all)-1-i], []byte("x"))
	}
	for _, s := range sites {
		a.members.add(s.member())
		b.members.add(s.member())
		s.run(t)
	}
	eventually(t, "both have all", func() bool { return same(sites) })
	costs := a.net.Counters().Comparisons
	if of := b.net.Counters().Comparisons; of.Number > costs.Number {
		costs = of
	}
	t.Logf("%+v", costs)
	// A comparison of all 20,000 would be 1.3 MB.
	if costs.Number == 0 || costs.Bytes > costs.Number*50_000 || costs.RoundTrips > costs.Number*8 {
		t.Errorf("%d comparisons took %d round trips and %d bytes", costs.Number, costs.RoundTrips, costs.Bytes)
	}
}

// A site is told that it was compared with another one once it has all that the other had, whichever began the comparison.
func TestComparedMeansTakenIn(t *testing.T) {
	a, b := newTestSite(t, testConfig{}), newTestSite(t, testConfig{})
	sites := []*testSite{a, b}
	for i := range 100 {
		a.replicas.write(a.replicas.create(fmt.Sprint("of a ", i), ids(sites)), []byte("x"))
		b.replicas.write(b.replicas.create(fmt.Sprint("of b ", i), ids(sites)), []byte("x"))
	}
	for _, s := range sites {
		a.members.add(s.member())
		b.members.add(s.member())
		s.run(t)
	}
	for _, s := range sites {
		eventually(t, "it is told", func() bool { return len(s.comparisons()) > 0 })
		if had := s.comparisons()[0]; had != 200 {
			t.Errorf("it is told when it has %d documents of 200", had)
		}
	}
}

// A document of many large changes travels in pieces.
func TestLongDocumentTravelsInPieces(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{reconcile: 200 * time.Millisecond})
	id := sites[0].replicas.create("doc", ids(sites))
	for range 40 {
		sites[0].replicas.write(id, bytes.Repeat([]byte("x"), 200<<10))
	}
	eventually(t, "both have 8 MB", func() bool { return same(sites) })
	if _, most := sites[0].replicas.seen(); most > pieceBytes {
		t.Errorf("a piece of %d bytes", most)
	}
}

// Sites of one placement pass on each other's changes.
func TestThirdSitePassesOn(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{reconcile: 200 * time.Millisecond})
	a, b, c := sites[0], sites[1], sites[2]
	a.members.remove(c.id)
	c.members.remove(a.id)
	eventually(t, "a and c are apart", func() bool {
		return !b.net.Isolated() && len(a.net.Status()) == 1 && len(c.net.Status()) == 1
	})
	id := a.replicas.create("doc", ids(sites))
	a.publish(id, "change")
	eventually(t, "c has it through b", func() bool { return same(sites) })
}

func TestOnlySharedDocumentsTravel(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{reconcile: 100 * time.Millisecond})
	for i := range 300 {
		s := sites[i%2]
		s.replicas.write(s.replicas.create(fmt.Sprint(i), ids(sites[:2])), []byte("x"))
	}
	before := sites[2].net.Counters().Reconciled
	eventually(t, "two have all", func() bool { return same(sites[:2]) && len(sites[0].replicas.state()) == 300 })
	eventually(t, "the third was compared with", func() bool { return sites[2].net.Counters().Reconciled > before+4 })
	if got := len(sites[2].replicas.state()); got != 0 {
		t.Errorf("the third has %d documents that are not its own", got)
	}
	// It may ask for them by name and gets nothing.
	l := sites[2].net.link(sites[0].id)
	var all []engine.DocumentID
	for id := range sites[0].replicas.state() {
		all = append(all, id)
	}
	if err := l.fetch(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if got := len(sites[2].replicas.state()); got != 0 {
		t.Errorf("the third was given %d documents that are not its own", got)
	}
}
