package traces

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/skerry/skerry/engine"
)

// Crosses makes a span of a request to this site's application, which has it as the one above its own.
func (t *Tracer) Crosses(service engine.ServiceName, r *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	above := heard(r.Header)
	if !above.IsValid() {
		above = t.keyed(r.Header)
	}
	return t.goes(above, r, send, r.Method+" application", attribute.String("skerry.service", string(service)))
}

// keyHeader is spelt as glue.SetKey does, on purpose in lower case.
var keyHeader = "idempotency-key"

// keyed is the span of the operation for which this site asks, by the key that it sends (glue.SetKey).
func (t *Tracer) keyed(h http.Header) trace.SpanContext {
	values := h[keyHeader]
	if len(values) == 0 {
		return trace.SpanContext{}
	}
	id, site, _ := strings.Cut(strings.Trim(values[0], `"`), ".")
	if site != string(t.site) && !strings.HasPrefix(site, string(t.site)+".") || !t.Sampled(engine.OperationID(id)) {
		return trace.SpanContext{}
	}
	of := traceOf(engine.OperationID(id))
	return at(of, spanOf(of, t.site))
}

// Peers makes spans of requests to other sites' agents. A nil tracer returns next.
func (t *Tracer) Peers(next http.RoundTripper, name func(engine.SiteID) engine.SiteName) http.RoundTripper {
	if t == nil {
		return next
	}
	return &peers{t, next, name}
}

type peers struct {
	t    *Tracer
	next http.RoundTripper
	name func(engine.SiteID) engine.SiteName
}

// RoundTrip implements http.RoundTripper.
func (p *peers) RoundTrip(r *http.Request) (*http.Response, error) {
	to := p.name(engine.SiteID(r.URL.Host))
	return p.t.goes(heard(r.Header), r, p.next.RoundTrip, r.Method+" at "+string(to), attribute.String("skerry.to", string(to)))
}

// goes makes a span of a request that goes out below another one, if that is sampled.
func (t *Tracer) goes(above trace.SpanContext, r *http.Request, send func(*http.Request) (*http.Response, error), name string, about attribute.KeyValue) (*http.Response, error) {
	if !above.IsSampled() {
		return send(r)
	}
	ctx, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(r.Context(), above), name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), about))
	defer span.End()
	r = r.WithContext(r.Context())
	if r.Header = r.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	w3c.Inject(ctx, propagation.HeaderCarrier(r.Header))
	resp, err := send(r)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		return resp, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
	if resp.StatusCode >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, resp.Status)
	}
	return resp, err
}
