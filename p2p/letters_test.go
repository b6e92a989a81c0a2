package p2p

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestLettersReachThoseTheyAreSentTo(t *testing.T) {
	sites := newTestMesh(t, 4, testConfig{})
	id := sites[0].exchange.create("doc", ids(sites[:3]))
	for i := range 200 {
		for _, s := range sites[:3] {
			if s.exchange.documents() > 0 {
				s.send(id, fmt.Sprint("change ", i))
			}
		}
	}
	eventually(t, "three sites have all changes of all", func() bool { return same(sites[:3]) })
	if n := sites[3].exchange.documents(); n != 0 || sites[3].exchange.letters != 0 {
		t.Errorf("a site that no letter was sent to has %d documents", n)
	}
}

// A burst is joined into far fewer frames than it has letters, and nothing of it is lost or taken in out of order.
func TestBurstIsJoined(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{})
	var docs []engine.DocumentID
	for i := range 100 {
		docs = append(docs, sites[0].exchange.create(fmt.Sprint("doc ", i), ids(sites)))
	}
	for range 30 {
		for _, id := range docs {
			sites[0].send(id, strings.Repeat("x", 200))
		}
	}
	eventually(t, "3,000 changes are everywhere", func() bool { return same(sites) })
	c := sites[0].net.Counters()
	t.Logf("%d letters to two sites in %d frames", c.Published, c.Frames)
	if c.Dropped != 0 || c.Frames > c.Published {
		t.Errorf("%d letters were dropped, %d frames written", c.Dropped, c.Frames)
	}
	for _, s := range sites[1:] {
		if s.exchange.orders > 0 {
			t.Errorf("%d changes came before the one that they follow", s.exchange.orders)
		}
	}
}

// A letter that does not wait for anything takes one way, neither a round trip nor a timer.
func TestALetterTakesOneWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const way = 50 * time.Millisecond
		sites := newSimulation(t, way).mesh(t, 3)
		id := sites[0].exchange.create("doc", ids(sites))
		for i := range 5 {
			time.Sleep(700 * time.Millisecond)
			begin := time.Now()
			arrived := make(chan time.Duration, 2)
			for _, s := range sites[1:] {
				s.exchange.with(func() { s.exchange.arrived = func() { arrived <- time.Since(begin) } })
			}
			sites[0].send(id, "x")
			for range 2 {
				if took := <-arrived; took > way+2*time.Millisecond {
					t.Errorf("letter %d took %v", i, took)
				}
			}
		}
	})
}

// Whoever gets a letter passes it on to those that its sender could not reach: the engine does, by Send.
func TestThirdSitePassesOn(t *testing.T) {
	sites := newTestMesh(t, 3, testConfig{})
	a, b, c := sites[0], sites[1], sites[2]
	a.members.remove(c.id)
	c.members.remove(a.id)
	eventually(t, "a and c are apart", func() bool { return len(a.net.Status()) == 1 && len(c.net.Status()) == 1 })
	id := a.exchange.create("doc", ids(sites))
	b.exchange.with(func() {
		b.exchange.passOn = func(l *engine.Letter, from engine.SiteID) {
			l.Sent = append(slices.Clone(l.Sent), c.id)
			b.net.Send([]engine.SiteID{c.id}, l)
		}
	})
	placement, l := a.exchange.write(id, []byte("change"))
	l.Sent = []engine.SiteID{b.id}
	a.net.Send(placement, l)
	eventually(t, "c has it through b", func() bool { return c.exchange.documents() == 1 && same(sites) })
}

