//go:build npm

package openapi

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

// tool runs a program of npm's in a folder that has what npm has installed.
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

//go:embed npm/*.json npm/*.ts npm/*.js npm/*.yaml
var pinned embed.FS

// TestDocument has the description of the API looked at by a linter, a parser and what makes a client of it. What npm has in its cache it does not
// fetch again, and nothing of what it installs runs while it does so.
func TestDocument(t *testing.T) {
	document, err := filepath.Abs(filepath.Join("..", "..", "web", "api", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	npm, err := fs.Sub(pinned, "npm")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, npm); err != nil {
		t.Fatal(err)
	}
	tool(t, folder, "npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	t.Run("linter", func(t *testing.T) {
		tool(t, folder, "node_modules/.bin/redocly", "lint", "--config", "redocly.yaml", "--max-problems", "1000", document)
	})
	t.Run("parser", func(t *testing.T) {
		if title := tool(t, folder, "node", "validate.js", document); title != "Skerry REST API\n" {
			t.Errorf("it read a document of the title %q", title)
		}
	})
	t.Run("client", func(t *testing.T) { client(t, folder, document) })
}

// client makes a client in TypeScript, has its types checked, and runs it against the API.
func client(t *testing.T, folder, document string) {
	t.Helper()
	f := served.Start(t)
	for i := range 5 {
		f.Site.AddResource(served.Image(fmt.Sprintf("r%d", i), engine.StateConflict, time.Unix(int64(i), 0)))
	}
	f.Site.AddResource(served.Image("well", engine.StateConverged, time.Unix(9, 0)))
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
