package skerry_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreExplained finds a module that go.mod requires for the code itself and that ARCHITECTURE.md does not give a reason for.
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
	version := regexp.MustCompile(`^v\d+$`)
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:require )?([a-z0-9.]+\.[a-z]+/\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		name := path.Base(m[1])
		if version.MatchString(name) {
			name = path.Base(path.Dir(m[1]))
		}
		if !strings.Contains(why, name) {
			t.Errorf("no reason is given for %s", m[1])
		}
	}
}
