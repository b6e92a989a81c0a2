package traces

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// maxQueue is how many spans may wait for the collector. Further ones are dropped.
	maxQueue = 2048
	// exporting is how long the collector may take to take some in, gathering how long they wait for others.
	exporting, gathering = 10 * time.Second, time.Second
)

// export brings spans to the collector. What it does not take is lost, and counted: traces are never worth waiting for.
type export struct {
	sdk.SpanProcessor
	next    sdk.SpanExporter
	waiting atomic.Int64
	spans   *prometheus.CounterVec
	log     *slog.Logger
	failing atomic.Bool
}

func newExport(ctx context.Context, client otlptrace.Client, metrics prometheus.Registerer, log *slog.Logger) (*export, error) {
	e := &export{log: log, spans: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "skerry_trace_spans_total",
		Help: "Spans of traces, by what became of them: sent, failed (the collector did not take them), dropped (too many waited).",
	}, []string{"what"})}
	for _, what := range []string{"sent", "failed", "dropped"} {
		e.spans.WithLabelValues(what)
	}
	if err := metrics.Register(e.spans); err != nil {
		return nil, fmt.Errorf("register the metrics of traces: %w", err)
	}
	var err error
	if e.next, err = otlptrace.New(ctx, client); err != nil {
		return nil, fmt.Errorf("make the client of the collector: %w", err)
	}
	e.SpanProcessor = sdk.NewBatchSpanProcessor(told{e}, sdk.WithMaxQueueSize(2*maxQueue), sdk.WithMaxExportBatchSize(512),
		sdk.WithBatchTimeout(gathering), sdk.WithExportTimeout(exporting))
	return e, nil
}

// OnEnd implements sdk.SpanProcessor.
func (e *export) OnEnd(s sdk.ReadOnlySpan) {
	if e.waiting.Add(1) > maxQueue {
		e.waiting.Add(-1)
		e.spans.WithLabelValues("dropped").Inc()
		return
	}
	e.SpanProcessor.OnEnd(s)
}

// told counts what becomes of spans. It has no errors for its caller, who would write them to standard error.
type told struct{ e *export }

// ExportSpans implements sdk.SpanExporter.
func (t told) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	t.e.waiting.Add(-int64(len(spans)))
	err := t.e.next.ExportSpans(ctx, spans)
	what := "sent"
	if err != nil {
		what = "failed"
	}
	t.e.spans.WithLabelValues(what).Add(float64(len(spans)))
	switch was := t.e.failing.Swap(err != nil); {
	case err != nil && !was:
		t.e.log.Warn("the collector does not take traces: they are lost", "err", err)
	case err == nil && was:
		t.e.log.Info("the collector takes traces again")
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (t told) Shutdown(ctx context.Context) error { return t.e.next.Shutdown(ctx) }
