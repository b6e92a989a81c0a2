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
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/skerry/skerry/cmd/skerry").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build skerry: %w\n%s", err, out)
	}
	return path, nil
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
