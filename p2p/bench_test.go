package p2p

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// newBenchMesh starts sites that say nothing.
func newBenchMesh(b *testing.B, count int, c testConfig) []*testSite {
	c.log = slog.New(slog.DiscardHandler)
	return newTestMesh(b, count, c)
}

// benchLetter is one that no document has to be kept for: a change of 300 bytes.
func benchLetter(from *testSite) *engine.Letter {
	return &engine.Letter{
		Parcels: []engine.Parcel{{About: make([]byte, 200), Changes: []engine.SignedChange{{Line: engine.LineOf(from.id, "1"), Signature: make([]byte, signatureLen), Bytes: make([]byte, 300)}}}},
		Sent:    []engine.SiteID{from.id},
	}
}

// A letter there and one back, over loopback.
func BenchmarkLetterRoundTrip(b *testing.B) {
	for name, c := range transports {
		b.Run(name, func(b *testing.B) {
			sites := newBenchMesh(b, 2, c)
			there, back := benchLetter(sites[0]), benchLetter(sites[1])
			arrived := make(chan struct{}, 1)
			sites[0].exchange.setFault(func(engine.SiteID, *engine.Letter) error {
				arrived <- struct{}{}
				return engine.ErrUnknown
			})
			sites[1].exchange.setFault(func(engine.SiteID, *engine.Letter) error {
				sites[1].net.Send(ids(sites[:1]), back)
				return engine.ErrUnknown
			})
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				sites[0].net.Send(ids(sites[1:]), there)
				<-arrived
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// As many letters as two other sites take, with no more than 512 under way.
func BenchmarkLetters(b *testing.B) {
	for name, c := range transports {
		b.Run(name, func(b *testing.B) {
			sites := newBenchMesh(b, 3, c)
			room := make(chan struct{}, 2*512)
			for _, s := range sites[1:] {
				s.exchange.setFault(func(_ engine.SiteID, l *engine.Letter) error {
					for range l.Parcels {
						<-room
					}
					return engine.ErrUnknown
				})
			}
			to, letters := ids(sites[1:]), make([]*engine.Letter, 64) // of as many documents
			for i := range letters {
				letters[i] = benchLetter(sites[0])
				letters[i].Parcels[0].About[0] = byte(i)
			}
			i := 0
			for b.Loop() {
				room <- struct{}{}
				room <- struct{}{}
				sites[0].net.Send(to, letters[i%len(letters)])
				i++
			}
			for len(room) > 0 {
				time.Sleep(100 * time.Microsecond)
			}
			counted := sites[0].net.Counters()
			if counted.Dropped > 0 {
				b.Errorf("%d letters were dropped", counted.Dropped)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "letters/s")
			b.ReportMetric(float64(counted.Published*2)/float64(counted.Frames), "letters/frame")
		})
	}
}

// compareNow compares, also when a ping has had the other site begin.
func compareNow(b *testing.B, l *link) {
	for {
		whole, err := l.compare(b.Context())
		if err == nil && whole {
			return
		}
		if !errors.Is(err, errBusy) {
			b.Fatalf("they differ: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
}

// One comparison of 10,000 documents of which one differs, over loopback, until both have it.
func BenchmarkCompare10000(b *testing.B) {
	sites := newBenchMesh(b, 2, testConfig{})
	from, to := sites[0], sites[1]
	all := make([]engine.DocumentID, 10_000)
	for i := range all {
		for _, s := range sites {
			all[i] = s.exchange.create(fmt.Sprint(i), ids(sites))
		}
	}
	l := from.net.link(to.id)
	before := from.net.Counters().Comparisons
	i := 0
	for b.Loop() {
		from.exchange.write(all[i*97%len(all)], []byte("x"))
		i++
		compareNow(b, l)
	}
	after := from.net.Counters().Comparisons
	n := float64(after.Number - before.Number)
	b.ReportMetric(float64(after.Bytes-before.Bytes)/n, "compared-B/op")
	b.ReportMetric(float64(after.RoundTrips-before.RoundTrips)/n, "round-trips/op")
}

// A comparison that brings 1,000 new documents of one change each, over loopback.
func BenchmarkPull1000(b *testing.B) {
	for name, c := range transports {
		b.Run(name, func(b *testing.B) {
			sites := newBenchMesh(b, 2, c)
			from, to := sites[0], sites[1]
			l := from.net.link(to.id)
			round := 0
			for b.Loop() {
				b.StopTimer()
				round++
				for i := range 1000 {
					from.exchange.write(from.exchange.create(fmt.Sprint(round, i), ids(sites)), make([]byte, 300))
				}
				b.StartTimer()
				compareNow(b, l)
			}
		})
	}
}

// A forwarded request against the same one over plain TCP, with a connection kept open and with a new one each.
func BenchmarkForward(b *testing.B) {
	body := make([]byte, 256)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	get := func(b *testing.B, rt http.RoundTripper, url string) {
		for b.Loop() {
			r, err := http.NewRequestWithContext(b.Context(), "GET", url, nil)
			if err != nil {
				b.Fatal(err)
			}
			answer, err := rt.RoundTrip(r)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
	server := httptest.NewServer(h)
	defer server.Close()
	for _, keep := range []bool{true, false} {
		b.Run(fmt.Sprint("direct, kept open ", keep), func(b *testing.B) {
			rt := &http.Transport{DisableKeepAlives: !keep}
			defer rt.CloseIdleConnections()
			get(b, rt, server.URL)
		})
	}
	for name, c := range transports {
		b.Run(name, func(b *testing.B) {
			sites := newBenchMesh(b, 2, c)
			sites[1].serve(b, h)
			get(b, sites[0].net.Transport(), "http://"+string(sites[1].id)+"/")
		})
	}
}
