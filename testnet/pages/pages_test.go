package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages makes the site and finds links that lead nowhere, and pages that nothing leads to.
func TestPages(t *testing.T) {
	root, folder := filepath.Join("..", ".."), t.TempDir()
	s, err := open(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.broken() {
		t.Error(p)
	}
	all, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if s.pages["docs/"+filepath.Base(file)] == nil {
			t.Errorf("no page leads to %s", file)
		}
	}
	if len(s.parts) != 4 {
		t.Errorf("there are %d kinds of pages", len(s.parts))
	}
	if err := s.write(folder); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(folder, "docs", "reference", "commands.html"))
	if err != nil || !strings.Contains(string(b), `<a href="../../docs/reference/commands.html" aria-current="page">`) || !strings.Contains(string(b), `href="../../style.css"`) {
		t.Errorf("the page of the commands is %.400s, %v", b, err)
	}
}

// TestBroken: a link to nothing, or to no heading, is told, and so is a page that is not in a list.
func TestBroken(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"README.md": "# A\n\n## One\n\n- [b](b.md#here) [no](b.md#there) [self](#nowhere)\n",
		"b.md":      "# B\n\n## Here\n\n[c](c.md)\n",
		"c.md":      "# C\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "docs", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := open(root)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, p := range s.broken() {
		told = append(told, p.Error())
	}
	want := "docs/README.md links to b.html#there, which has no such heading\ndocs/README.md links to #nowhere, which has no such heading\ndocs/README.md does not list docs/c.md"
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("told:\n%s", got)
	}
	if err := os.Remove(filepath.Join(root, "docs", "c.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(root); err == nil {
		t.Error("a link to a page that is not there is taken")
	}
}
