package traces

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/skerry/skerry/engine"
)

// way is what is known of an operation at this site until it is settled here.
type way struct {
	asked trace.SpanContext // the request that it was, where it came as one to this site

	mu     sync.Mutex
	since  time.Time // zero: nothing of it is durable yet
	events []event
	last   engine.OperationStatus
	told   bool
}

// event is something that has happened to it meanwhile.
type event struct {
	at    time.Time
	state engine.State
	why   string
}

// maxEvents is how many events a span has at most.
const maxEvents = 16

// wayOf finds an operation, or begins to know it.
func (t *Tracer) wayOf(id engine.OperationID) *way {
	if w, ok := t.ways.Get(id); ok {
		return w
	}
	w := &way{}
	if was, known, _ := t.ways.PeekOrAdd(id, w); known {
		return was
	}
	return w
}

// Store makes spans of operations as a store gets to know them. A nil tracer returns next.
func (t *Tracer) Store(next engine.Store, self engine.SiteID) engine.Store {
	if t == nil {
		return next
	}
	return &watched{next, t, self}
}

type watched struct {
	engine.Store
	t    *Tracer
	self engine.SiteID
}

// Commit implements engine.Store.
func (s *watched) Commit(ctx context.Context, b *engine.Batch) error {
	since := time.Now()
	if err := s.Store.Commit(ctx, b); err != nil {
		return err
	}
	for i := range b.Operations {
		if row := &b.Operations[i]; s.t.Sampled(row.ID) {
			s.t.went(row, s.self, since)
		}
	}
	return nil
}

// recent is how long ago an operation that is not known any more may have been settled for its span to be made.
const recent = time.Minute

// went takes in what has become of an operation at this site.
func (t *Tracer) went(row *engine.OperationRow, self engine.SiteID, since time.Time) {
	st, involved := row.Sites[self]
	if !involved {
		return
	}
	w, now := t.wayOf(row.ID), time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	settled := st.State == engine.StateApplied || st.State == engine.StateSuperseded || st.State == engine.StateRejected || st.State == engine.StateLeft
	if w.since.IsZero() {
		if w.told = settled && now.Sub(st.At) > recent; w.told {
			return
		}
		w.since = since
		if row.Origin == self && now.Sub(row.IssuedAt) < recent && row.IssuedAt.Before(since) {
			w.since = row.IssuedAt
		}
	}
	if st.State == w.last.State && st.Error == w.last.Error {
		return
	}
	w.last = st
	if !settled {
		if w.told {
			w.told, w.since = false, since
		}
		if len(w.events) < maxEvents {
			w.events = append(w.events, event{now, st.State, st.Error})
		}
		return
	}
	if !w.told {
		w.told = true
		t.tell(row, w, self, now)
	}
}

// tell makes the span of an operation that is settled here.
func (t *Tracer) tell(row *engine.OperationRow, w *way, self engine.SiteID, now time.Time) {
	id := traceOf(row.ID)
	options := []trace.SpanStartOption{begun(w.since), trace.WithAttributes(attribute.String("skerry.operation", string(row.ID)),
		attribute.String("skerry.resource", string(row.Resource)), attribute.String("skerry.service", string(row.Service)),
		attribute.String("skerry.kind", string(row.Kind)), attribute.String("skerry.type", string(row.Type)), attribute.String("skerry.scope", row.Scope),
		attribute.String("skerry.state", string(w.last.State)), attribute.Int("http.response.status_code", w.last.Status))}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), at(id, rootOf(id)))
	switch {
	case row.Origin != self:
		options = append(options, trace.WithSpanKind(trace.SpanKindConsumer))
	case w.asked.TraceID() != id: // no request is the root of the trace
		root := []trace.SpanStartOption{begun(w.since)}
		if w.asked.IsValid() {
			root = append(root, trace.WithLinks(trace.Link{SpanContext: w.asked}))
		}
		_, s := t.tracer.Start(named(context.Background(), wanted{id, rootOf(id)}), "operation", root...)
		s.End(trace.WithTimestamp(now))
	}
	_, s := t.tracer.Start(named(ctx, wanted{id, spanOf(id, t.site)}), string(row.Type)+" "+string(row.Kind), options...)
	for _, e := range w.events {
		s.AddEvent(string(e.state), trace.WithTimestamp(e.at), trace.WithAttributes(attribute.String("skerry.reason", e.why)))
	}
	w.events = nil
	if w.last.State == engine.StateRejected {
		s.SetStatus(codes.Error, w.last.Error)
	}
	s.End(trace.WithTimestamp(now))
}
