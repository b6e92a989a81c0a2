package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/site"
)

func partyOf(tb testing.TB, n int, limits site.Limits) *party {
	tb.Helper()
	p, err := newParty(tb.Context(), tb.TempDir(), n, limits)
	tb.Cleanup(func() {
		if err := p.close(); err != nil {
			tb.Error(err)
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestACreateComesToAllSites(t *testing.T) {
	p := partyOf(t, 3, site.Limits{})
	s, err := p.creates(t.Context(), 1, func(int) []engine.SiteID { return p.ids() })
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range p.guests {
		if got, want := g.shelf.shows("thing-0"), thingBody(0, "red"); got != want {
			t.Errorf("site %d shows %s, not %s", i+1, got, want)
		}
	}
	// Its own are two at each site: that it goes out, with what has come, and that it is settled. What the two other sites say of it takes one
	// each where nothing else waits.
	if most := int64(3 * (2 + 2)); s.commits > most {
		t.Errorf("one create took %d commits at three sites, more than %d", s.commits, most)
	}
}

// What sites say of themselves is written when all have said it, however many they are, and signed together.
func TestACreateWritesAsManyRowsWhateverTheNumberOfSites(t *testing.T) {
	const sites, n = 12, 3
	p := partyOf(t, sites, site.Limits{})
	s, err := p.creates(t.Context(), n, func(int) []engine.SiteID { return p.ids() })
	if err != nil {
		t.Fatal(err)
	}
	// As it comes and is sent to the application, as it is settled here, and as it is settled everywhere; of the resource and of the operation.
	// Two more where it takes long.
	if most := int64(sites * n * (3 + 3 + 2)); s.rows > most {
		t.Errorf("%d creates wrote %d rows at %d sites, more than %d", n, s.rows, sites, most)
	}
}

func TestSitesAgreeAfterACut(t *testing.T) {
	p := partyOf(t, 3, site.Limits{})
	if _, err := p.creates(t.Context(), 2, func(int) []engine.SiteID { return p.ids() }); err != nil {
		t.Fatal(err)
	}
	away := p.guests[1]
	p.cut(t.Context(), true, away)
	for i, g := range []*guest{away, p.guests[0]} {
		if err := g.put(t.Context(), nameOf(i), thingBody(i, "blue"), nil); err != nil {
			t.Fatal(err)
		}
		if err := g.put(t.Context(), nameOf(2+i), thingBody(2+i, "green"), p.ids()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.heal(t.Context(), away, 4); err != nil {
		t.Fatal(err)
	}
	for at, g := range p.guests {
		for i, colour := range []string{"blue", "blue", "green", "green"} {
			if got, want := g.shelf.shows(engine.LocalID(nameOf(i))), thingBody(i, colour); got != want {
				t.Errorf("site %d shows %s, not %s", at+1, got, want)
			}
		}
	}
}

// What an earlier process was to look at is looked at after a start: the resource is pending until then.
func TestWhatIsToBeLookedAtIsPending(t *testing.T) {
	p := partyOf(t, 2, site.Limits{LookAfter: time.Hour})
	g := p.guests[0]
	g.shelf.silent = true
	if err := g.put(t.Context(), nameOf(0), thingBody(0, "red"), p.ids()); err != nil {
		t.Fatal(err)
	}
	if list, err := g.store.Pending(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%v is pending: %v", list, err)
	}
}

func TestTriplesDiffer(t *testing.T) {
	ids := []engine.SiteID{"a", "b", "c", "d", "e"}
	seen := map[string]bool{}
	for i := range 10 {
		seen[fmt.Sprint(triple(ids, i))] = true
	}
	if len(seen) != 10 || triple(ids, 10) != nil {
		t.Errorf("%d different triples of five, then %v", len(seen), triple(ids, 10))
	}
}

func BenchmarkCreates(b *testing.B) {
	for _, sites := range []int{3, 10, 30} {
		b.Run(fmt.Sprint(sites), func(b *testing.B) {
			p := partyOf(b, sites, site.Limits{})
			ids := p.ids()
			b.ReportAllocs()
			b.ResetTimer()
			s, err := p.creates(b.Context(), b.N, func(int) []engine.SiteID { return ids })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/s.acknowledged.Seconds(), "acknowledged/s")
			b.ReportMetric(float64(b.N)/s.everywhere.Seconds(), "everywhere/s")
			b.ReportMetric(float64(s.rows)/float64(b.N*sites), "rows/site")
			b.ReportMetric(float64(s.commits)/float64(b.N*sites), "commits/site")
			b.ReportMetric(float64(s.processor.Microseconds())/float64(b.N*sites), "processor-µs/site")
		})
	}
}
