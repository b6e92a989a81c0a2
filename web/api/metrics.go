package api

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// metrics are what /metrics shows. What can be read when it is asked for is read then; only events and requests
// are counted as they happen.
type metrics struct {
	api      *API
	events   *prometheus.CounterVec
	requests *prometheus.HistogramVec

	reachable, relayed, transport, rtt, clock, uses, queue, waiting, conflicts, resources, operations, streams, isolated, info, delivered, givenUp, attempts, failing *prometheus.Desc
}

func newMetrics(a *API) *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("skerry_"+name, help, labels, nil)
	}
	return &metrics{
		api: a,
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "skerry_events_total", Help: "Entries that the event log got since the agent started, by type.",
		}, []string{"type"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "skerry_http_request_duration_seconds", Help: "Time to answer requests to the API and the page, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "route", "status"}),
		reachable:  desc("site_reachable", "Whether a site of the mesh can be reached from here.", "site"),
		relayed:    desc("site_relayed", "Whether a site of the mesh is reached from here through another one alone.", "site", "relay"),
		transport:  desc("site_transport", "What carries the connection to a site that is reached, or to its relay: quic, tcp or websocket.", "site", "transport"),
		rtt:        desc("site_round_trip_seconds", "Round trip to a site of the mesh, once measured.", "site"),
		clock:      desc("site_clock_ahead_seconds", "How far the clock of a site is ahead of this one's, once compared.", "site"),
		uses:       desc("site_uses", "What a site has of this one: streams, bytes of its letters being taken in, resources that both share, new ones of it that were refused since the agent started, lines that it has forked, bytes that the large bodies of its operations take on disk.", "site", "what"),
		queue:      desc("queue", "Whether requests to a service of the application are in a state: running, failing, paused.", "service", "state"),
		waiting:    desc("queue_waiting", "Resources that wait for a service of the application to work, or to let the agent in.", "service"),
		conflicts:  desc("conflicts", "Conflicts that wait for a person, by what they are about.", "about"),
		resources:  desc("resources", "Resources by state.", "state"),
		operations: desc("operations", "Operations by state at the site that is farthest from applied.", "state"),
		streams:    desc("event_streams", "Open event streams."),
		isolated:   desc("isolated", "Whether this site rehearses a cut."),
		delivered:  desc("hook_delivered_total", "Events that a hook's receiver has taken.", "hook"),
		givenUp:    desc("hook_given_up_total", "Events that a hook's receiver has not taken, and which are not tried any more.", "hook"),
		attempts:   desc("hook_attempts_total", "Attempts to deliver an event to a hook's receiver.", "hook"),
		failing:    desc("hook_failing", "Whether the event that is next at a hook is being tried again.", "hook"),
		info:       desc("info", "The agent and its site.", "site", "version", "application", "catalog"),
	}
}

func (m *metrics) register(r *prometheus.Registry) error {
	for _, c := range []prometheus.Collector{m, m.events, m.requests} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// follow counts the events from now on until ctx ends.
func (m *metrics) follow(ctx context.Context) error {
	after, err := m.api.newest(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return m.api.Follow(ctx, after, time.Hour, func(events []engine.Event) error {
		for _, e := range events {
			m.events.WithLabelValues(e.Type).Inc()
		}
		return nil
	})
}

// Observe records one answered request. Route is the pattern that matched, never the path itself.
func (a *API) Observe(method, route, status string, took time.Duration) {
	a.metrics.requests.WithLabelValues(method, route, status).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.reachable, m.relayed, m.transport, m.rtt, m.clock, m.uses, m.queue, m.waiting, m.conflicts, m.resources, m.operations, m.streams, m.isolated, m.info,
		m.delivered, m.givenUp, m.attempts, m.failing} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	one := map[bool]float64{true: 1}
	ways := m.api.Network.Ways()
	for _, s := range m.api.Sites() {
		gauge(m.reachable, one[s.Reachable], s.Name)
		if !s.Self && s.Reachable {
			gauge(m.relayed, one[s.Relay != ""], s.Name, s.Relay)
			if t := ways[engine.SiteID(s.PeerID)].Transport; t != "" {
				gauge(m.transport, 1, s.Name, t)
			}
		}
		if s.RTT != nil && !s.Self {
			gauge(m.rtt, *s.RTT/1000, s.Name)
			gauge(m.clock, *s.ClockAhead/1000, s.Name)
		}
		if u := s.Uses; u != nil {
			for what, n := range map[string]float64{"streams": float64(u.Streams), "bytes": float64(u.Bytes), "resources": float64(u.Resources), "refused": float64(u.Refused), "forks": float64(u.Forks), "bodies": float64(u.Bodies)} {
				gauge(m.uses, n, s.Name, what)
			}
		}
	}
	for service, q := range m.api.Operator.Queues() {
		for _, s := range []engine.QueueState{engine.QueueRunning, engine.QueueFailing, engine.QueuePaused} {
			gauge(m.queue, one[q.State == s], string(service), string(s))
		}
		gauge(m.waiting, float64(q.Waiting), string(service))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counted := func(d *prometheus.Desc, states []engine.State, n map[engine.State]int, err error) {
		if err != nil {
			ch <- prometheus.NewInvalidMetric(d, err)
			return
		}
		for _, s := range states {
			gauge(d, float64(n[s]), string(s))
		}
	}
	n, err := m.api.countResources(ctx)
	counted(m.resources, ResourceStates, n, err)
	n, err = m.api.Counter.CountOperations(ctx)
	counted(m.operations, OperationStates, n, err)
	conflicts, err := m.api.Counter.CountConflicts(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(m.conflicts, err)
	} else {
		of := map[engine.ConflictKind]int{}
		for c, n := range conflicts {
			of[c.About] += n.Number
		}
		for kind := range shape.ConflictRules {
			gauge(m.conflicts, float64(of[kind]), string(kind))
		}
	}
	m.collectHooks(ctx, ch, gauge)
	gauge(m.streams, float64(m.api.streams.number()))
	gauge(m.isolated, one[m.api.Network.Isolated()])
	gauge(m.info, 1, m.api.names().Of(m.api.Mesh.Self()), m.api.Version, m.api.Application, m.api.Catalog)
}

// collectHooks tells how deliveries get on. The numbers are on disk, so that they go on after a restart.
func (m *metrics) collectHooks(ctx context.Context, ch chan<- prometheus.Metric, gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	all, at, err := m.api.Hooks.List(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(m.attempts, err)
		return
	}
	for _, h := range all {
		p := at[h.ID]
		for d, n := range map[*prometheus.Desc]uint64{m.delivered: p.Delivered, m.givenUp: p.GivenUp, m.attempts: p.Deliveries} {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), h.ID)
		}
		failing := 0.0
		if p.Attempts > 0 {
			failing = 1
		}
		gauge(m.failing, failing, h.ID)
	}
}
