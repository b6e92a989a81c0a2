package acceptance

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

const monitoring = "../../packaging/monitoring"

// quiet are the panels that show nothing where all is well.
var quiet = []string{"Requests that fail", "What waits for a person", "Services that do not take requests", "Sites that cannot be reached", "Sites reached through a relay"}

// TestPrometheusUnderstandsWhatIsPackaged runs Prometheus beside an agent, with the alert rules of the package: each rule and each expression of the
// dashboard is evaluated, panels show something, and a site that is lost has its alert begin.
func TestPrometheusUnderstandsWhatIsPackaged(t *testing.T) {
	rules, err := filepath.Abs(filepath.Join(monitoring, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", rules).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes"}, Application: env.Lab(program)})
	meet(t, e)
	paris, nantes := e.Site("paris"), e.Site("nantes")
	create(t, paris, "{images: sync(paris & nantes)}", `{"name":"debian"}`)

	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: skerry, static_configs: [{targets: [%q]}]}]
`, rules, paris.Config().API), 0o600); err != nil {
		t.Fatal(err)
	}
	const address = "127.0.0.1:9090"
	argv := paris.Host().Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+dir, "--web.listen-address="+address)
	server := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have ended
		_ = server.Wait()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("Prometheus says:\n%s", text)
		}
	})
	ask := func(path string, into any) error {
		a, err := paris.HTTP().Get("http://" + address + path)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		answer := struct {
			Status, Error string
			Data          any
		}{Data: into}
		if err := json.NewDecoder(a.Body).Decode(&answer); err != nil || answer.Status != "success" {
			return fmt.Errorf("%s: %s %s, %w", path, answer.Status, answer.Error, err)
		}
		return nil
	}

	// All rules are evaluated.
	type rule struct {
		Name, Health, LastError, State string
		Alerts                         []struct{ Labels map[string]string }
	}
	evaluated := func() (all []rule, err error) {
		var r struct{ Groups []struct{ Rules []rule } }
		err = ask("/api/v1/rules", &r)
		for _, g := range r.Groups {
			all = append(all, g.Rules...)
		}
		if err == nil && len(all) < 10 {
			err = fmt.Errorf("it has %d rules", len(all))
		}
		return all, err
	}
	e.Eventually(t, patience, "all rules are evaluated", func() error {
		all, err := evaluated()
		for _, r := range all {
			if r.Health != "ok" {
				return fmt.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
		return err
	})

	// So are the panels.
	file, err := os.ReadFile(filepath.Join(monitoring, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(file, &board); err != nil || len(board.Panels) < 10 {
		t.Fatalf("%d panels, %v", len(board.Panels), err)
	}
	variables := strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m")
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			e.Eventually(t, patience, p.Title+" shows something", func() error {
				var found struct{ Result []any }
				if err := ask("/api/v1/query?query="+url.QueryEscape(variables.Replace(x.Expr)), &found); err != nil {
					return err
				}
				if len(found.Result) == 0 && !slices.Contains(quiet, p.Title) {
					return fmt.Errorf("%s is nothing", x.Expr)
				}
				return nil
			})
		}
	}

	nantes.Kill(t)
	e.Eventually(t, patience, "the alert of a lost site begins", func() error {
		all, err := evaluated()
		for _, r := range all {
			if r.Name == "SkerrySiteUnreachable" && r.State != "inactive" && len(r.Alerts) == 1 && r.Alerts[0].Labels["site"] == "nantes" {
				return nil
			}
		}
		return fmt.Errorf("there are %+v, %w", all, err)
	})
}
