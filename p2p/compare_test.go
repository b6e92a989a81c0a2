package p2p

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// Both sides wrote 1,000 documents while they were cut off from each other: new ones, and the same ones.
func TestThousandDocumentsDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 2)
		a, b := sites[0], sites[1]
		sim.cut[0].Store(true)
		time.Sleep(time.Minute)
		for i := range 1000 {
			for j, s := range sites {
				id := s.exchange.create(fmt.Sprint("of both ", i), ids(sites))
				s.exchange.write(id, []byte("x"))
				id = s.exchange.create(fmt.Sprint("of one ", i, j), ids(sites))
				s.exchange.write(id, []byte("x"))
			}
		}
		before := []int{a.exchange.letters, b.exchange.letters}
		sim.cut[0].Store(false)
		begin := time.Now()
		within(t, 2*time.Second, "both have all", func() bool { return same(sites) })
		t.Logf("after %v", time.Since(begin))
		if got := a.exchange.documents(); got != 3000 {
			t.Errorf("%d documents, not 3,000", got)
		}
		for i, s := range sites {
			if n := s.exchange.letters - before[i]; n > 2000/wantDocuments+3 || s.exchange.parcels > 2100 {
				t.Errorf("2,000 documents took %d letters with %d parcels", n, s.exchange.parcels)
			}
		}
		if n := a.exchange.listed + b.exchange.listed; n > 2*engine.Ranges {
			t.Errorf("%d times digests were listed, though nearly all ranges differ", n)
		}
		time.Sleep(time.Minute)
		if n := a.net.Counters().Comparisons.Number + b.net.Counters().Comparisons.Number; n != 1 {
			t.Errorf("it took %d comparisons", n)
		}
	})
}

// Of two others that both have what a site lacks, each gives a part, or the second what the first did not.
func TestNothingComesTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 4)
		sim.cut[3].Store(true)
		time.Sleep(time.Minute)
		for i := range 1000 {
			for _, s := range sites[:3] {
				id := s.exchange.create(fmt.Sprint("doc ", i), ids(sites))
				if s == sites[0] {
					s.send(id, "x")
				}
			}
		}
		within(t, 2*time.Second, "three have all", func() bool { return same(sites[:3]) })
		sites[3].exchange.setFault(func(engine.SiteID, *engine.Letter) error {
			time.Sleep(50 * time.Millisecond)
			return nil
		})
		sim.cut[3].Store(false)
		within(t, 3*time.Second, "the fourth has all", func() bool { return same(sites) })
		if n := sites[3].exchange.parcels; n > 1100 {
			t.Errorf("1,000 documents came in %d parcels", n)
		}
	})
}

// What it costs to find out that ten documents differ does not follow the number of those that do not.
func TestCostFollowsTheDifference(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 2)
		a, b := sites[0], sites[1]
		var all []engine.DocumentID
		for i := range 20_000 {
			for _, s := range sites {
				if id := s.exchange.create(fmt.Sprint(i), ids(sites)); s == a {
					all = append(all, id)
				}
			}
		}
		for i := range 5 {
			a.exchange.write(all[i], []byte("x"))
			b.exchange.write(all[len(all)-1-i], []byte("x"))
		}
		within(t, 5*time.Second, "both have all", func() bool { return same(sites) })
		time.Sleep(time.Minute)
		x, y := a.net.Counters().Comparisons, b.net.Counters().Comparisons
		t.Logf("%+v %+v", x, y)
		// A comparison of all 20,000 would be 1.3 MB. Ten ranges of the smallest have some 200.
		if x.Number+y.Number != 1 || x.Bytes+y.Bytes > 40_000 || x.RoundTrips+y.RoundTrips > 4 {
			t.Errorf("%d comparisons took %d round trips and %d bytes", x.Number+y.Number, x.RoundTrips+y.RoundTrips, x.Bytes+y.Bytes)
		}
	})
}

