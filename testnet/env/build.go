package env

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
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
