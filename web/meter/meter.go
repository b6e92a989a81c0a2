// Package meter tells what clients have asked of the services and how that went: in metrics, and in an access log. It knows no request, only
// what is to be told of one. Begin with Meter, then log.go.
package meter

import (
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/engine"
)

// Request is a request of a client that has been answered.
type Request struct {
	At      time.Time
	Service engine.ServiceName
	// Client is where it came from; Scope its scope, in the form in which it was read, empty for none.
	Client netip.Addr
	Scope  string
	// Method, Path and Proto are those of its head. The query is not told: it may hold secrets.
	Method, Path, Proto string
	// Status is what the client was told, 0 where it was not. Length is that of the answer's body, -1 where its head does not say.
	Status int
	Length int64
	// Took is the time until the head of the answer was there: of a watch the rest takes as long as its client likes.
	Took time.Duration
	// Trace is that in which it is, empty where it is not traced.
	Trace string
}

// Meter counts requests and writes the access log. It is safe for concurrent use.
type Meter struct {
	took     *prometheus.HistogramVec
	log      *Log
	services map[engine.ServiceName]*series
}

// series are the histograms of one service, by method, class of the status, and whether there was a scope. They are made when they are first
// needed, and found without a word of text.
type series [len(methods) + 1][6][2]atomic.Pointer[prometheus.Observer]

// methods have a series each; all others share one, so that nobody makes series without end.
var methods = [...]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions}

var classes = [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// NewMeter returns a meter of the services whose metrics are in r. The log may be nil: nothing is written then.
func NewMeter(r prometheus.Registerer, log *Log, services []engine.ServiceName) (*Meter, error) {
	m := &Meter{log: log, services: map[engine.ServiceName]*series{}, took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "skerry_service_request_duration_seconds",
		Help: "Time until answers to clients began, by service, method, class of the status (none: the client had gone), and whether there was a scope.",
		// From what passing on takes to what an application may take.
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"service", "method", "class", "scope"})}
	for _, s := range services {
		m.services[s] = &series{}
	}
	return m, r.Register(m.took)
}

// Tell counts a request of one of the services, and writes it down. A nil meter does nothing.
func (m *Meter) Tell(r Request) {
	if m == nil {
		return
	}
	method := slices.Index(methods[:], r.Method)
	if method < 0 {
		method = len(methods)
	}
	class, scoped := r.Status/100, 0
	if class >= len(classes) {
		class = 0
	}
	if r.Scope != "" {
		scoped = 1
	}
	at := &m.services[r.Service][method][class][scoped]
	o := at.Load()
	if o == nil {
		name := "other"
		if method < len(methods) {
			name = methods[method]
		}
		made := m.took.WithLabelValues(string(r.Service), name, classes[class], [...]string{"no", "yes"}[scoped])
		o = &made
		at.Store(o)
	}
	(*o).Observe(r.Took.Seconds())
	m.log.write(r)
}
