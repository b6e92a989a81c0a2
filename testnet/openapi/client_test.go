//go:build npm

package openapi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

// tool runs a program of npm's in a folder that has what the folder npm has.
func tool(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = folder
	// The linter would tell its makers how it is used.
	c.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// workshop is a copy of the folder npm to make things in.
func workshop(t *testing.T) (folder, document string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("npm")); err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs(filepath.Join("..", "..", "web", "api", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return folder, document
}

func TestLinter(t *testing.T) {
	folder, document := workshop(t)
	tool(t, folder, "node_modules/.bin/redocly", "lint", "--config", "redocly.yaml", "--max-problems", "1000", document)
}

func TestParser(t *testing.T) {
	folder, document := workshop(t)
	if title := tool(t, folder, "node", "validate.js", document); title != "Skerry REST API\n" {
		t.Errorf("it read a document of the title %q", title)
	}
}

// TestClient makes a client in TypeScript, has its types checked, and runs it against the API.
func TestClient(t *testing.T) {
	f := served.Start(t)
	for i := range 5 {
		f.Site.AddResource(served.Image(fmt.Sprintf("r%d", i), engine.StateConflict, time.Unix(int64(i), 0)))
	}
	f.Site.AddResource(served.Image("well", engine.StateConverged, time.Unix(9, 0)))
	folder, document := workshop(t)
	tool(t, folder, "node_modules/.bin/openapi-typescript", document, "-o", "schema.d.ts")
	tool(t, folder, "node_modules/.bin/tsc", "-p", ".")
	got := tool(t, folder, "node", "built/client.js", f.URL)
	want := ""
	for i := 4; i >= 0; i-- {
		want += fmt.Sprintf("images r%d nantes+paris\n", i)
	}
	if want += "/problems/not-found 404\nissued 201\n"; got != want {
		t.Errorf("the client tells\n%s, not\n%s", got, want)
	}
}
