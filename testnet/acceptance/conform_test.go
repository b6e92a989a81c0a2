package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/testnet/apps/habits"
	"github.com/skerry/skerry/testnet/conform"
)

// TestConformance has two instances of lab changed at both sides of a cut, with each pair of operations, by the command that anyone may run on an
// application of their own. What it says is what direct clients are shown.
func TestConformance(t *testing.T) {
	dir := t.TempDir()
	catalog := filepath.Join(dir, "lab.yaml")
	write := func(path string, text []byte) string {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{"catalog", "conform", write(catalog, conform.Lab.Catalog), "--yes", "-o", "json", "--patience", patience.String()}
	for _, kind := range []string{"networks/network", "networks/port", "servers/key"} {
		body := write(filepath.Join(dir, filepath.Base(kind)+".json"), conform.Lab.Bodies[kind].Text)
		args = append(args, "--kind", kind, "--body", kind+"="+body)
	}
	for _, flag := range []string{"--upstream", "--other"} {
		upstreams, stop, err := conform.Lab.Start(t.Context(), filepath.Join(dir, flag))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
		for service, at := range upstreams {
			args = append(args, flag, service+"="+at)
		}
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, errs.Bytes(), out.Bytes())
	}
	var report conform.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"networks/network": 97, "networks/port": 65, "servers/key": 113}
	for _, k := range report.Kinds {
		if k.Counts[conform.Same] != len(k.Cases) || len(k.Cases) != want[k.Kind] || k.Deleted.Gone != k.Deleted.Of || k.Deleted.Of < len(k.Cases)/2 {
			t.Errorf("%s: of %d pairs it says %v, of deleted ones %+v; not taken %v", k.Kind, len(k.Cases), k.Counts, k.Deleted, k.NotTaken)
		}
		delete(want, k.Kind)
	}
	if len(want) > 0 {
		t.Errorf("it has left out %v", want)
	}
}

// TestHabits has applications that answer as real ones do, in envelopes, without bodies, in forms, with states that come later, changed at both
// sides of a cut. Where clients may give one name twice, a person is asked, and told so; everything else ends the same.
func TestHabits(t *testing.T) {
	asked := map[string]string{"hal": "create", "unique": "create"} // identifiers made of names, names that are given once
	for _, k := range habits.All {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			a := conform.WithHabits(k)
			report, err := a.Conformance(context.WithoutCancel(t.Context()), program, t.TempDir(), func(c *conform.Conformance) { c.Patience = patience })
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range report.Kinds {
				if len(kind.Cases) < 9 || len(kind.Deleted.Left) > 0 || kind.Untried != "" {
					t.Errorf("%s: %d pairs, untried %q, deleted %+v; not taken %v", kind.Kind, len(kind.Cases), kind.Untried, kind.Deleted, kind.NotTaken)
				}
				for _, c := range kind.Cases {
					waits := c.Verdict == conform.Asked && c.First == asked[k.Name] && c.Second == c.First
					if c.Verdict != conform.Same && !waits {
						t.Errorf("%s × %s: %s: %s", c.First, c.Second, c.Verdict, c.Why)
					}
				}
			}
		})
	}
}
