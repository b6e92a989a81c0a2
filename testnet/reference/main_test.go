package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryKeyIsDescribed: what the configuration's readers take has a line.
func TestEveryKeyIsDescribed(t *testing.T) {
	page, err := page(filepath.Join("..", "..", "cmd", "agent"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "cmd", "agent", "config*.go"))
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, path := range files {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`\.(?:Optional|Required)\("(\w+)"\)|count\(\w+, "(\w+)"`).FindAllStringSubmatch(string(code), -1) {
			key := m[1] + m[2]
			taken++
			if !regexp.MustCompile("[.`]" + key + "[`,]|- " + key + ": ").Match(page) {
				t.Errorf("%s takes the key %q, which no comment describes", filepath.Base(path), key)
			}
		}
	}
	if taken < 50 {
		t.Errorf("there are %d keys: the pattern does not find them", taken)
	}
}

// TestPageIsCurrent: "make generate" writes it.
func TestPageIsCurrent(t *testing.T) {
	page, err := page(filepath.Join("..", "..", "cmd", "agent"))
	if err != nil {
		t.Fatal(err)
	}
	if there, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "configuration.md")); err != nil || string(there) != string(page) {
		t.Errorf("docs/reference/configuration.md is not what the comments say (%v): make generate", err)
	}
}

// TestEveryCallIsThere: each path of the document has a line, and "make generate" has written the page.
func TestEveryCallIsThere(t *testing.T) {
	document := filepath.Join("..", "..", "web", "api", "openapi.yaml")
	page, err := rest(document)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile(`(?m)^  (/[^:]*):$`).FindAllStringSubmatch(string(text), -1)
	for _, m := range paths {
		if !strings.Contains(string(page), " "+m[1]+"`**") {
			t.Errorf("%s is left out", m[1])
		}
	}
	if len(paths) < 50 {
		t.Errorf("there are %d paths: the pattern does not find them", len(paths))
	}
	if there, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "rest.md")); err != nil || string(there) != string(page) {
		t.Errorf("docs/reference/rest.md is not what the document says (%v): make generate", err)
	}
}

// TestNoGoNames: people who write the file do not know Go's names.
func TestNoGoNames(t *testing.T) {
	page, err := page(filepath.Join("..", "..", "cmd", "agent"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"DataDir", "TokenFile", "ValueFile", " is true for"} {
		if strings.Contains(string(page), name) {
			t.Errorf("the page says %q", name)
		}
	}
}

// TestEveryKeyOfTheCatalogIsDescribed: what the catalog's reader takes stands in one of the pages about it.
func TestEveryKeyOfTheCatalogIsDescribed(t *testing.T) {
	root := filepath.Join("..", "..")
	var pages []byte
	for _, name := range []string{"catalog.md", "resolution.md", "cross.md", "relations.md"} {
		b, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, b...)
	}
	files, err := filepath.Glob(filepath.Join(root, "glue", "catalog*.go"))
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, path := range files {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`\.(?:Optional|Required)\("([\w-]+)"\)`).FindAllStringSubmatch(string(code), -1) {
			taken[m[1]] = true
			if !regexp.MustCompile(`(^|[^\w-])` + m[1] + `([^\w-]|$)`).Match(pages) {
				t.Errorf("%s takes the key %q, which no page describes", filepath.Base(path), m[1])
			}
		}
	}
	if len(taken) < 50 {
		t.Errorf("there are %d keys: the pattern does not find them", len(taken))
	}
}
