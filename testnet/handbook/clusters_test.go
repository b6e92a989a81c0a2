//go:build kubernetes

package handbook

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/netns"
)

// These stand in for what asks the network. The programs are those that the page downloads, built of the same version's modules.
const (
	installs = `#!/bin/sh
for package; do case "$package" in
install | -y) ;;
./skerry_amd64.deb) command -v skerry > /dev/null ;;
*) dpkg -s "$package" > /dev/null ;;
esac || exit 1; done
`
	downloads = `#!/bin/sh
case "$*" in
*https://dl.k8s.io/release/*) while [ "$1" != -o ]; do address=$1; shift; done; cp "$PROGRAMS/${address##*/}" "$BIN/" ;;
*) exec /usr/bin/curl "$@" ;;
esac
`
	// What has been put into the folder of programs can be run already.
	marks = "#!/bin/sh\nexit 0\n"
)

// TestClusters follows docs/clusters.md on a machine of its own: namespaces of networks, processes and mounts, in which the page makes its own. Then it
// follows docs/kubernetes.md at the clusters that are there.
func TestClusters(t *testing.T) {
	programs, err := cluster.Build(t.Context(), "../apps/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	for _, folder := range []string{bin, filepath.Join(dir, "work")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"apt-get": installs, "curl": downloads, "chmod": marks} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := &debian{folder: filepath.Join(dir, "work"), pid: debianMachine(t),
		env: []string{"PATH=" + bin + ":" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "HOME=" + dir, "PROGRAMS=" + programs, "BIN=" + bin}}
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(m.folder, "*", "*.log"))
			for _, log := range logs {
				b, _ := os.ReadFile(log)
				t.Logf("%s:\n%s", log, b[max(0, len(b)-4000):])
			}
		}
	})
	Follow(t, root, "testnet/handbook TestClusters", 28, func(at, commands string) (string, error) { return m.run(t.Context(), at, commands) })
}

// debian is the machine of the page.
type debian struct {
	folder, pid string
	env         []string
}

// debianMachine starts one, and returns what nsenter enters it by.
func debianMachine(t *testing.T) string {
	t.Helper()
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		t.Fatal(err)
	}
	target, end, err := netns.Machine("sh", "-c", "mount -t tmpfs tmpfs /run/netns && ip link set lo up && echo up && exec sleep infinity")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return target
}

// run runs a block in a shell, on the machine or at a site there.
func (m *debian) run(ctx context.Context, at, commands string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	output, err := os.CreateTemp(m.folder, ".output-")
	if err != nil {
		return "", err
	}
	defer output.Close()
	argv := []string{"--target", m.pid, "--mount", "--net", "--pid", "--wd=" + m.folder}
	if at != "debian" {
		argv[len(argv)-1] += "/" + at
		argv = append(argv, "ip", "netns", "exec", at)
	}
	c := exec.CommandContext(ctx, "nsenter", append(argv, "bash", "-eu", "-o", "pipefail", "-c", commands)...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), m.env...), output, output // a file, so that Wait does not wait for what is left running
	err = c.Run()
	text, readErr := os.ReadFile(output.Name())
	return string(text), cmp.Or(err, readErr)
}