// Sites that have the same spend nothing but pings.
func TestEqualSitesDoNotCompare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 3)
		id := sites[0].exchange.create("doc", ids(sites))
		for range 100 {
			sites[0].send(id, "x")
			time.Sleep(37 * time.Millisecond)
		}
		within(t, 3*time.Second, "all have all", func() bool { return same(sites) })
		count := func() (n uint64) {
			for _, s := range sites {
				n += s.net.Counters().Reconciled + s.net.Counters().Published
			}
			return n
		}
		time.Sleep(10 * time.Second)
		before := count()
		time.Sleep(10 * time.Minute)
		if n := count() - before; n != 0 {
			t.Errorf("%d comparisons and letters", n)
		}
	})
}

// Sites that write all the time differ at every ping, since something is always under way. They do not compare each time.
func TestBusySitesCompareRarely(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 100*time.Millisecond).mesh(t, 2)
		id := sites[0].exchange.create("doc", ids(sites))
		for range 120 * 20 {
			sites[0].send(id, "x")
			time.Sleep(50 * time.Millisecond)
		}
		n := sites[0].net.Counters().Comparisons.Number + sites[1].net.Counters().Comparisons.Number
		t.Logf("%d comparisons in two minutes", n)
		if n > 10 {
			t.Errorf("%d comparisons in two minutes", n)
		}
		within(t, 3*time.Second, "both have all", func() bool { return same(sites) })
	})
}

// What was never sent is found by the pings alone.
func TestLostLettersAreRepaired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 3)
		id := sites[0].exchange.create("doc", ids(sites))
		for range 10 {
			sites[0].exchange.write(id, []byte("never sent"))
		}
		sites[1].exchange.record("a record of the mesh")
		within(t, 3*time.Second, "what was never sent is everywhere", func() bool { return same(sites) })
	})
}

// One comparison gives both sides the records of the mesh that the other one has.
func TestRecordsGoBothWays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 2)
		for _, s := range sites {
			s.exchange.record("of " + string(s.id))
		}
		within(t, 3*time.Second, "both have both", func() bool { return same(sites) && len(sites[0].exchange.MeshRecords()) == 2 })
		time.Sleep(time.Minute)
		if n := sites[0].net.Counters().Comparisons.Number + sites[1].net.Counters().Comparisons.Number; n != 1 {
			t.Errorf("%d comparisons", n)
		}
	})
}

// Records of the mesh travel with letters, and with comparisons when those are lost.
func TestRecordsOfTheMesh(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 3)
		r := sites[0].exchange.record("first")
		sites[0].net.Send(ids(sites), &engine.Letter{Records: []engine.SignedRecord{r}})
		within(t, 50*time.Millisecond, "all have it", func() bool { return same(sites) })
		for i := range 3000 { // more than one frame of them
			sites[1].exchange.record(fmt.Sprint(i, string(make([]byte, 1000))))
		}
		within(t, 5*time.Second, "all have all", func() bool { return same(sites) })
		if n := sites[2].net.Counters().Pulled; n != 0 {
			t.Errorf("%d documents were pulled", n)
		}
	})
}

// A document of many large changes travels in pieces.
func TestLongDocumentTravelsInPieces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, time.Millisecond).mesh(t, 2)
		id := sites[0].exchange.create("long", ids(sites))
		for range 40 {
			sites[0].exchange.write(id, bytes.Repeat([]byte("x"), 200<<10))
		}
		for i := range 500 {
			sites[0].exchange.write(sites[0].exchange.create(fmt.Sprint(i), ids(sites)), []byte("x"))
		}
		within(t, 10*time.Second, "both have 8 MB", func() bool { return same(sites) })
		if sites[0].exchange.most > frameBytes {
			t.Errorf("a piece of %d bytes", sites[0].exchange.most)
		}
		if n := sites[1].exchange.bytes; n > 41*200<<10 {
			t.Errorf("8 MB took %d bytes", n)
		}
		time.Sleep(time.Minute)
		if n := sites[0].net.Counters().Reconciled; n != 1 {
			t.Errorf("it took %d comparisons", n)
		}
	})
}

// stuck covers nothing.
type stuck struct{ *fakeExchange }

func (stuck) Missing(context.Context, engine.SiteID, []engine.Have, int) (*engine.Letter, int, error) {
	return &engine.Letter{}, 0, nil
}

