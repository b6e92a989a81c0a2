package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/handbook"
	"github.com/skerry/skerry/testnet/netns"
)

// application is what is in front at both machines; its command, where it keeps what it has.
const application = `%s lab --images 127.0.0.1:9801 --networks 127.0.0.1:9802 --servers 127.0.0.1:9803 --data %s > /dev/null 2>&1 &
curl -s --retry 60 --retry-connrefused --retry-delay 1 http://127.0.0.1:9801/images`

// answers are what somebody says whom skerry init asks: what the site is called, and where the application is.
const answers = "paris\nhttp://127.0.0.1:9801\n"

// followInstall runs the blocks of docs/install.md with a package, on machines that have it not yet.
func followInstall(t *testing.T, script, pkg string) {
	t.Helper()
	run := machines(t, script, pkg)
	if out, err := run("", "", fmt.Sprintf(application, program, t.TempDir())); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	handbook.Follow(t, ".", "testnet/release followInstall", 5, func(at, commands string) (string, error) { return run(at, answers, commands) })
	standsBy(t, run)
}

// standsBy runs the agent of docs/install.md that waits until the first one of paris has ended. It is stopped in the end.
func standsBy(t *testing.T, run func(at, input, commands string) (string, error)) {
	t.Helper()
	err := handbook.Blocks(".", "testnet/release standsBy", func(_ string, b handbook.Block) error {
		out, err := run("paris", "", b.Commands+takesOver)
		if err == nil && !regexp.MustCompile(`(?m)^paris .*this site(?s:.*)^stopped: 0$`).MatchString(out) {
			err = errors.New("it does not take over")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// takesOver leaves a command running, ends the first agent, and asks the second one.
const takesOver = ` > said 2>&1 &
first=$(cat /run/skerry.pid)
kill -0 $first
kill $first
until [ ! -d /proc/$first ] || grep -q '^State:.Z' /proc/$first/status; do sleep 0.1; done # nobody waits for it
curl -s --retry 60 --retry-all-errors --retry-delay 1 --fail http://127.0.0.1:8700/readyz > /dev/null || { cat said; exit 1; }
skerry sites
kill $!
wait $! && status=0 || status=$?
cat said
echo "stopped: $status"
`

// machines starts what the script makes, and returns what runs commands there; at nowhere, they run beside the machines.
func machines(t *testing.T, script, pkg string) (run func(at, input, commands string) (string, error)) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	target, end, err := netns.Machine("bash", script, pkg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return func(at, input, commands string) (string, error) {
		argv := []string{"--target", target, "--mount", "--net", "--pid", "--"}
		if at != "" {
			argv = append(argv, "chroot", "/mnt/"+at, "env", "-C", "/root", "HOME=/root")
		}
		output, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			return "", err
		}
		defer output.Close()
		c := exec.CommandContext(ctx, "nsenter", append(argv, "bash", "-eu", "-o", "pipefail", "-c", commands)...)
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), output, output // a file, so that Wait does not wait for what is left running
		err = c.Run()
		text, readErr := os.ReadFile(output.Name())
		if err == nil {
			err = readErr
		}
		return string(text), err
	}
}
