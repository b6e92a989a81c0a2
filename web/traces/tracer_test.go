package traces

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/engine"
)

func tracer(t *testing.T, sample float64) *Tracer {
	t.Helper()
	tr, err := New(t.Context(), Config{Endpoint: &url.URL{Scheme: "http", Host: "127.0.0.1:1", Path: "/"}, Sample: sample, Site: "paris",
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nobody listens
		_ = tr.Close(ctx)
	})
	return tr
}

// TestSampled: whether an operation is traced was decided where it began, whatever other sites are to trace; of others it is a part of all.
func TestSampled(t *testing.T) {
	all, part, none := tracer(t, 1), tracer(t, 0.25), tracer(t, 0)
	for _, sampled := range []bool{true, false} {
		id := engine.OperationID(uuid.UUID(part.newID(sampled)).String())
		if !id.Valid() {
			t.Errorf("%s is no identifier of an operation", id)
		}
		for _, at := range []*Tracer{all, part, none} {
			if at.Sampled(id) != sampled {
				t.Errorf("%s, made to be traced: %t, is otherwise with %v", id, sampled, at.sample)
			}
		}
	}
	// Its random bits alone decide: a quarter of all that can stand there.
	for i, want := range []bool{true, false, false, false} {
		id := engine.OperationID(uuid.UUID{6: 0x70, 8: 0x80 | byte(i)<<4}.String())
		if all.Sampled(id) != true || part.Sampled(id) != want || none.Sampled(id) || (*Tracer)(nil).Sampled(id) {
			t.Errorf("%s: %t, %t, %t", id, all.Sampled(id), part.Sampled(id), none.Sampled(id))
		}
	}
	if all.Sampled("none") || all.Sampled("") {
		t.Error("what is no UUID has a trace")
	}
}

// TestCrossing: the application is told of the span that stands above its own, in the trace that was there; of what is not traced it hears nothing new.
func TestCrossing(t *testing.T) {
	tr := tracer(t, 1)
	traced, untraced := uuid.UUID(tr.newID(true)).String(), uuid.UUID(tr.newID(false)).String()
	const theirs = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
	for name, c := range map[string]struct{ parent, key, trace string }{
		"in a client's trace":         {theirs + "01", "", "4bf92f3577b34da6a3ce929d0e0e4736"},
		"not to be traced":            {theirs + "00", "", ""},
		"for an operation":            {"", `"` + traced + `.paris.1"`, strings.ReplaceAll(traced, "-", "")},
		"for one that is not traced":  {"", `"` + untraced + `.paris"`, ""},
		"with a key of another site":  {"", `"` + traced + `.nantes"`, ""},
		"without anything about that": {"", "", ""},
	} {
		h := http.Header{}
		if c.parent != "" {
			h.Set("Traceparent", c.parent)
		}
		if c.key != "" {
			h["idempotency-key"] = []string{c.key}
		}
		asked := (&http.Request{Method: "POST", Header: h}).WithContext(t.Context())
		if _, err := tr.Crosses("images", asked, func(r *http.Request) (*http.Response, error) {
			got := r.Header.Get("Traceparent")
			switch {
			case c.trace == "" && got != c.parent:
				t.Errorf("%s: the application is told %q", name, got)
			case c.trace != "" && (!strings.HasPrefix(got, "00-"+c.trace+"-") || !strings.HasSuffix(got, "-01") || got == c.parent):
				t.Errorf("%s: the application is told %q", name, got)
			}
			return &http.Response{StatusCode: 200}, nil
		}); err != nil || asked.Header.Get("Traceparent") != c.parent {
			t.Errorf("%s: %v, and the request has %v now", name, err, asked.Header)
		}
	}
}

// TestLogs: what is logged of a request or an operation that is traced names the trace.
func TestLogs(t *testing.T) {
	var out bytes.Buffer
	tr := tracer(t, 1)
	log := tr.Logs(slog.New(slog.NewTextHandler(&out, nil)).With("site", "paris"))
	traced, untraced := uuid.UUID(tr.newID(true)).String(), uuid.UUID(tr.newID(false)).String()
	r, asked := tr.Ask(httptest.NewRequest("GET", "/images", nil), "images", "", "")
	log.With("service", "images").WarnContext(r.Context(), "of a request")
	log.Warn("of an operation", "operation", traced)
	log.Warn("of another one", "operation", untraced)
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"trace_id=" + asked.Trace(), "trace_id=" + strings.ReplaceAll(traced, "-", ""), ""} {
		if want == "" && strings.Contains(lines[i], "trace_id") || !strings.Contains(lines[i], want) {
			t.Errorf("want %q in %s", want, lines[i])
		}
	}
}

// TestALongQueueIsDropped: nothing waits for a collector, and each span that it did not take is counted.
func TestALongQueueIsDropped(t *testing.T) {
	stuck, metrics := make(chan struct{}), prometheus.NewRegistry()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	defer server.Close()
	at, err := url.Parse(server.URL + "/v1/traces")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := New(t.Context(), Config{Endpoint: at, Sample: 1, Site: "paris", Metrics: metrics, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const many = 3 * maxQueue
	for range many {
		_, asked := tr.Ask(httptest.NewRequest("GET", "/", nil), "images", "", "")
		asked.End(200, http.Header{})
	}
	close(stuck)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, m := range families[0].Metric {
		counted[m.Label[0].GetValue()] = m.Counter.GetValue()
	}
	if counted["dropped"] < many-2*maxQueue || counted["sent"] == 0 || counted["sent"]+counted["failed"]+counted["dropped"] != many {
		t.Errorf("of %d spans there are %v", many, counted)
	}
}