// A letter as long as one may be arrives whole, a longer one in pieces by way of a comparison.
func TestLargeLetters(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a, b := sites[0], sites[1]
	id := a.exchange.create("doc", ids(sites))
	a.send(id, string(bytes.Repeat([]byte("x"), engine.MaxChange-8)))
	eventually(t, "the longest change is there", func() bool { return same(sites) })
	if n := a.net.Counters().Reconciled + b.net.Counters().Reconciled; n != 0 {
		t.Errorf("it took %d comparisons", n)
	}
	id = a.exchange.create("long", ids(sites))
	var whole *engine.Letter
	for range 8 {
		_, l := a.exchange.write(id, bytes.Repeat([]byte("x"), 1000<<10))
		if whole == nil {
			whole = l
			continue
		}
		whole.Parcels[0].Changes = append(whole.Parcels[0].Changes, l.Parcels[0].Changes...)
	}
	a.net.Send(ids(sites), whole)
	eventually(t, "8 MB of one document are there", func() bool { return same(sites) })
	if a.net.Counters().Dropped == 0 {
		t.Error("a frame was written that nobody would take")
	}
}

// A member that breaks the bounds of what one sends finds that it is not sent; nobody is told apart from it.
func TestALetterThatOthersWouldRefuseIsNotSent(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	id := sites[0].exchange.create("doc", ids(sites))
	sites[0].net.Send(ids(sites), &engine.Letter{Parcels: []engine.Parcel{{}}})
	sites[0].send(id, "x")
	eventually(t, "what follows arrives", func() bool { return same(sites) })
	if n := sites[1].net.Counters().Refused; n != 0 {
		t.Errorf("%d messages were refused", n)
	}
}

// Whom a letter cannot be sent to is compared with.
func TestDroppedLettersMakeForAComparison(t *testing.T) {
	n := &Network{self: "a", links: map[engine.SiteID]*link{}}
	l := newLink(n, "b", "")
	n.links[l.site] = l
	n.Send([]engine.SiteID{"a", "b", "nobody"}, &engine.Letter{})
	if compare, _ := l.agree.next(time.Now()); !compare || n.Counters().Dropped != 1 {
		t.Errorf("%d letters were dropped, and compared: %v", n.Counters().Dropped, compare)
	}
}

// A gap is filled at once.
func TestGapIsFilledAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 2)
		id := sites[0].exchange.create("doc", ids(sites))
		sites[0].exchange.write(id, []byte("never sent"))
		sites[0].exchange.write(id, []byte("nor this"))
		sites[0].send(id, "sent")
		within(t, 150*time.Millisecond, "both have all three", func() bool { return same(sites) })
	})
}

// A storage that is full for a while is no reason to lose a change.
func TestFailedReceiveIsRepaired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 2)
		id := sites[0].exchange.create("doc", ids(sites))
		tried := make(chan struct{}, 100)
		sites[1].exchange.setFault(func(engine.SiteID, *engine.Letter) error {
			tried <- struct{}{}
			return engine.ErrStorage
		})
		sites[0].send(id, "sent")
		<-tried
		time.Sleep(20 * time.Second)
		sites[1].exchange.setFault(nil)
		within(t, largestGap, "both have it", func() bool { return same(sites) })
		if n := sites[1].net.Counters().Refused; n != 0 {
			t.Errorf("%d messages were refused", n)
		}
	})
}

// TestRefusedAndFailed: a letter of which some is refused, and some could not be stored, counts against its sender and is not taken in.
func TestRefusedAndFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 2)
		a, b := sites[0], sites[1]
		b.exchange.setFault(func(engine.SiteID, *engine.Letter) error { return errors.Join(engine.ErrRefused, engine.ErrStorage) })
		if got := b.net.receive(t.Context(), b.net.link(a.id), &engine.Letter{}); got != failing {
			t.Errorf("outcome %d", got)
		}
		if n := b.net.Counters().Refused; n != 1 {
			t.Errorf("%d messages were refused", n)
		}
	})
}

