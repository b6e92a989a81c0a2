package agent

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var updateMetrics = flag.Bool("update-metrics", false, "write the table of docs/metrics.md anew")

// TestMetricsAreDescribed: docs/metrics.md has all metrics of an agent, with their labels, and no others.
func TestMetricsAreDescribed(t *testing.T) {
	cfg, _, err := loadText(t, `
site: paris
data_dir: ./paris
application: ./app.yaml
api: {listen: "127.0.0.1:0"}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
services: {a: {listen: "127.0.0.1:0", upstream: "http://127.0.0.1:9"}}
traces: {endpoint: "http://127.0.0.1:9"}
`)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(context.Background(), cfg, "test", slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}()
	described := make(chan *prometheus.Desc)
	go func() { a.registry.Describe(described); close(described) }()
	form := regexp.MustCompile(`fqName: "(skerry_[a-z_]+)", help: "(.*)", unit: .*, variableLabels: {(.*)}}$`)
	var rows []string
	for d := range described {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			rows = append(rows, "| `"+m[1]+"` | "+strings.ReplaceAll(m[3], ",", ", ")+" | "+m[2]+" |\n")
		}
	}
	slices.Sort(rows)
	doc := filepath.Join("..", "..", "docs", "metrics.md")
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| metric | labels | what it tells |\n| --- | --- | --- |\n"
	before, after, ok := strings.Cut(string(b), head)
	table, rest, _ := strings.Cut(after, "\n\n")
	if want := strings.Join(rows, ""); !ok || len(rows) < 20 || table+"\n" != want {
		if !*updateMetrics {
			t.Fatalf("docs/metrics.md has another table; write it with -update-metrics:\n%s", want)
		}
		if err := os.WriteFile(doc, []byte(before+head+want+"\n"+rest), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
