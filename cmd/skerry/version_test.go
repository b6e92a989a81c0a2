package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
)

// TestUpgradePageNamesVersions: the page has those that the program has.
func TestUpgradePageNamesVersions(t *testing.T) {
	page, err := os.ReadFile("../../docs/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	_, newest := storage.Versions()
	protocols := strings.ReplaceAll(strings.Join(engine.Protocols(), " "), "/skerry/", "")
	for _, want := range []string{fmt.Sprintf("| store, the database in `data_dir` | %d |", newest), "| protocols between agents | " + protocols + " |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/upgrade.md does not have %q", want)
		}
	}
}
