package agent

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/p2p"
)

// networkMetrics shows what the network counts.
type networkMetrics struct {
	counters func() p2p.Counters
}

var networkMessages = prometheus.NewDesc("skerry_network_messages_total",
	"Changes and comparisons exchanged with other sites since the agent started, by what became of them.", []string{"what"}, nil)

// What it costs to find out what another site has that this one lacks, and the other way around. The count of each is the number of
// comparisons that this agent has begun since it started.
var (
	comparedFor = prometheus.NewDesc("skerry_comparison_seconds", "How long comparisons with other sites took that this one began.", nil, nil)
	comparedOf  = prometheus.NewDesc("skerry_comparison_bytes", "What they sent and received.", nil, nil)
	comparedIn  = prometheus.NewDesc("skerry_comparison_round_trips", "How often they asked and waited for an answer.", nil, nil)
)

// What this site does for others as a relay.
var (
	relayBytes  = prometheus.NewDesc("skerry_relay_bytes_total", "What this site has passed on between other sites, both ways.", nil, nil)
	relayOpen   = prometheus.NewDesc("skerry_relay_connections", "Connections of other sites that lead through this one now.", nil, nil)
	relayPlaces = prometheus.NewDesc("skerry_relay_places", "Sites that may be called through this one.", nil, nil)
	relayFull   = prometheus.NewDesc("skerry_relay_refused_total", "Requests to relay that were refused since there are bounds.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m networkMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{networkMessages, comparedFor, comparedOf, comparedIn, relayBytes, relayOpen, relayPlaces, relayFull} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m networkMetrics) Collect(ch chan<- prometheus.Metric) {
	c := m.counters()
	for what, n := range map[string]uint64{
		"published": c.Published, "dropped": c.Dropped, "frames": c.Frames, "received": c.Received, "refused": c.Refused,
		"compared": c.Reconciled, "pulled": c.Pulled,
	} {
		ch <- prometheus.MustNewConstMetric(networkMessages, prometheus.CounterValue, float64(n), what)
	}
	ch <- prometheus.MustNewConstMetric(relayBytes, prometheus.CounterValue, float64(c.Relay.Bytes))
	ch <- prometheus.MustNewConstMetric(relayOpen, prometheus.GaugeValue, float64(c.Relay.Connections))
	ch <- prometheus.MustNewConstMetric(relayPlaces, prometheus.GaugeValue, float64(c.Relay.Places))
	ch <- prometheus.MustNewConstMetric(relayFull, prometheus.CounterValue, float64(c.Relay.Full))
	all := c.Comparisons
	ch <- prometheus.MustNewConstSummary(comparedFor, all.Number, all.Took.Seconds(), nil)
	ch <- prometheus.MustNewConstSummary(comparedOf, all.Number, float64(all.Bytes), nil)
	ch <- prometheus.MustNewConstSummary(comparedIn, all.Number, float64(all.RoundTrips), nil)
}
