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

// Describe implements prometheus.Collector.
func (m networkMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- networkMessages }

// Collect implements prometheus.Collector.
func (m networkMetrics) Collect(ch chan<- prometheus.Metric) {
	c := m.counters()
	for what, n := range map[string]uint64{
		"published": c.Published, "dropped": c.Dropped, "hinted": c.Hinted, "received": c.Received, "refused": c.Refused,
		"compared": c.Reconciled, "pulled": c.Pulled,
	} {
		ch <- prometheus.MustNewConstMetric(networkMessages, prometheus.CounterValue, float64(n), what)
	}
}
