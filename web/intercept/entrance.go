package intercept

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/door"
)

// Entrance stands in for the handler of a service while the agent cannot ask its store yet, because the process that it takes over from still
// has it: what certainly concerns nothing replicated passes, and everything else waits for the handler. It is safe for concurrent use.
type Entrance struct {
	before  *Handler
	replica atomic.Pointer[Replicated]
	handler atomic.Pointer[Handler]
	opened  chan struct{} // closed when handler is set
}

// Replicated is what the process before has replicated.
type Replicated struct {
	// Kinds are those of which something is replicated, of any service.
	Kinds []Kind `json:"kinds"`
	// Workflows says that scopes are remembered for workflows.
	Workflows bool `json:"workflows"`
	// Final says that it does not change any more.
	Final bool `json:"final"`
}

// Kind names one of a service.
type Kind struct {
	Service engine.ServiceName `json:"service"`
	Name    engine.KindName    `json:"name"`
}

// replicates reports whether something of a kind may be replicated.
func (e *Entrance) replicates(service engine.ServiceName, kind engine.KindName) bool {
	known := e.replica.Load()
	return known == nil || slices.Contains(known.Kinds, Kind{service, kind})
}

// unasked is a site that knows what is replicated and nothing else, untranslated what its identifiers are like. Nobody asks them for more before
// the handler is there.
type (
	unasked struct {
		Site
		e *Entrance
	}
	untranslated struct {
		engine.Identifiers
		e *Entrance
	}
)

// Replicates implements Site.
func (u unasked) Replicates(k *engine.Kind) bool { return u.e.replicates(k.Service, k.Name) }

// Lookup implements request.Shared: what is replicated waits.
func (u unasked) Lookup(context.Context, *engine.Kind, string) (engine.ResourceRow, error) {
	return engine.ResourceRow{}, errors.New("the store is not open yet")
}

// Translated implements engine.Identifiers.
func (u untranslated) Translated(service engine.ServiceName, kind engine.KindName) bool {
	return u.e.replicates(service, kind)
}

// NewEntrance returns what stands in for the handler that will be made of c, which need not have more yet than the service, the meter,
// proxies, correlations, limits and log, and a client that nobody else uses.
func NewEntrance(c Config) *Entrance {
	e := &Entrance{opened: make(chan struct{})}
	c.Site = unasked{e: e}
	c.Client.Use(untranslated{e: e})
	e.before = New(c)
	return e
}

// Knows has what the process before has said count.
func (e *Entrance) Knows(r Replicated) { e.replica.Store(&r) }

// Open lets everybody in to the handler. It is called once.
func (e *Entrance) Open(h *Handler) {
	e.handler.Store(h)
	close(e.opened)
}

// Door is as Handler.Door.
func (e *Entrance) Door(limits door.Limits) *door.Door { return e.before.door(e, e, limits) }

// Plain implements door.Desk.
func (e *Entrance) Plain(r *door.Request) bool {
	if h := e.handler.Load(); h != nil {
		return h.Plain(r)
	}
	known := e.replica.Load()
	// What is being made in the process before may be the first of its kind, and the next request may change it.
	if !glue.Safe(r.Method) && (known == nil || !known.Final) {
		return false
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Is("scope") || f.Is("x-scope") || f.Is("baggage") && bytes.Contains(f.Value, []byte("scope")) {
			return false
		}
		if (known == nil || known.Workflows) && e.before.Correlations.Has(f.Name) {
			return false
		}
	}
	return e.before.Plain(r)
}

// Unanswered implements door.Desk.
func (e *Entrance) Unanswered(r *door.Request, err error) (int, http.Header, []byte) {
	return e.before.Unanswered(r, err)
}

// Told implements door.Desk.
func (e *Entrance) Told(r *door.Request, status int, length int64, took time.Duration) {
	e.before.Told(r, status, length, took)
}

// ServeHTTP implements http.Handler: who comes before the handler waits for it.
func (e *Entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-e.opened:
		e.handler.Load().ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}
