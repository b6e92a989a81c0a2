package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCommandsAreDescribed: "make generate" writes the page of all commands.
func TestCommandsAreDescribed(t *testing.T) {
	folder := t.TempDir()
	if status := run([]string{"man", "--markdown", folder}, surroundings{out: os.Stderr, errs: os.Stderr, getenv: func(string) string { return "" }, now: clock}); status != exitDone {
		t.Fatal(status)
	}
	page, err := os.ReadFile(filepath.Join(folder, "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "commands.md"))
	if err != nil || string(there) != string(page) {
		t.Errorf("docs/reference/commands.md is not what the commands say (%v): make generate", err)
	}
}
