package traces

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/skerry/skerry/engine"
)

// Config is what a Tracer is made of.
type Config struct {
	// Endpoint is where the collector takes OTLP over HTTP; TLS, unless nil, is how to speak with it.
	Endpoint *url.URL
	TLS      *tls.Config
	// Sample is the part of what clients ask that is traced, from 0 to 1, where they do not say so themselves.
	Sample float64
	// Header gives the headers of each request to the collector; nil: none.
	Header func() (http.Header, error)
	// Version is the agent's, Site the name of its site.
	Version string
	Site    engine.SiteName
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Tracer makes spans of what happens at one site. A nil one does nothing. It is safe for concurrent use.
type Tracer struct {
	sample   float64
	site     engine.SiteName
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	// ways are operations that have begun here.
	ways *lru.Cache[engine.OperationID, *way]
}

// maxWays is how many operations are remembered until they are settled; of one that was forgotten it is not known when it came.
const maxWays = 10_000

// w3c reads and writes traceparent and tracestate.
var w3c propagation.TraceContext

// New returns a tracer that tells the collector what it sees, until Close.
func New(ctx context.Context, c Config) (*Tracer, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.TLS != nil {
		transport.TLSClientConfig = c.TLS
	}
	client := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(c.Endpoint.String()), otlptracehttp.WithTimeout(exporting),
		otlptracehttp.WithHTTPClient(&http.Client{Timeout: exporting, Transport: &authorized{transport, c.Header}}),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	t := &Tracer{sample: c.Sample, site: c.Site}
	var err error
	if t.ways, err = lru.New[engine.OperationID, *way](maxWays); err != nil {
		return nil, fmt.Errorf("remember operations for their traces: %w", err)
	}
	out, err := newExport(ctx, client, c.Metrics, c.Log)
	if err != nil {
		return nil, err
	}
	t.provider = sdk.NewTracerProvider(sdk.WithIDGenerator(ids{}), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithSpanProcessor(out),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "skerry"), attribute.String("service.version", c.Version),
			attribute.String("service.instance.id", string(c.Site)), attribute.String("skerry.site", string(c.Site)))))
	t.tracer = t.provider.Tracer("github.com/skerry/skerry")
	return t, nil
}

// Close tells the collector what it has not been told yet, as far as it takes that until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("end the traces: %w", err)
	}
	return nil
}

// authorized adds headers to requests to the collector.
type authorized struct {
	http.RoundTripper
	header func() (http.Header, error)
}

// RoundTrip implements http.RoundTripper.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.header != nil {
		more, err := a.header()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		for name, values := range more {
			r.Header[name] = values
		}
	}
	return a.RoundTripper.RoundTrip(r)
}

// traceOf is the trace of an operation, invalid where its identifier is no UUID.
func traceOf(id engine.OperationID) trace.TraceID {
	u, err := uuid.Parse(string(id))
	if err != nil {
		return trace.TraceID{}
	}
	return trace.TraceID(u)
}

// Operations that begin with a request get identifiers that say in two of their bytes whether they are traced. Of others, one of thirty thousand
// looks as if it did.
const (
	tagTraced   = 0x5e77
	tagUntraced = 0xa188
)

// Sampled reports whether an operation is traced: as was decided where it began, else a part of all, the same at all sites that trace the same part.
func (t *Tracer) Sampled(id engine.OperationID) bool {
	if t == nil {
		return false
	}
	at := traceOf(id)
	random := binary.BigEndian.Uint32(at[8:])
	switch uint16(random) {
	case tagTraced:
		return true
	case tagUntraced:
		return false
	}
	return at.IsValid() && float64(random<<2)/(1<<32) < t.sample
}

// newID makes the identifier of an operation that is traced, or is not.
func (t *Tracer) newID(sampled bool) trace.TraceID {
	id, tag := uuid.Must(uuid.NewV7()), uint16(tagUntraced)
	if sampled {
		tag = tagTraced
	}
	binary.BigEndian.PutUint16(id[10:], tag)
	return trace.TraceID(id)
}

// rootOf is the span of an operation's trace that all others of it stand below.
func rootOf(id trace.TraceID) trace.SpanID { return spanOf(id, "") }

// spanOf is the span of what a site does with an operation.
func spanOf(id trace.TraceID, site engine.SiteName) (span trace.SpanID) {
	sum := sha256.Sum256(append(id[:], site...))
	copy(span[:], sum[:])
	return span
}

// at is a span of an operation's trace, wherever it was made.
func at(id trace.TraceID, span trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true})
}

// ids gives spans the identifiers that are asked for in their context, and random ones to others.
type ids struct{}

type wanted struct {
	trace trace.TraceID
	span  trace.SpanID
}

type wantedKey struct{}

// named has the next span get these identifiers; the trace counts for one without a parent.
func named(ctx context.Context, w wanted) context.Context {
	return context.WithValue(ctx, wantedKey{}, w)
}

// NewIDs implements sdk.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	w, _ := ctx.Value(wantedKey{}).(wanted)
	if !w.trace.IsValid() {
		_, _ = rand.Read(w.trace[:])
	}
	return w.trace, ids{}.NewSpanID(ctx, w.trace)
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	w, _ := ctx.Value(wantedKey{}).(wanted)
	for !w.span.IsValid() {
		_, _ = rand.Read(w.span[:])
	}
	return w.span
}

// begun is when something has begun, as an option of its span.
func begun(at time.Time) trace.SpanStartOption { return trace.WithTimestamp(at) }
