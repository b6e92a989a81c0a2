package traces

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/skerry/skerry/engine"
)

// Asked is one request that has come to this site. A nil one does nothing.
type Asked struct {
	t    *Tracer
	span trace.Span // nil: it is not traced
	id   trace.TraceID
	own  bool // its client, or the agent that handed it over, has a trace that is not the operation's
}

// Ask begins what is told of a request that has come: from a client, or from the agent of another site, and then it may be an operation. A request
// that is traced says so from then on to whoever gets it next.
func (t *Tracer) Ask(r *http.Request, service engine.ServiceName, from string, operation engine.OperationID) (*http.Request, *Asked) {
	if t == nil {
		return r, nil
	}
	a := &Asked{t: t}
	before := heard(r.Header)
	sampled := before.IsSampled()
	switch {
	case from != "":
		a.id = traceOf(operation)
	case before.IsValid():
		a.id = t.newID(sampled)
	default:
		sampled = rand.Float64() < t.sample
		a.id = t.newID(sampled)
	}
	if !sampled {
		return r, a
	}
	ctx := r.Context()
	if before.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, before)
		a.own = before.TraceID() != a.id
	} else {
		ctx = named(ctx, wanted{a.id, rootOf(a.id)})
	}
	_, a.span = t.tracer.Start(ctx, r.Method+" "+string(service), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("url.path", r.URL.Path), attribute.String("skerry.service", string(service))))
	if from != "" {
		a.span.SetAttributes(attribute.String("skerry.from", from))
	}
	if writes(r.Method) && a.id.IsValid() {
		t.ways.Add(a.Operation(operation), &way{asked: a.span.SpanContext()})
	}
	r = r.WithContext(trace.ContextWithSpanContext(r.Context(), a.span.SpanContext()))
	r.Header = r.Header.Clone()
	w3c.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return r, a
}

// heard is the span of which a request's headers tell.
func heard(h http.Header) trace.SpanContext {
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), propagation.HeaderCarrier(h)))
}

func writes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// Operation is the identifier that the request has as an operation: the one that it came with, or one that says whether it is traced.
func (a *Asked) Operation(given engine.OperationID) engine.OperationID {
	if a == nil || given != "" {
		return given
	}
	return engine.OperationID(uuid.UUID(a.id).String())
}

// Trace is the trace that the request is in, empty where it is not traced.
func (a *Asked) Trace() string {
	if a == nil || a.span == nil {
		return ""
	}
	return a.span.SpanContext().TraceID().String()
}

// Began is the trace that began with the request, empty where it is in one of its client's, or not traced.
func (a *Asked) Began() string {
	if a == nil || a.own {
		return ""
	}
	return a.Trace()
}

// End tells what the request was answered.
func (a *Asked) End(status int, answer http.Header) {
	if a == nil || a.span == nil {
		return
	}
	a.span.SetAttributes(attribute.Int("http.response.status_code", status))
	if id := engine.OperationID(answer.Get("Skerry-Operation")); id != "" {
		a.span.SetAttributes(attribute.String("skerry.operation", string(id)))
		if a.own && a.t.Sampled(id) {
			a.span.AddLink(trace.Link{SpanContext: at(traceOf(id), rootOf(traceOf(id)))})
		}
	}
	if status >= http.StatusInternalServerError || status == 0 {
		a.span.SetStatus(codes.Error, http.StatusText(status))
	}
	a.span.End()
}

// Mark is what there is to know of a request that passes as it is.
type Mark struct {
	before  trace.SpanContext
	began   time.Time
	crossed time.Time // when it went out to the application; zero: it did not
	Sampled bool
}

// Mark decides about such a request, which has come just now, and whose traceparent may be empty.
func (t *Tracer) Mark(traceparent []byte) (m Mark) {
	if t == nil {
		return m
	}
	if len(traceparent) == 0 {
		m.Sampled = rand.Float64() < t.sample
	} else {
		m.before = heard(http.Header{"Traceparent": {string(traceparent)}})
		m.Sampled = m.before.IsSampled()
	}
	if m.Sampled {
		m.began = time.Now()
	}
	return m
}

// Cross remembers when such a request goes out to the application; where it goes out again, the last time counts.
func (m *Mark) Cross() {
	if m.Sampled {
		m.crossed = time.Now()
	}
}

// Passed tells of a request that has passed as it is, whose answer began when it had taken so long, and of its crossing to the application. It
// returns its trace.
func (t *Tracer) Passed(m Mark, service engine.ServiceName, method, path string, status int, took time.Duration) string {
	if t == nil || !m.Sampled {
		return ""
	}
	ctx, end := context.Background(), m.began.Add(took)
	if took == 0 { // there was no answer
		end = time.Now()
	}
	if m.before.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, m.before)
	}
	about := []attribute.KeyValue{attribute.String("http.request.method", method), attribute.String("skerry.service", string(service)),
		attribute.Int("http.response.status_code", status)}
	tell := func(ctx context.Context, name string, kind trace.SpanKind, from time.Time, more ...attribute.KeyValue) (context.Context, trace.Span) {
		ctx, span := t.tracer.Start(ctx, name, begun(from), trace.WithSpanKind(kind), trace.WithAttributes(about...), trace.WithAttributes(more...))
		if status >= http.StatusInternalServerError || status == 0 {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		return ctx, span
	}
	ctx, span := tell(ctx, method+" "+string(service), trace.SpanKindServer, m.began, attribute.String("url.path", path), attribute.Bool("skerry.plain", true))
	if !m.crossed.IsZero() {
		_, crossing := tell(ctx, method+" application", trace.SpanKindClient, m.crossed)
		crossing.End(trace.WithTimestamp(end))
	}
	span.End(trace.WithTimestamp(end))
	return span.SpanContext().TraceID().String()
}
