package acceptance

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/skerry/skerry/testnet/env"
)

// span is one that a collector was told.
type span struct {
	*otlp.Span
	site string
}

func (s span) trace() string  { return hex.EncodeToString(s.TraceId) }
func (s span) id() string     { return hex.EncodeToString(s.SpanId) }
func (s span) parent() string { return hex.EncodeToString(s.ParentSpanId) }

// String is what a person recognises it by.
func (s span) String() string {
	return fmt.Sprintf("%s %s %s", s.site, strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")), s.Name)
}

// collecting takes what agents tell, each at an address of its own machine.
type collecting struct {
	mu    sync.Mutex
	spans []span
	asked map[string]int // by site
	away  bool
	wrong []error
}

// at takes what the agent of a site tells.
func (c *collecting) at(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked[name]++
		if c.away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var request collector.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err == nil && (r.URL.Path != "/v1/traces" || r.Header.Get("X-Scope-Orgid") != "edge") {
			err = fmt.Errorf("%s tells %s with %v", name, r.URL.Path, r.Header)
		}
		if err != nil {
			c.wrong = append(c.wrong, err)
			return
		}
		for _, of := range request.ResourceSpans {
			about := map[string]string{}
			for _, a := range of.Resource.Attributes {
				about[a.Key] = a.Value.GetStringValue()
			}
			if about["service.name"] != "skerry" || about["skerry.site"] != name || about["service.instance.id"] != name {
				c.wrong = append(c.wrong, fmt.Errorf("%s says of itself %v", name, about))
			}
			for _, scope := range of.ScopeSpans {
				for _, s := range scope.Spans {
					c.spans = append(c.spans, span{s, name})
				}
			}
		}
	})
}

// of are the spans of a trace.
func (c *collecting) of(trace string) (list []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.trace() == trace {
			list = append(list, s)
		}
	}
	return list
}

// wait waits until a trace has these spans, each with the one that it stands below, "" for none here, and returns them. There may be more: an
// agent on a slow machine asks again what came of a request.
func (c *collecting) wait(t *testing.T, e *env.Env, trace string, want map[string]string) map[string]span {
	t.Helper()
	found := map[string]span{}
	e.Eventually(t, patience, "a trace is whole", func() error {
		spans := c.of(trace)
		byID := map[string]string{}
		clear(found)
		for _, s := range spans {
			byID[s.id()], found[s.String()] = s.String(), s
		}
		got := map[string]string{}
		for _, s := range spans {
			got[s.String()] = byID[s.parent()]
		}
		for name, above := range want {
			if is, there := got[name]; !there || is != above {
				return fmt.Errorf("%q below %q; got %v", name, above, got)
			}
		}
		return nil
	})
	return found
}

func traceOf(operation string) string { return strings.ReplaceAll(operation, "-", "") }

