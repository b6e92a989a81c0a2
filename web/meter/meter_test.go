package meter

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skerry/skerry/engine"
)

var request = Request{At: time.Date(2026, 11, 24, 9, 5, 3, 0, time.FixedZone("", 3600)), Service: "images", Client: netip.MustParseAddr("192.0.2.7"), Scope: "paris & nantes",
	Method: "PUT", Path: "/images/1", Proto: "HTTP/1.1", Status: 201, Length: 12, Took: 1500 * time.Microsecond}

func TestLines(t *testing.T) {
	odd := Request{At: request.At, Service: "images", Method: "GET", Path: "/a\"b\\c\x7f\n127.0.0.1 é", Proto: "HTTP/1.1", Status: 0, Length: -1}
	for _, c := range []struct {
		format Format
		r      Request
		line   string
	}{
		{JSON, request, `{"time":"2026-11-24T08:05:03Z","service":"images","client":"192.0.2.7","method":"PUT","path":"/images/1","protocol":"HTTP/1.1","scope":"paris \u0026 nantes","status":201,"bytes":12,"duration_ms":1.5}`},
		{JSON, Request{At: request.At, Service: "images", Status: 400, Length: -1}, `{"time":"2026-11-24T08:05:03Z","service":"images","status":400,"duration_ms":0}`},
		{Common, request, `192.0.2.7 - - [24/Nov/2026:09:05:03 +0100] "PUT /images/1 HTTP/1.1" 201 12`},
		{Common, odd, `- - - [24/Nov/2026:09:05:03 +0100] "GET /a\"b\\c\x7f\n127.0.0.1 \u00e9 HTTP/1.1" 000 -`},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path, c.format, 1, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		l.write(c.r)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(path); string(b) != "before\n"+c.line+"\n" {
			t.Errorf("got  %s\nwant %s", b, c.line)
		}
	}
}

// TestSample: of the good ones some are written, of the bad ones all.
func TestSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := Open(path, Common, 10, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		r := request
		if i%25 == 0 {
			r.Status = 503
		}
		l.write(r)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(path)
	if good, bad := strings.Count(string(b), " 201 "), strings.Count(string(b), " 503 "); good != 9 || bad != 4 {
		t.Errorf("%d good ones are written and %d bad ones", good, bad)
	}
}

// full is a file on a disk that is full for a while.
type full struct {
	bytes.Buffer
	fails bool
}

func (f *full) Write(b []byte) (int, error) {
	if f.fails {
		return 0, errors.New("no space left on device")
	}
	return f.Buffer.Write(b)
}

func (f *full) Close() error { return nil }

// TestFullDisk: lines are lost, and said to be so once; the log goes on when there is room.
func TestFullDisk(t *testing.T) {
	var said bytes.Buffer
	l, err := Open("-", Common, 1, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	f := &full{fails: true}
	l.file = f
	l.out.Reset(f)
	for range 10_000 {
		l.write(request)
	}
	if n := strings.Count(said.String(), "lines of the access log are lost"); n != 1 {
		t.Errorf("it is said %d times that lines are lost: %s", n, said.String())
	}
	f.fails = false
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(f.String(), " 201 12\n"); n == 0 {
		t.Error("nothing is written when there is room again")
	}
}

// TestSeries: a series for each method that HTTP has, one for all that clients make up.
func TestSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMeter(registry, nil, []engine.ServiceName{"images"})
	if err != nil {
		t.Fatal(err)
	}
	m.Tell(request)
	m.Tell(request)
	for _, method := range []string{"", "MADE", "UP"} {
		m.Tell(Request{Service: "images", Method: method, Status: 400})
	}
	m.Tell(Request{Service: "images", Method: "GET"})
	m.Tell(Request{Service: "images", Method: "GET", Status: 999})
	want := map[string]uint64{"PUT 2xx yes": 2, "other 4xx no": 3, "GET none no": 2}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(families[0].Metric); n != len(want) {
		t.Errorf("there are %d series", n)
	}
	for _, s := range families[0].Metric {
		l := map[string]string{}
		for _, p := range s.Label {
			l[p.GetName()] = p.GetValue()
		}
		name := l["method"] + " " + l["class"] + " " + l["scope"]
		if got := s.Histogram.GetSampleCount(); got != want[name] || l["service"] != "images" {
			t.Errorf("%s of %s has %d requests", name, l["service"], got)
		}
	}
}
