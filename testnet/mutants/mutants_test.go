package mutants

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// root is the module's folder, from this one.
const root = "../.."

// shares is how many days it takes to plant all faults, some a day: most of the time goes into building what has the fault.
const shares = 10

var all = flag.Bool("mutants.all", false, "plant all faults, and not those of today alone")

// today are the mutants that are planted today.
func today() []mutant {
	list := planted()
	if *all {
		return list
	}
	var some []mutant
	for i := int(time.Now().Unix()/86400) % shares; i < len(list); i += shares {
		some = append(some, list[i])
	}
	return some
}

// TestMutants plants one fault after the other in a copy of the files that it is in and runs the test that has to find it.
// The tree itself stays as it is.
func TestMutants(t *testing.T) {
	var caught atomic.Int32
	list := today()
	t.Cleanup(func() {
		t.Logf("%d of %d mutants caught; there are %d (-mutants.all)", caught.Load(), len(list), len(planted()))
	})
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if err := m.caught(t, m.plant(t)); err != nil {
				t.Error(err)
				return
			}
			caught.Add(1)
		})
	}
}

// changed are the files that the fault is in, by their paths, with the fault in place. It fails where the place is not found once.
func (m mutant) changed(t *testing.T) map[string]string {
	t.Helper()
	changed := map[string]string{}
	for _, e := range m.edits {
		path, err := filepath.Abs(filepath.Join(root, e.file))
		if err != nil {
			t.Fatal(err)
		}
		text, ok := changed[path]
		if !ok {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("%s has %d times\n%s\nwhere the fault is to be planted: mend the table in testnet/mutants", e.file, n, e.old)
		}
		changed[path] = strings.Replace(text, e.old, e.now, 1)
	}
	return changed
}

// plant writes the changed files elsewhere and returns the file that tells go where they are.
func (m mutant) plant(t *testing.T) string {
	t.Helper()
	dir, changed := t.TempDir(), m.changed(t)
	replace := map[string]string{}
	for path, text := range changed {
		copied := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = copied
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// caught runs the finder and returns an error unless it fails, by itself and not because nothing could be built or run.
func (m mutant) caught(t *testing.T, overlay string) error {
	var pattern []string
	for part := range strings.SplitSeq(m.finder, "/") {
		pattern = append(pattern, "^"+strings.TrimSuffix(part, "$")+"$")
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet", "off", "-count", "1", "-timeout", "10m",
		"-run", strings.Join(pattern, "/"), "./"+m.folder)
	cmd.Dir = root
	// By the environment, so that programs which the test builds have the fault as well.
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	out, err := cmd.CombinedOutput()
	name, _, _ := strings.Cut(m.finder, "/")
	switch {
	case err == nil:
		return fmt.Errorf("%s passes with the fault in place\n%s", m.finder, out)
	case !strings.Contains(string(out), "--- FAIL: "+name):
		return fmt.Errorf("%s did not run: %w\n%s", m.finder, err, out)
	}
	return nil
}
