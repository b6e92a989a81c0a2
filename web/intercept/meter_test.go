package intercept

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/meter"
)

// TestInvariantNothingHidden: every request of a client is counted once, whoever answers it: the door, the handler, or neither because
// nobody can read it or the application is gone.
func TestInvariantNothingHidden(t *testing.T) {
	for _, c := range []struct {
		request string
		down    bool // the application
		series  string
	}{
		{request: "GET /x HTTP/1.1", series: "GET 2xx no"},
		{request: "GET /x HTTP/1.1\nScope: paris", series: "GET 2xx yes"},
		{request: "GET /x HTTP/1.0", series: "GET 2xx no"},
		{request: "GET /x HTTP/1.0\nScope: paris", series: "GET 2xx yes"},
		{request: "GET /x HTTP/1.1\nScope: (paris", series: "GET 4xx yes"},
		{request: "REPORT /x HTTP/1.1", series: "other 2xx no"},
		{request: "GET  /x HTTP/1.1", series: "other 4xx no"},
		{request: "GET /x HTTP/1.1\nTransfer-Encoding: gzip", series: "other 5xx no"},
		{request: "GET /x HTTP/1.1\nX-Long: " + strings.Repeat("x", 2<<20), series: "other 4xx no"},
		{request: "GET /x HTTP/1.1", down: true, series: "GET 5xx no"},
		{request: "GET /x HTTP/1.0", down: true, series: "GET 5xx no"},
	} {
		s := newMesh(t).sites[paris]
		registry := prometheus.NewRegistry()
		counted, err := meter.NewMeter(registry, nil, []engine.ServiceName{"images"})
		if err != nil {
			t.Fatal(err)
		}
		s.handler.Meter = counted
		if c.down {
			s.handler.Client.CloseIdle()
			s.app.close()
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		line, headers, _ := strings.Cut(c.request, "\n")
		_, _ = fmt.Fprintf(conn, "%s\r\nHost: h\r\nConnection: close\r\n%s\r\n\r\n", line, headers)
		if _, err := io.ReadAll(conn); err != nil {
			t.Error(err)
		}
		conn.Close()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			for _, m := range f.Metric {
				l := map[string]string{}
				for _, p := range m.Label {
					l[p.GetName()] = p.GetValue()
				}
				for range m.Histogram.GetSampleCount() {
					got = append(got, l["method"]+" "+l["class"]+" "+l["scope"])
				}
			}
		}
		if len(got) != 1 || got[0] != c.series {
			t.Errorf("%.80q, the application down: %v, is counted as %q, not %q", c.request, c.down, got, c.series)
		}
	}
}
