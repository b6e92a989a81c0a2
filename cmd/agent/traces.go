package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/glue/strictyaml"
	"github.com/skerry/skerry/web/traces"
)

func (r *configReader) traces(m *strictyaml.Mapping) {
	t := &Traces{Sample: 1}
	t.Endpoint = readCollector(m.Required("endpoint"))
	if v := m.Optional("sample"); v.Present() {
		if t.Sample = 0; v.Text() != "0%" {
			t.Sample = v.Percent()
		}
	}
	if v := m.Optional("headers"); v.Present() {
		t.Headers = map[string]string{}
		for _, e := range v.Mapping("list of headers").Entries() {
			if !httpguts.ValidHeaderFieldName(e.Key) {
				e.At.Problem("%q is no name of a header", e.Key)
			}
			t.Headers[http.CanonicalHeaderKey(e.Key)] = r.file(e.Value)
		}
	}
	t.CA = r.file(m.Optional("ca"))
	m.Done()
	r.config.Traces = t
}

// readCollector returns the address of a collector, with its path.
func readCollector(v strictyaml.Value) string {
	s := v.Text()
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		v.Problem("expected an address such as http://127.0.0.1:4318, found %q", s)
	case u.User != nil:
		v.Problem(`the address holds a user: secrets go into files, see "headers"`)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		v.Problem("the address %q has more than scheme, host, port and path", s)
	case u.Path == "" || u.Path == "/":
		u.Path = "/v1/traces"
	}
	if err != nil {
		return ""
	}
	return u.String()
}

// newTracer makes what tells the collector.
func (a *Agent) newTracer(ctx context.Context) (*traces.Tracer, error) {
	c := a.cfg.Traces
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("the collector of traces: %w", err)
	}
	var secure *tls.Config
	if c.CA != "" {
		if secure, err = glue.UpstreamTLS(endpoint.Hostname(), c.CA, "", "", false, a.log); err != nil {
			return nil, fmt.Errorf("the collector of traces: %w", err)
		}
	}
	header := func() (http.Header, error) {
		all := http.Header{}
		for name, file := range c.Headers {
			one, err := glue.FileCredentials(name, "", file)()
			if err != nil {
				return nil, fmt.Errorf("a header for the collector: %w", err)
			}
			all[name] = one[name]
		}
		return all, nil
	}
	return traces.New(ctx, traces.Config{Endpoint: endpoint, Sample: c.Sample, TLS: secure, Header: header, Version: a.version, Site: a.cfg.Site,
		Metrics: a.registry, Log: a.log})
}

// lastTraces is how long an agent that stops tries to tell the collector what it has not told yet.
const lastTraces = 2 * time.Second

func (a *Agent) closeTraces() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastTraces)
	defer cancel()
	if err := a.tracer.Close(ctx); err != nil {
		a.log.Warn("the last traces are lost", "err", err)
	}
	return nil
}