// A site that takes nothing in delays neither the writer nor the others, and has all in the end.
func TestSlowSiteDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, 10*time.Millisecond).mesh(t, 3)
		a, slow := sites[0], sites[2]
		release := make(chan struct{})
		slow.exchange.setFault(func(engine.SiteID, *engine.Letter) error {
			<-release
			return nil
		})
		var docs []engine.DocumentID
		for i := range 50 {
			docs = append(docs, a.exchange.create(fmt.Sprint("doc ", i), ids(sites)))
		}
		begin := time.Now()
		payload := string(make([]byte, 20_000))
		for range 60 {
			for _, id := range docs {
				a.send(id, payload)
			}
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("3,000 letters took the writer %v", took)
		}
		within(t, 20*time.Second, "the other site has all", func() bool { return same(sites[:2]) })
		if slow.exchange.documents() > 0 {
			t.Error("the slow site was not slow")
		}
		if a.net.Counters().Dropped == 0 {
			t.Error("the queue for the slow site had room for all")
		}
		close(release)
		within(t, time.Minute, "the slow site has all", func() bool { return same(sites) })
	})
}

// Thirteen sites, one placement. They are split in halves, and meet again.
func TestManySites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		sites := sim.mesh(t, 13)
		id := sites[0].exchange.create("doc", ids(sites))
		sites[0].send(id, "first")
		within(t, 100*time.Millisecond, "all have the first change", func() bool { return same(sites) })
		for _, s := range sites {
			s.send(id, "of each")
		}
		within(t, 100*time.Millisecond, "all have a change of each", func() bool { return same(sites) })
		half := len(sites) / 2
		for i := range half {
			sim.cut[i].Store(true)
		}
		time.Sleep(time.Minute)
		for _, s := range sites {
			s.send(id, "during the cut")
		}
		within(t, 5*time.Second, "those not cut off have the same", func() bool { return same(sites[half:]) })
		for i := range half {
			sim.cut[i].Store(false)
		}
		begin := time.Now()
		within(t, 3*time.Second, "all have all", func() bool { return same(sites) })
		t.Logf("healed in %v", time.Since(begin))
	})
}

// Letters are taken in side by side, those of one document one after the other, and never more of one member than there may be.
func TestLettersInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sites := newSimulation(t, time.Millisecond).mesh(t, 2)
		a, b := sites[0], sites[1]
		const other = "other sites, lest letters be joined: "
		var mu sync.Mutex
		now, most, bytes, mostBytes := 0, 0, 0, 0
		documents, twice := map[string]bool{}, 0
		b.exchange.setFault(func(_ engine.SiteID, l *engine.Letter) error {
			about := string(l.Parcels[0].About)
			mu.Lock()
			now, bytes = now+1, bytes+sizeOf(l)
			most, mostBytes = max(most, now), max(mostBytes, bytes)
			if documents[about] {
				twice++
			}
			documents[about] = true
			mu.Unlock()
			time.Sleep(10*time.Millisecond + time.Duration(len(l.Parcels[0].Changes[0].Bytes))*time.Microsecond)
			mu.Lock()
			now, bytes = now-1, bytes-sizeOf(l)
			delete(documents, about)
			mu.Unlock()
			return nil
		})
		for i := range 200 {
			id := a.exchange.create(fmt.Sprint("doc ", i%50), ids(sites))
			_, l := a.exchange.write(id, make([]byte, 1000))
			l.Sent = []engine.SiteID{engine.SiteID(fmt.Sprint(other, i))}
			a.net.Send(ids(sites), l)
		}
		within(t, 5*time.Second, "all are taken in", func() bool { return same(sites) })
		if most != lettersInFlight || twice > 0 || b.exchange.orders > 0 {
			t.Errorf("up to %d letters at once, %d times of one document, %d before the one that they follow", most, twice, b.exchange.orders)
		}
		for i := range 40 {
			_, l := a.exchange.write(a.exchange.create(fmt.Sprint("large ", i), ids(sites)), make([]byte, 1000<<10))
			l.Sent = []engine.SiteID{engine.SiteID(fmt.Sprint(other, i))}
			if i%4 == 0 {
				time.Sleep(time.Second) // the queue has no room for all
			}
			a.net.Send(ids(sites), l)
		}
		within(t, 20*time.Second, "the large ones are taken in", func() bool { return same(sites) })
		if mostBytes > bytesInFlight || mostBytes < bytesInFlight/2 {
			t.Errorf("up to %d bytes at once", mostBytes)
		}
	})
}
