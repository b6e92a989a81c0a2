package acceptance

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/netns"
	"github.com/skerry/skerry/testnet/process"
)

// TestDemo starts the demo as a newcomer does and pastes its walk-through into a shell.
func TestDemo(t *testing.T) {
	n, err := netns.New("laptop")
	if err != nil {
		t.Fatal(err)
	}
	laptop, dir := n.Host("laptop"), t.TempDir()
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	inDir := []string{"env", "XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + dir}
	demo, err := process.Start("the demo", filepath.Join(dir, "out"), laptop.Command(append(inDir, program, "demo")...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer demo.Kill()
	output := func() string { return process.Tail(demo.Log(), 1000) }
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(output(), "Running;"); time.Sleep(10 * time.Millisecond) {
		if err := demo.Ended(); err != nil || time.Now().After(deadline) {
			t.Fatalf("it does not run: %v\n%s", err, output())
		}
	}
	var script []string
	for _, line := range regexp.MustCompile(`(?m)^    (.*)$`).FindAllStringSubmatch(output(), -1) {
		script = append(script, line[1])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	argv := laptop.Command(append(inDir, "bash", "-e", "-c", strings.Join(script, "\n"))...)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("the walk-through fails: %v\n%s\n---\n%s", err, out, output())
	}
	rest := string(out)
	for _, want := range []string{
		`checked at nantes`, `from paris.*checked at nantes`, `from paris.*checked at nantes`, // at each, then at both
		`"name":"shared"`, `"of both"`, `"name":"alone"`, `"name":"either"`,
		`"name":"local"`, `"name":"alone".*"name":"local"|"name":"local".*"name":"alone"`,
		`"count":5`, `"count":8`, `"count":4`, `"count":4`, `Skerry-Missing: nantes`, `"count":8`,
		`"name":"blue".*"name":"yellow"`, `name-taken`, `mismatched owners`, `relied-on`, `reliance`,
	} {
		at := regexp.MustCompile(want).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("it does not show %s in its turn; all of it:\n%s", want, out)
		}
		rest = rest[at[1]:]
	}
	if err := demo.Stop(20 * time.Second); err != nil {
		t.Error(err, output())
	}
	left, err := filepath.Glob(filepath.Join(dir, "skerry-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v behind (%v):\n%s", left, err, output())
	}
}
