package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// program is the path of skerry, built for this run.
var program string

func TestMain(m *testing.M) { env.Main(m, &program) }

// described goes to the tree's root and has what belongs beside the program written there.
func described(t *testing.T) string {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
	if err := describe(program); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestDebianPackage installs the package, runs the agent as its unit does, and removes it again. Then it is installed as docs/install.md says.
func TestDebianPackage(t *testing.T) {
	script, err := filepath.Abs("testdata/installed.sh")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Abs("testdata/machines.sh")
	if err != nil {
		t.Fatal(err)
	}
	program, folder := described(t), t.TempDir()
	pkg, socket := filepath.Join(folder, "skerry.deb"), filepath.Join(folder, "notify")
	arch := strings.TrimSpace(run(t, "dpkg", "--print-architecture"))
	run(t, ".ci/package", program, arch, pkg)
	run(t, ".ci/try", arch, pkg)
	if out, err := exec.Command(".ci/try", "riscv64", pkg).CombinedOutput(); err == nil || !strings.Contains(string(out), "is not for riscv64") {
		t.Errorf("a package of another architecture: %v, %s", err, out)
	}

	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	states := make(chan []string)
	go func() {
		var all []string
		for b := make([]byte, 4<<10); ; {
			n, err := told.Read(b)
			if errors.Is(err, net.ErrClosed) {
				states <- all
				return
			}
			all = append(all, string(b[:n]))
		}
	}()
	out := run(t, "unshare", "--mount", "--net", "bash", script, pkg, socket)
	told.Close()
	if all := <-states; !slices.Equal(all, []string{"READY=1", "STOPPING=1"}) {
		t.Errorf("the agent told what has started it %q", all)
	}
	for _, want := range []string{
		`(?m)^skerry$`, // the account
		`write /etc/skerry/agent.yaml`,
		`Overall exposure level for skerry.service: [01]\.\d OK`,
		`/usr/share/man/man1/skerry-sites-certify\.1\.gz`,
		`complete -F _skerry skerry`,
		`(?m)^paris .*this site`,
		`stay in /var/lib/skerry`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%q does not come in what was told:\n%s", want, out)
		}
	}
	if _, left, _ := strings.Cut(out, "== remove\n"); strings.Contains(left, "\n/") {
		t.Errorf("something is left:\n%s", left)
	}
	followInstall(t, pages, pkg)
}

// run runs a command and returns what it has written.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
