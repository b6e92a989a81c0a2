package scope

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwners prints the type errors of references as people see them. A case is a scope, then what refers to what:
// "request through pointer: sites that run it -> owners (why it is local)".
func TestOwners(t *testing.T) {
	path := filepath.Join("testdata", "owners.txt")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# "):
			fmt.Fprintf(&got, "%s\n\n", line)
		case strings.HasPrefix(line, "> "):
			fmt.Fprintf(&got, "%s\n%s\n\n", line, showOwners(t, line[2:]))
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(data) {
		t.Errorf("%s differs; got:\n%s", path, firstDifference(got.String(), string(data)))
	}
}

func showOwners(t *testing.T, line string) string {
	t.Helper()
	var r Reference
	text, rest, _ := strings.Cut(line, "  ")
	request, rest, _ := strings.Cut(rest, ": ")
	sites, rest, _ := strings.Cut(rest, " -> ")
	owners, local, _ := strings.Cut(rest, " (")
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	r.Request, r.Service, r.At, r.To, r.Kind, r.ID = request, "servers", "/network", "networks", "network", "flat"
	r.Sites, r.Owners, r.Local = strings.Fields(sites), strings.Fields(owners), strings.TrimSuffix(local, ")")
	r.Creates = strings.HasPrefix(request, "POST")
	p := s.CheckReference(r)
	if p == nil {
		return "well typed"
	}
	return fmt.Sprintf("%s at byte %d\n%s", p.Type, p.Position, p.Detail)
}
