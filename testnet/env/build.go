package env

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the program skerry into dir and returns its path. The directory in which this runs has to be in the
// module.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "skerry")
	return path, Program(ctx, path, "github.com/skerry/skerry/cmd/skerry")
}

// Program builds the program of a package at a path, with these flags of go build. Go keeps what it links to run it, which it does not for go build:
// so each further package that needs the same program has a copy, where linking took ten seconds.
func Program(ctx context.Context, path, pkg string, flags ...string) error {
	out, err := exec.CommandContext(ctx, "go", append(append([]string{"run", "-exec", "cp"}, flags...), pkg, path)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", filepath.Base(path), err, out)
	}
	return nil
}

// Main is for a package's TestMain: it builds skerry, sets program to its path, makes what else the tests need, runs them and
// ends the process.
func Main(m *testing.M, program *string, prepare ...func(context.Context) error) {
	os.Exit(Run(m, program, prepare...))
}

// Run is Main for a package that has something to end after its tests. It returns what the process is to end with.
func Run(m *testing.M, program *string, prepare ...func(context.Context) error) int {
	dir, err := os.MkdirTemp("", "skerry-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		*program, err = Build(context.Background(), dir)
	}
	for _, p := range prepare {
		if err == nil {
			err = p(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