// TestTraces: what a client asks is one trace through all sites, and so it is in the client's own; what is not sampled, and what a site does that is
// to trace nothing, nobody tells; and a collector that is away keeps nobody waiting.
func TestTraces(t *testing.T) {
	c := &collecting{asked: map[string]int{}}
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes", "toulouse", "lyon"}, Application: env.Lab(program),
		Prepare: func(s *env.Site) error {
			l, err := s.Host().Listen("127.0.0.1:4318")
			if err != nil {
				return err
			}
			server := &http.Server{Handler: c.at(s.Name())}
			go func() { _ = server.Serve(l) }()
			t.Cleanup(func() { server.Close() })
			tenant := filepath.Join(s.Config().Dir, "tenant")
			if s.Name() != "lyon" {
				s.Config().Extra = "traces: {endpoint: http://127.0.0.1:4318, headers: {X-Scope-OrgID: " + tenant + "}}\naccess_log: {file: access.log}\n"
			}
			return os.WriteFile(tenant, []byte("edge\n"), 0o600)
		}})
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	const three, two = "{images: sync(paris & nantes & toulouse)}", "{images: sync(paris & nantes)}"

	// Its client does not want it traced.
	unsampled := prompt(t, paris, "POST /images", `{"name":"quiet"}`, "Scope", three, "Traceparent", "00-11111111111111111111111111111111-2222222222222222-00").Must(t, 201)

	// One create at three sites is one trace.
	made := prompt(t, paris, "POST /images", `{"name":"debian"}`, "Scope", three).Must(t, 201)
	root := "paris server POST images"
	found := c.wait(t, e, traceOf(made.Header.Get("Skerry-Operation")), map[string]string{
		root: "", "paris client POST application": root, "paris internal create image": root,
		"nantes consumer create image": root, "nantes client POST application": "nantes consumer create image",
		"toulouse consumer create image": root, "toulouse client POST application": "toulouse consumer create image",
	})
	for name, s := range found {
		if s.EndTimeUnixNano < s.StartTimeUnixNano || s.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR {
			t.Errorf("%s: from %d to %d, %v", name, s.StartTimeUnixNano, s.EndTimeUnixNano, s.Status)
		}
	}

	// A request that another site answers is in its client's trace, and what they say of the trace goes on.
	const theirs = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent := []string{"Traceparent", "00-" + theirs + "-00f067aa0ba902b7-01", "Tracestate", "vendor=1"}
	prompt(t, paris, "GET /images", "", append(parent, "Scope", "{images: nantes}")...).Must(t, 200)
	found = c.wait(t, e, theirs, map[string]string{
		"paris server GET images": "", "paris client GET at nantes": "paris server GET images",
		"nantes server GET images": "paris client GET at nantes", "nantes client GET application": "nantes server GET images",
	})
	if s := found["paris server GET images"]; s.parent() != "00f067aa0ba902b7" || s.TraceState != "vendor=1" || found["nantes client GET application"].TraceState != "vendor=1" {
		t.Errorf("of the client's context there is %q, %q", s.parent(), s.TraceState)
	}

	// An operation of a client with a trace of its own: each trace links to the other.
	const linked = "5bf92f3577b34da6a3ce929d0e0e4736"
	parent[1] = "00-" + linked + "-00f067aa0ba902b7-01"
	made = prompt(t, paris, "POST /images", `{"name":"linked"}`, append(parent, "Scope", two)...).Must(t, 201)
	operation := traceOf(made.Header.Get("Skerry-Operation"))
	there := c.wait(t, e, operation, map[string]string{
		"paris internal operation": "", "paris internal create image": "paris internal operation",
		"nantes consumer create image": "paris internal operation", "nantes client POST application": "nantes consumer create image",
	})
	here := c.wait(t, e, linked, map[string]string{root: "", "paris client POST application": root})
	if links := there["paris internal operation"].Links; len(links) != 1 || hex.EncodeToString(links[0].SpanId) != here[root].id() {
		t.Errorf("the operation links to %v", links)
	}
	if links := here[root].Links; len(links) != 1 || hex.EncodeToString(links[0].SpanId) != there["paris internal operation"].id() {
		t.Errorf("the request links to %v", links)
	}

	// What passes as it is has a span, and its crossing to the application as well, which began after it.
	const plain = "6bf92f3577b34da6a3ce929d0e0e4736"
	prompt(t, nantes, "GET /networks", "", "Traceparent", "00-"+plain+"-00f067aa0ba902b7-01")
	found = c.wait(t, e, plain, map[string]string{"nantes server GET images": "", "nantes client GET application": "nantes server GET images"})
	if asked, crossing := found["nantes server GET images"], found["nantes client GET application"]; asked.parent() != "00f067aa0ba902b7" ||
		crossing.StartTimeUnixNano < asked.StartTimeUnixNano || crossing.EndTimeUnixNano != asked.EndTimeUnixNano || crossing.EndTimeUnixNano < crossing.StartTimeUnixNano {
		t.Errorf("what has passed was told as %v, its crossing as %v", asked.Span, crossing.Span)
	}

	// The access log has the same identifiers.
	e.Eventually(t, patience, "the access log names the trace", func() error {
		b, err := os.ReadFile(filepath.Join(paris.Config().Dir, "access.log"))
		if err == nil && !strings.Contains(string(b), `"trace_id":"`+linked+`"`) {
			err = fmt.Errorf("it is %s", b)
		}
		return err
	})

	// Who is to trace nothing by itself chooses identifiers that no site traces, and a site without a collector tells nobody.
	paris.Stop(t)
	paris.Config().Extra = strings.Replace(paris.Config().Extra, "traces: {", "traces: {sample: 0%, ", 1)
	paris.Start(t)
	meet(t, e)
	none := prompt(t, paris, "POST /images", `{"name":"none"}`, "Scope", "{images: sync(paris & nantes & lyon)}").Must(t, 201)
	last := prompt(t, nantes, "POST /images", `{"name":"last"}`, "Scope", "{images: sync(nantes & paris)}").Must(t, 201)
	c.wait(t, e, traceOf(last.Header.Get("Skerry-Operation")), map[string]string{
		"nantes server POST images": "", "nantes client POST application": "nantes server POST images", "nantes internal create image": "nantes server POST images",
		"paris consumer create image": "nantes server POST images", "paris client POST application": "paris consumer create image",
	})
	for _, trace := range []string{traceOf(none.Header.Get("Skerry-Operation")), traceOf(unsampled.Header.Get("Skerry-Operation")), strings.Repeat("1", 32)} {
		if got := c.of(trace); len(got) > 0 {
			t.Errorf("of %s there is %v", trace, got)
		}
	}

	c.mu.Lock()
	c.away = true
	c.mu.Unlock()
	prompt(t, nantes, "POST /images", `{"name":"away"}`, "Scope", two).Must(t, 201)
	e.Eventually(t, patience, "what is lost is counted", func() error {
		m := nantes.API(t, "GET /metrics", "").Must(t, 200).Body
		i := strings.Index(m, `skerry_trace_spans_total{what="failed"} `)
		if i < 0 || strings.HasPrefix(m[i:], `skerry_trace_spans_total{what="failed"} 0`) {
			return fmt.Errorf("it says %.60s", m[max(i, 0):])
		}
		return nil
	})
	if strings.Contains(e.Site("lyon").API(t, "GET /metrics", "").Must(t, 200).Body, "skerry_trace") {
		t.Error("a site that traces nothing has a metric of traces")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked["lyon"] > 0 || len(c.wrong) > 0 {
		t.Errorf("lyon has told something %d times; %v", c.asked["lyon"], c.wrong)
	}
	if !slices.ContainsFunc(c.spans, func(s span) bool { return s.site == "toulouse" }) {
		t.Error("toulouse has told nothing")
	}
}
