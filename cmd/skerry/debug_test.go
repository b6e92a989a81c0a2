package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	siteagent "github.com/skerry/skerry/cmd/agent"
)

// startAgent runs the agent of a configuration until the test ends, and returns when it is up.
func startAgent(t *testing.T, path string) {
	t.Helper()
	cfg, err := siteagent.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	a, err := siteagent.New(ctx, cfg, "test", slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// freeAddress is an address of loopback that nobody else takes: what dials gets its own from 127.0.0.1.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.77.3:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// unpack returns the files of a bundle by their names.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "paris/")] = string(content)
	}
}

// TestABundleOfAnAgent gathers what a real agent tells of itself.
func TestABundleOfAnAgent(t *testing.T) {
	folder, address := t.TempDir(), freeAddress(t)
	for name, text := range map[string]string{"secret": "t0p-secret",
		"app.yaml": "application: a\nservices: {a: {kinds: {thing: {collection: /things, item: '/things/{id}', id: {from: body, at: /id}}}}}\n",
		"agent.yaml": fmt.Sprintf(`
site: paris
data_dir: data
application: app.yaml
api: {listen: %q}
mesh: {listen: [/ip4/127.0.0.1/tcp/0]}
services: {a: {listen: "127.0.0.1:0", upstream: "http://127.0.0.1:9", credentials: {token_file: secret}}}
`, address)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	startAgent(t, filepath.Join(folder, "agent.yaml"))
	var out, errs bytes.Buffer
	in := surroundings{in: strings.NewReader(""), out: &out, errs: &errs, getenv: func(string) string { return "" }, environ: os.Environ, now: time.Now}
	file := filepath.Join(folder, "paris.tar.gz")
	args := []string{"--api", address, "debug", "bundle", "--seconds", "1", file}
	if status := run(args, in); status != exitDone || errs.Len() > 0 {
		t.Fatalf("status %d, %s", status, &errs)
	}
	files := unpack(t, file)
	readme := files["README.txt"]
	for name, want := range map[string]string{
		"version.json": `"version":"test"`, "configuration.json": `"Site": "paris"`, "summary.json": `"site": "paris"`, "sites.json": `"name": "paris"`, "services.json": `"name": "a"`,
		"zones.json": `"items"`, "resources.json": `"items"`, "operations.json": `"items"`, "conflicts.json": `"items"`, "events.json": `"items"`,
		"metrics.txt": "go_goroutines ", "goroutines.txt": "goroutine 1 [", "heap.pprof": "\x1f\x8b", "cpu.pprof": "\x1f\x8b", "README.txt": "configuration.json: the agent's configuration without secrets\n",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q: %.300q", name, want, files[name])
		}
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(files[name])) {
			t.Errorf("%s is not JSON", name)
		}
		if strings.Contains(files[name], "t0p-secret") {
			t.Errorf("%s has a secret", name)
		}
		if name != "README.txt" && !strings.Contains(readme, name+": ") {
			t.Errorf("README.txt does not say what %s is", name)
		}
		delete(files, name)
	}
	for name := range files {
		t.Errorf("nobody knows of %s", name)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is others' to read: %v, %v", info, err)
	}
	if status := run(args, in); status != exitRefused || !strings.Contains(errs.String(), "there is something at") {
		t.Errorf("a second bundle takes the place of the first: %d, %s", status, &errs)
	}
}
