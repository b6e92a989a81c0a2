package skerry_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// refusing finds the types of what the code refuses.
var refusing = []*regexp.Regexp{
	regexp.MustCompile(`Refusal\{[^}]*?Type: "([a-z-]+)"`),
	regexp.MustCompile(`[rR]efuse\([^()"]*(?:\([^()]*\))?[^()"]*"([a-z-]+)"`),
	regexp.MustCompile(`problem\.Write\([^"]*"([a-z-]+)"`),
}

// TestProblemsAreDescribed finds a type of refusal that docs/problems.md does not tell what to do about.
func TestProblemsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("docs/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range goFiles(t) {
		if f.test || within("testnet", f.folder) || within("web/webtest", f.folder) || within("web/page", f.folder) {
			continue
		}
		code, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range refusing {
			for _, m := range pattern.FindAllStringSubmatch(string(code), -1) {
				found[m[1]] = f.path
			}
		}
	}
	if len(found) < 40 {
		t.Fatalf("only %d types were found: %v", len(found), found)
	}
	for typ, path := range found {
		if !strings.Contains(string(page), "`"+typ+"`") {
			t.Errorf("%s refuses with %q, which docs/problems.md does not have", path, typ)
		}
	}
}
