package skerry_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependenciesAreExplained finds a module that go.mod requires for the code itself, or a tool, that ARCHITECTURE.md does not give a reason
// for, and a reason for what is not there any more.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, why, found := strings.Cut(string(text), "\n## Dependencies\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no section on dependencies")
	}
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \|`).FindAllStringSubmatch(why, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			explained[name[1]] = true
		}
	}
	needed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\t|require )(\S+\.\S+/\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		needed[m[1]] = true
	}
	_, tools, _ := strings.Cut(string(mod), "\ntool (\n")
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+/\S+)$`).FindAllStringSubmatch(tools, -1) {
		needed[m[1]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if !explained[name] {
			t.Errorf("no reason is given for %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(explained)) {
		if !needed[name] {
			t.Errorf("a reason is given for %s, which go.mod does not name", name)
		}
	}
}

const automerge = "github.com/automerge/automerge-go"

// TestAutomergeIsInTestsAlone keeps what others have compiled out of the program.
func TestAutomergeIsInTestsAlone(t *testing.T) {
	for _, path := range strings.Fields(run(t, "go", "list", "-deps", "./cmd/skerry")) {
		if within(automerge, path) {
			t.Errorf("the program has %s linked in", path)
		}
	}
}

// TestArchivesOfAutomerge compares the archives that tests link in with those that docs/supply-chain.md names.
func TestArchivesOfAutomerge(t *testing.T) {
	text, err := os.ReadFile("docs/supply-chain.md")
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Version, Dir string }
	if err := json.Unmarshal([]byte(run(t, "go", "mod", "download", "-json", automerge)), &module); err != nil { // nothing else here needs it on disk
		t.Fatal(err)
	}
	if !strings.Contains(string(text), module.Version) {
		t.Errorf("docs/supply-chain.md is about another version than %s", module.Version)
	}
	sums := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `deps/(\\S+)` \\| `([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(text), -1) {
		sums[row[1]] = row[2]
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "deps", "*.a"))
	if err != nil || len(files) == 0 || len(files) != len(sums) {
		t.Errorf("there are %d archives (%v), and the sums of %d", len(files), err, len(sums))
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(b); sums[filepath.Base(file)] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has the sum %x", filepath.Base(file), sum)
		}
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
