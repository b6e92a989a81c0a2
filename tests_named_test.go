package skerry_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	named  = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	tested = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// testsOf are the names of all tests of the tree.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, text := range files(t, "*_test.go") {
		for _, m := range tested.FindAllStringSubmatch(text, -1) {
			all[m[1]] = true
		}
	}
	return all
}

// files are the texts of those files of the tree that match, by path.
func files(t *testing.T, pattern string) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", pattern).Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range strings.Fields(string(out)) {
		if text, err := os.ReadFile(path); err == nil { // else it was deleted, and that is not committed
			all[path] = string(text)
		}
	}
	return all
}

// TestPagesNameTestsThatThereAre finds a test that a page names, and that there is none of.
func TestPagesNameTestsThatThereAre(t *testing.T) {
	tests, n := testsOf(t), 0
	for page, text := range files(t, "*.md") {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if n++; !tests[m[1]] {
				t.Errorf("%s names %s, and there is none", page, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no page names a test")
	}
}
