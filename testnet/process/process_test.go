package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary a parent of its own kind, for TestChildrenDieWithTheirParent and TestPortsAreGivenOnce.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "parent" {
		parent(os.Args[2])
	}
	if len(os.Args) == 2 && os.Args[1] == "ports" {
		ports, err := Ports(250)
		if err != nil {
			panic(err)
		}
		for _, port := range ports {
			fmt.Println(port)
		}
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// parent starts a child, says its identifier and waits to be killed.
func parent(log string) {
	p, err := Start("sleeper", log, "sleep", "600")
	if err != nil {
		panic(err)
	}
	println(p.PID())
	<-p.Done()
	os.Exit(1)
}

func start(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start("child", filepath.Join(t.TempDir(), "log"), "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

func TestStopIsGentle(t *testing.T) {
	p := start(t, `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	waitFor(t, func() bool { return Tail(p.Log(), 1) == "ready" })
	if err := p.Stop(patience); err != nil {
		t.Fatal(err)
	}
	if got := Tail(p.Log(), 1); got != "bye" {
		t.Errorf("the last words are %q", got)
	}
}

func TestStopKillsWhoDoesNotListen(t *testing.T) {
	p := start(t, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	waitFor(t, func() bool { return Tail(p.Log(), 1) == "ready" })
	if err := p.Stop(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("got %v", err)
	}
	if syscall.Kill(p.PID(), 0) == nil {
		t.Error("it is still there")
	}
}

func TestEndedShowsTheLog(t *testing.T) {
	p := start(t, `echo the disk is on fire; exit 3`)
	<-p.Done()
	err := p.Ended()
	if err == nil || !strings.Contains(err.Error(), "on fire") || !strings.Contains(err.Error(), "status 3") {
		t.Fatalf("got %v", err)
	}
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	_, err := Start("child", filepath.Join(t.TempDir(), "log"), "/nowhere/program")
	if err == nil || !strings.Contains(err.Error(), "/nowhere/program") {
		t.Fatalf("got %v", err)
	}
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	cmd := exec.Command(os.Args[0], "parent", filepath.Join(t.TempDir(), "log"))
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitFor(t, func() bool { return !running(pid) })
}

// running reports whether a process is there and more than a zombie that nobody has waited for yet.
func running(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// patience bounds what would never come; a loaded machine may be slow.
const patience = 2 * time.Minute

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about")
		}
	}
}

// TestPortsAreGivenOnce: two processes that take ports at the same time, of more than a block each, have none in common, nor one that is in use.
func TestPortsAreGivenOnce(t *testing.T) {
	other := exec.Command(os.Args[0], "ports")
	other.Stderr = os.Stderr
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	living, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = living.Close()
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
	})
	mine, err := Ports(250)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range mine {
		seen[port] = true
	}
	lines := bufio.NewScanner(out)
	for len(seen) < 500 && lines.Scan() {
		port, err := strconv.Atoi(lines.Text())
		if err != nil || seen[port] {
			t.Fatalf("%d was given twice (%v)", port, err)
		}
		seen[port] = true
	}
	if len(seen) != 500 {
		t.Fatalf("%d ports in all, want 500", len(seen))
	}
	for port := range seen {
		if port < firstPort || port > lastPort || !Free(port) {
			t.Errorf("%d is in use, or out of bounds", port)
		}
	}
}
