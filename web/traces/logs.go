package traces

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/skerry/skerry/engine"
)

// Logs adds the trace to what is logged of a request or an operation that is traced. A nil tracer returns next.
func (t *Tracer) Logs(next *slog.Logger) *slog.Logger {
	if t == nil {
		return next
	}
	return slog.New(logs{next.Handler(), t})
}

type logs struct {
	slog.Handler
	t *Tracer
}

// Handle implements slog.Handler.
func (l logs) Handle(ctx context.Context, r slog.Record) error {
	id := trace.SpanContextFromContext(ctx).TraceID()
	if !id.IsValid() {
		r.Attrs(func(a slog.Attr) bool {
			if op := engine.OperationID(a.Value.String()); a.Key == "operation" && l.t.Sampled(op) {
				id = traceOf(op)
			}
			return !id.IsValid()
		})
	}
	if id.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", id.String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler { return logs{l.Handler.WithAttrs(attrs), l.t} }

// WithGroup implements slog.Handler.
func (l logs) WithGroup(name string) slog.Handler { return logs{l.Handler.WithGroup(name), l.t} }