// A comparison ends also where a site cannot give what it has, and is not tried over and over.
func TestComparisonThatBringsNothingEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := []*testSite{newTestSite(t, sim.host()), newTestSite(t, sim.host())}
		introduce(sites)
		a, b := sites[0], sites[1]
		a.net.Attach(a.members, stuck{a.exchange})
		a.exchange.write(a.exchange.create("doc", ids(sites)), []byte("x"))
		a.run(t)
		b.run(t)
		time.Sleep(2 * time.Minute)
		n := a.net.Counters().Reconciled
		t.Logf("%d comparisons in two minutes", n)
		if n < 2 || n > 12 {
			t.Errorf("%d comparisons in two minutes", n)
		}
	})
}

// A member that promises more of a document and never gives it does not keep the comparison going for ever.
func TestEmptyPromisesEnd(t *testing.T) {
	p := newPulls(newClaims())
	h := engine.Have{Document: testDocumentID([]byte("d"))}
	d := idOf(h.Document)
	p.add([]id{d}, true)
	for range 3 {
		list, _, done := p.next(time.Now())
		if done {
			if !p.isLeft() {
				t.Error("nothing is left for another comparison")
			}
			return
		}
		if len(list) == 0 || !p.progress(d, h) {
			continue
		}
		p.begin([]engine.Have{h}, nil)
		w, err := p.answered([]id{d})
		if err != nil {
			t.Fatal(err)
		}
		p.taken(w, []id{d})
	}
	t.Error("it is asked for again and again")
}

func TestOnlySharedDocumentsTravel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 3)
		for i := range 300 {
			s := sites[i%2]
			s.exchange.write(s.exchange.create(fmt.Sprint(i), ids(sites[:2])), []byte("x"))
		}
		for _, s := range sites {
			s.exchange.record("of " + string(s.id)) // they all compare
		}
		within(t, 10*time.Second, "two have all", func() bool { return same(sites[:2]) && sites[0].exchange.documents() == 300 })
		if sites[2].net.Counters().Reconciled == 0 {
			t.Error("the third was not compared with")
		}
		// It may ask for them by name and gets nothing.
		var have []engine.Have
		for id := range sites[0].exchange.docs {
			if len(have) < wantDocuments {
				have = append(have, engine.Have{Document: id})
			}
		}
		talk := newTalk(t, sites[2].net.host, sites[0])
		talk.say(opening(t))
		talk.hear(stepDeeper)
		talk.tell(&message{Step: stepWant, Want: have})
		talk.hear(stepAnswered)
	})
}

// Two comparisons that are begun at the same moment are one.
func TestComparisonsThatCross(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 2)
		a, b := sites[0], sites[1]
		for i := range 100 {
			for j, s := range sites {
				s.exchange.write(s.exchange.create(fmt.Sprint(i, j), ids(sites)), []byte("x"))
			}
		}
		a.net.link(b.id).agree.lost()
		b.net.link(a.id).agree.lost()
		within(t, 200*time.Millisecond, "both have all", func() bool { return same(sites) })
		time.Sleep(time.Minute)
		x, y := a.net.Counters(), b.net.Counters()
		if n := x.Comparisons.Number + y.Comparisons.Number; n != 1 {
			t.Errorf("%d comparisons", n)
		}
		if x.Pulled != 100 || y.Pulled != 100 {
			t.Errorf("%d and %d documents were pulled", x.Pulled, y.Pulled)
		}
	})
}

// What was lost while a comparison was under way is found by the next one.
func TestWritesDuringAComparison(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 25*time.Millisecond)
		sites := sim.mesh(t, 3)
		for round := range 5 {
			sim.cut[2].Store(true)
			time.Sleep(20 * time.Second)
			for i := range 500 {
				for j, s := range sites {
					s.send(s.exchange.create(fmt.Sprint(round, i, j), ids(sites)), "x")
				}
			}
			sim.cut[2].Store(false)
			for i := range 200 { // also while they meet again
				for _, s := range sites {
					s.send(s.exchange.create(fmt.Sprint("meanwhile", round, i), ids(sites)), "x")
				}
				time.Sleep(5 * time.Millisecond)
			}
			within(t, 5*time.Second, "all have all", func() bool { return same(sites) })
		}
	})
}
