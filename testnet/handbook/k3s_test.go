//go:build kubernetes

package handbook

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/netns"
)

// TestK3s follows docs/k3s.md at two clusters, whose nodes run pods with podman.
func TestK3s(t *testing.T) {
	programs, err := cluster.Build(t.Context(), "../apps/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	helm, err := cluster.Helm(t.Context(), "../apps/helm")
	if err != nil {
		t.Fatal(err)
	}
	asked, err := cluster.Program(t.Context(), "../apps/kubernetes", "testdata/node.go.txt", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := machines(t)
	tag, podman := containers(t)
	for name, m := range all {
		m.worker(t, programs, asked, podman)
		m.values(t, name, tag)
	}
	path := strings.Join([]string{filepath.Dir(program), programs, helm}, ":")
	Follow(t, root, "testnet/handbook TestK3s", 6, func(at, commands string) (string, error) {
		m := all[at]
		if at == "nantes" { // somebody has brought it
			if b, err := os.ReadFile(filepath.Join(all["paris"].folder, "invitation")); err == nil {
				m.write(t, "invitation", string(b))
			}
		}
		return m.run(t.Context(), path, commands)
	})
}

// containers is a machine with podman, which has the image. Its command is run on a host.
func containers(t *testing.T) (tag string, podman func(h *netns.Host, args ...string) []string) {
	t.Helper()
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	for _, args := range [][]string{{program}, {"image", program, image}} {
		c := exec.CommandContext(t.Context(), "go", append([]string{"run", "./testnet/release"}, args...)...)
		c.Dir, c.Env = root, append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	variables, err := Podman(dir)
	if err != nil {
		t.Fatal(err)
	}
	pid, end, err := netns.Machine("sh", "-c", "mount -t tmpfs tmpfs /run && echo up && exec sleep infinity")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	inside := func(args ...string) []string {
		return slices.Concat([]string{"nsenter", "--target", pid, "--mount", "--pid", "--", "env"}, variables, []string{"podman"}, args)
	}
	argv := inside("load", "--input", image)
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	_, tag, _ = strings.Cut(string(out), "Loaded image: localhost/skerry:")
	if err != nil || tag == "" {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(tag), func(h *netns.Host, args ...string) []string { return h.Command(inside(args...)...) }
}

// worker makes a machine the one node of a cluster.
func (m *machine) worker(t *testing.T, programs, asked string, podman func(h *netns.Host, args ...string) []string) {
	t.Helper()
	const port = 10250
	c := cluster.Ports(t.TempDir(), programs)
	c.API, c.Controllers = 443, true // where pods look for it
	if err := c.Furnish(); err != nil {
		t.Fatal(err)
	}
	m.start(t, m.host.Command(c.Command()...))
	m.start(t, m.host.Command(append([]string{asked, fmt.Sprintf("%s:%d", m.host.Address, port), c.CA(), c.Key(), m.host.Name + "-"}, podman(m.host, "exec")[4:]...)...))
	base := m.host.Client().Transport.(*http.Transport)
	if err := c.Ready(t.Context(), base, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(m.folder, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	nodes := &cluster.Nodes{Cluster: c, Base: base, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Podman: &cluster.Podman{Command: func(args ...string) []string { return podman(m.host, args...) }, Prefix: m.host.Name + "-", Dir: t.TempDir(),
			Names: []string{"kubernetes.default.svc:127.0.0.1"}, Address: m.host.Address, Port: port}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- nodes.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		log.Close()
		if t.Failed() {
			argv := podman(m.host, "logs", m.host.Name+"-skerry-skerry-0")
			out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
			t.Logf("the pod of %s: %v\n%s", m.host.Name, err, out)
		}
	})
	// As k3s has it: a user with a certificate, and everything is called default.
	b, err := os.ReadFile(c.Certified(cluster.Anna))
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, ".kube/config", strings.NewReplacer("context: c,", "context: default,", "name: c,", "name: default,", "name: u,", "name: default,",
		"{cluster: c, user: u}", "{cluster: default, user: default}").Replace(string(b)))
}

// values are those of the page, for a site and an image.
func (m *machine) values(t *testing.T, site, tag string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "k3s.md"))
	if err != nil {
		t.Fatal(err)
	}
	values := regexp.MustCompile("(?s)```yaml\nsite: paris\nimage: .*?\n(.*?)```").FindSubmatch(page)
	if values == nil {
		t.Fatal("docs/k3s.md has no values")
	}
	m.write(t, site+".yaml", fmt.Sprintf("site: %s\nimage: {repository: localhost/skerry, tag: %s}\n%s", site, tag, values[1]))
	packaging, err := filepath.Abs(filepath.Join(root, "packaging"))
	if err == nil {
		err = os.Symlink(packaging, filepath.Join(m.folder, "packaging"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts what runs until the machine ends.
func (m *machine) start(t *testing.T, argv []string) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(m.folder, "cluster.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdout, c.Stderr, c.SysProcAttr = log, log, &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	m.left = append(m.left, c.Process.Pid)
}
