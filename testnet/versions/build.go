package versions

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed previous
var previous string

// source is the previous release's program, as far as it is needed to build it; .ci/previous makes it.
//
//go:embed previous.tar.gz
var source []byte

// root is the module's folder, from this one.
const root = "../.."

// Previous is the commit of the release before this tree.
func Previous() string {
	for line := range strings.Lines(previous) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

// BuildPrevious returns the path of the previous release's program. It is built once, of its source here (previous.tar.gz), into the user's cache.
func BuildPrevious(ctx context.Context) (string, error) {
	commit := Previous()
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "skerry", "versions", commit)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "skerry-previous-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	// Built beside its place and moved there whole: another run may be doing the same.
	building := fmt.Sprintf("%s.%d", program, os.Getpid())
	script := `tar -xz -C "$1" && cd "$1" && go build -buildvcs=false -o "$2" ./cmd/skerry`
	build := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script, "bash", dir, building)
	build.Stdin = bytes.NewReader(source)
	out, err := build.CombinedOutput()
	if err != nil {
		return "", errors.Join(fmt.Errorf("build the previous release, %s: %w\n%s", commit, err, out), os.RemoveAll(building))
	}
	return program, os.Rename(building, program)
}
