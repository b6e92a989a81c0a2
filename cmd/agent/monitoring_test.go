package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v4"
)

// alert is one rule of packaging/monitoring/alerts.yaml.
type alert struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alerts(t *testing.T) []alert {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "packaging", "monitoring", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []alert `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.Unmarshal(b, &file); err != nil || len(file.Groups) != 1 || len(file.Groups[0].Rules) < 10 {
		t.Fatal(err, file)
	}
	return file.Groups[0].Rules
}

// panels returns the expressions of packaging/monitoring/dashboard.json by their panels' titles.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "packaging", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil || len(board.Panels) < 10 {
		t.Fatal(err, len(board.Panels))
	}
	all := map[string][]string{}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			all[p.Title] = append(all[p.Title], x.Expr)
		}
	}
	return all
}

// told is what a live agent tells: the labels of each metric, and the values that each label has in a scrape.
type told struct {
	labels map[string][]string
	values map[string]map[string][]string
}

// live starts an agent and asks it for its metrics.
func live(t *testing.T) told {
	t.Helper()
	cfg, _, err := loadText(t, `
site: paris
data_dir: ./paris
application: ./app.yaml
api: {listen: "127.0.0.1:0"}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
services: {a: {listen: "127.0.0.1:0", upstream: "http://127.0.0.1:9"}}
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
	x := told{map[string][]string{"up": {}}, map[string]map[string][]string{}}
	described := make(chan *prometheus.Desc)
	go func() { a.registry.Describe(described); close(described) }()
	form := regexp.MustCompile(`fqName: "([a-z_]+)", help: ".*", unit: .*, variableLabels: {(.*)}}$`)
	for d := range described {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			x.labels[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
		}
	}
	families, err := a.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if x.labels[f.GetName()] == nil {
			x.labels[f.GetName()] = []string{}
		}
		x.values[f.GetName()] = map[string][]string{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				x.values[f.GetName()][l.GetName()] = append(x.values[f.GetName()][l.GetName()], l.GetValue())
			}
		}
	}
	return x
}

var (
	selector = regexp.MustCompile(`\b(up|skerry_[a-z_]+|process_[a-z_]+|go_[a-z_]+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`^([a-z_]+)(=~|!~|!=|=)"([^"]*)"$`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// closed are the labels of which a scrape shows every value, if it shows the metric.
var closed = []string{"state", "about"}

// wrong says what an expression takes from metrics that no agent has: names, labels, or values of labels.
func (x told) wrong(expr string) (all []string) {
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		all = append(all, "its brackets do not fit")
	}
	ofTarget := []string{"job", "instance", "le"} // of the scrape, and of histograms
	known := slices.Clone(ofTarget)
	found := selector.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 {
		all = append(all, "it names no metric")
	}
	for _, m := range found {
		name := m[1]
		labels, ok := x.labels[name]
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			if base, cut := strings.CutSuffix(name, suffix); cut && !ok {
				labels, ok = x.labels[base]
			}
		}
		if !ok {
			all = append(all, "no agent has "+name)
			continue
		}
		known = append(known, labels...)
		for part := range strings.SplitSeq(strings.Trim(m[2], "{}"), ",") {
			if part == "" {
				continue
			}
			of := matcher.FindStringSubmatch(part)
			switch {
			case of == nil:
				all = append(all, part+" is no matcher")
			case !slices.Contains(labels, of[1]) && !slices.Contains(ofTarget, of[1]):
				all = append(all, name+" has no label "+of[1])
			case slices.Contains(closed, of[1]) && len(x.values[name]) > 0: // else it has nothing to tell yet
				for v := range strings.SplitSeq(of[3], "|") {
					if !slices.Contains(x.values[name][of[1]], v) {
						all = append(all, fmt.Sprintf("%s never has %s=%q", name, of[1], v))
					}
				}
			}
		}
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			if !slices.Contains(known, strings.TrimSpace(label)) {
				all = append(all, "it groups by "+strings.TrimSpace(label)+", which its metrics do not have")
			}
		}
	}
	return all
}

// TestAlertsAndDashboardAskForWhatAnAgentTells compares each expression with what a live agent tells.
func TestAlertsAndDashboardAskForWhatAnAgentTells(t *testing.T) {
	x := live(t)
	for _, a := range alerts(t) {
		for _, w := range x.wrong(a.Expr) {
			t.Errorf("alert %s: %s: %s", a.Alert, w, a.Expr)
		}
	}
	for title, exprs := range panels(t) {
		for _, e := range exprs {
			for _, w := range x.wrong(e) {
				t.Errorf("panel %s: %s: %s", title, w, e)
			}
		}
	}
	for expr, want := range map[string]string{
		"skerry_resurces > 0":                              "no agent has skerry_resurces",
		`skerry_resources{state="convergin"} > 0`:          `never has state="convergin"`,
		`skerry_site_reachable{sites="nantes"} == 0`:       "has no label sites",
		`sum by (about) (skerry_resources)`:                "groups by about",
		`sum(skerry_resources > 0`:                         "brackets do not fit",
		`rate(skerry_service_request_duration_seconds[5])`: "",
	} {
		if got := strings.Join(x.wrong(expr), "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: found %q, want %q", expr, got, want)
		}
	}
}

// TestEachAlertHasARunbook: docs/alerts.md has a part for each alert, with what to do, and for no other.
func TestEachAlertHasARunbook(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(b), "\n## ")[1:]
	var named []string
	for _, p := range parts {
		name, text, _ := strings.Cut(p, "\n")
		named = append(named, name)
		if !strings.Contains(text, "**Means.**") || !strings.Contains(text, "**Do.**") {
			t.Errorf("the part about %s does not say what it means and what to do", name)
		}
	}
	for _, a := range alerts(t) {
		if !slices.Contains(named, a.Alert) {
			t.Errorf("docs/alerts.md says nothing of %s", a.Alert)
		}
		if url := a.Annotations["runbook_url"]; !strings.HasSuffix(url, "/docs/alerts.md#"+strings.ToLower(a.Alert)) || a.Annotations["summary"] == "" {
			t.Errorf("%s has the runbook %q and the summary %q", a.Alert, url, a.Annotations["summary"])
		}
		if s := a.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s has the severity %q", a.Alert, s)
		}
	}
	if len(named) != len(alerts(t)) {
		t.Errorf("docs/alerts.md has %d parts for %d alerts", len(named), len(alerts(t)))
	}
}
