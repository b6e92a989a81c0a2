package p2p

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// quiet makes the sites of a benchmark say nothing.
func quiet(sites []*testSite) {
	for _, s := range sites {
		s.net.log = slog.New(slog.DiscardHandler)
	}
}

// One comparison and pull of ten documents that differ, out of 100,000, over loopback; reading the summaries is part of it.
func BenchmarkReconcile100000(b *testing.B) {
	sites := newTestMesh(b, 2, testConfig{reconcile: time.Hour})
	quiet(sites)
	for i := range 100_000 {
		for _, s := range sites {
			s.replicas.create(fmt.Sprint(i), ids(sites))
		}
	}
	round := 0
	before := sites[0].net.Counters().Comparisons
	for b.Loop() {
		for i := range 10 {
			id := sites[0].replicas.create(fmt.Sprint(i*1000), ids(sites))
			sites[0].replicas.write(id, []byte("x"))
		}
		round++
		sites[0].net.link(sites[1].id).repair.compare()
		eventually(b, "both have the same", func() bool {
			id := sites[0].replicas.create("9000", ids(sites))
			v, _ := sites[1].replicas.Version(b.Context(), id)
			return v[string(sites[0].id)] == uint64(round)
		})
	}
	after := sites[0].net.Counters().Comparisons
	n := float64(after.Number - before.Number)
	b.ReportMetric(float64(after.Bytes-before.Bytes)/n, "compared-B/op")
	b.ReportMetric(float64(after.RoundTrips-before.RoundTrips)/n, "round-trips/op")
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
			sites := newTestMesh(b, 2, c)
			quiet(sites)
			sites[1].serve(b, h)
			get(b, sites[0].net.Transport(), "http://"+string(sites[1].id)+"/")
		})
	}
}

// From Publish to the last of three sites.
func BenchmarkPublish(b *testing.B) {
	sites := newTestMesh(b, 3, testConfig{})
	quiet(sites)
	id := sites[0].replicas.create("doc", ids(sites))
	arrived := make(chan struct{}, 1<<20)
	for _, s := range sites[1:] {
		s.replicas.arrived = func() { arrived <- struct{}{} }
	}
	for b.Loop() {
		sites[0].publish(id, "x")
		<-arrived
		<-arrived
	}
}
