//go:build openstack

package openstack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skerry/skerry/testnet/handbook"
)

// page follows docs/openstack.md as the administrator of both clouds, up to what users do.
func page(t *testing.T, c cloud) {
	handbook.Follow(t, filepath.Join("..", ".."), "testnet/openstack page", 5, blocks(t, c))
}

// blocks returns what runs commands as the administrator of a cloud, in a folder of its own there.
func blocks(t *testing.T, c cloud) func(at, commands string) (string, error) {
	folders := t.TempDir()
	return func(at, commands string) (string, error) {
		folder := filepath.Join(folders, at)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
		out, told, err := run(t, c.Site(at), slices.Concat(user, []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "SKERRY_API=http://127.0.0.1:8701",
			"HOME=" + folder, "bash", "-eu", "-o", "pipefail", "-c", `cd "$HOME"` + "\n" + commands})...)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, told)
		}
		return string(out), err
	}
}
