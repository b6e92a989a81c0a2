package storage

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// inTmpfs runs the test in a mount namespace of its own, in a process of its own, with a tmpfs of that size. It returns the
// tmpfs there, and nothing to the process that has started it.
func inTmpfs(t *testing.T, size string) (dir string) {
	t.Helper()
	const marker = "STORAGE_TMPFS"
	if dir = os.Getenv(marker); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), marker+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if os.IsPermission(err) {
		t.Log("no mount namespace here")
	} else if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return ""
}

// TestFullFileSystem fills a disk of 3 MiB. Where there are no mount namespaces TestFullDatabase fills the database instead.
func TestFullFileSystem(t *testing.T) {
	dir := inTmpfs(t, "3m")
	if dir == "" {
		return
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "paris"))
	fillAndRecover(t, s, func() error { return os.Remove(ballast) })
	settleWhenFull(t, s)
}

// settleWhenFull begins something, fills the disk, and expects that the outcome still finds room, and nothing new does.
func settleWhenFull(t *testing.T, s *Store) {
	t.Helper()
	errand := func(id engine.OperationID) *engine.Batch {
		return &engine.Batch{Errands: []engine.Errand{{Operation: id, Data: []byte("x"), At: time.Unix(1, 0)}}}
	}
	mustCommit(t, s, errand("begun"))
	big := make([]byte, 64<<10)
	var err error
	for n := 2000; err == nil && n < 3000; n++ {
		b := sample(n)
		b.Operations[0].Body = big
		err = s.Commit(t.Context(), b)
	}
	if !errors.Is(err, engine.ErrStorage) {
		t.Fatalf("the disk is not full: %v", err)
	}
	outcome := sample(3000)
	outcome.Operations[0].Body, outcome.Errands, outcome.Settles = big, nil, true
	outcome.Ended = []engine.OperationID{"begun"}
	mustCommit(t, s, outcome)
	if err := s.Commit(t.Context(), errand("new")); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("something new begins on a full disk: %v", err)
	}
}

// TestTheLogGivesItsRoomBack writes the same rows again and again on a disk that has no room for a long log: nothing of that
// is refused, since the database itself does not grow.
func TestTheLogGivesItsRoomBack(t *testing.T) {
	dir := inTmpfs(t, "6m")
	if dir == "" {
		return
	}
	s := open(t, filepath.Join(dir, "paris"))
	for n := range 500 {
		b := sample(1)
		b.Records[0].Mine = make([]byte, 4000+n)
		b.Events = nil
		mustCommit(t, s, b)
	}
}
