package skerry_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	// unanchored is what an anchor leaves out of a heading.
	unanchored = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks finds a link in a page that leads to no file, or to no heading of it. What is elsewhere is not asked.
func TestLinks(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	anchors := func(path string) map[string]bool {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			words := link.ReplaceAllString(strings.NewReplacer("[", "", "`", "").Replace(h[1]), "")
			all[strings.ReplaceAll(unanchored.ReplaceAllString(strings.ToLower(words), ""), " ", "-")] = true
		}
		return all
	}
	links := 0
	for _, page := range strings.Fields(string(out)) {
		text, err := os.ReadFile(page)
		if err != nil {
			continue // it was deleted and that is not committed
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			links++
			path := filepath.Join(filepath.Dir(page), target)
			if target == "" {
				path = page
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if anchor != "" && strings.HasSuffix(path, ".md") && !anchors(path)[anchor] {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}
