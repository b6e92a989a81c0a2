package versions

import (
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

// BuildPrevious returns the path of the previous release's program. It is built once, of the repository's history, into the user's cache.
func BuildPrevious(ctx context.Context) (string, error) {
	commit := Previous()
	if err := exec.CommandContext(ctx, "git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		return "", fmt.Errorf("the repository here has no commit %s, of which the previous release's agent is built: "+
			"have all of its history (git fetch --unshallow)", commit)
	}
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
	script := `git -C "$1" archive "$2" | tar -x -C "$3" && cd "$3" && go build -o "$4" ./cmd/skerry`
	out, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script, "bash", root, commit, dir, building).CombinedOutput()
	if err != nil {
		return "", errors.Join(fmt.Errorf("build the previous release, %s: %w\n%s", commit, err, out), os.RemoveAll(building))
	}
	return program, os.Rename(building, program)
}
