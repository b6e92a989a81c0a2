//go:build openstack

package openstack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/handbook"
)

// ofUsers is the heading of the page's part that users do.
const ofUsers = "\n### With the rights of users\n"

// page follows docs/openstack.md as the administrator of both clouds, up to what users do.
func page(t *testing.T, c cloud) { follow(t, c, 5, false) }

// follow runs the blocks of the page before its part that users do, or those of that part. There is a fewest number of them.
func follow(t *testing.T, c cloud, fewest int, users bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "openstack.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, there := strings.Cut(string(text), ofUsers)
	heading := strings.Count(before, "\n") + 1
	blocks, err := handbook.Parse(string(text))
	blocks = slices.DeleteFunc(blocks, func(b handbook.Block) bool { return (b.Line > heading) != users })
	if err != nil || !there || len(blocks) < fewest {
		t.Fatalf("%d blocks, %t, %v", len(blocks), there, err)
	}
	folders := t.TempDir()
	for _, b := range blocks {
		for _, at := range b.At {
			folder := filepath.Join(folders, at)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			out, told, err := run(t, c.Site(at), slices.Concat(user, []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "SKERRY_API=http://127.0.0.1:8701",
				"HOME=" + folder, "bash", "-eu", "-o", "pipefail", "-c", `cd "$HOME"` + "\n" + b.Commands})...)
			if err != nil {
				t.Fatalf("docs/openstack.md:%d at %s: %v\n%s\n%s%s", b.Line, at, err, b.Commands, out, told)
			}
			if want := b.Missing(string(out)); want != "" {
				t.Fatalf("docs/openstack.md:%d at %s does not show %q in its turn, but\n%s%s", b.Line, at, want, out, told)
			}
		}
	}
}
