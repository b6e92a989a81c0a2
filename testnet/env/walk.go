package env

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

// waiting has what the walk-through sleeps for come true: no site says that something has yet to come about. A person would look again.
const waiting = `sleep() {
	command sleep "$1"
	while curl -s http://127.0.0.1:870{1,2,3}/api/v1/resources | grep -q '"state":"converging"'; do command sleep 0.1; done
	command sleep 1
}`

// Walk starts the demo as a newcomer does, on a host of its own, pastes its walk-through into a shell and returns what that shows,
// as Shows wants it. More commands may follow. Starting and pasting may take so long each. At the end the demo is stopped and has to leave nothing behind.
func Walk(t *testing.T, within time.Duration, program string, more []string, args ...string) string {
	t.Helper()
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
	demo, err := process.Start("the demo", filepath.Join(dir, "out"), laptop.Command(append(append(inDir, program, "demo"), args...)...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer demo.Kill()
	output := func() string { return process.Tail(demo.Log(), 1000) }
	for deadline := time.Now().Add(within); !strings.Contains(output(), "Running;"); time.Sleep(10 * time.Millisecond) {
		if err := demo.Ended(); err != nil || time.Now().After(deadline) {
			t.Fatalf("it does not run: %v\n%s", err, output())
		}
	}
	script := []string{waiting}
	for _, line := range regexp.MustCompile(`(?m)^    (.*)$`).FindAllStringSubmatch(output(), -1) {
		script = append(script, line[1])
	}
	script = append(script, more...)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	argv := laptop.Command(append(inDir, "bash", "-e", "-c", strings.Join(script, "\n"))...)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("the walk-through fails: %v\n%s\n---\n%s", err, out, output())
	}
	if err := demo.Stop(within); err != nil {
		t.Error(err, output())
	}
	left, err := filepath.Glob(filepath.Join(dir, "skerry-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v behind (%v):\n%s", left, err, output())
	}
	return string(out)
}

// Shows wants a text to have what the regular expressions match, one after the other.
func Shows(t *testing.T, text string, wanted ...string) {
	t.Helper()
	rest := text
	for _, want := range wanted {
		at := regexp.MustCompile(want).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("it does not show %s in its turn; all of it:\n%s", want, text)
		}
		rest = rest[at[1]:]
	}
}
