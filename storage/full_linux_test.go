package storage

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullFileSystem runs itself in a mount namespace of its own, whose tmpfs of 3 MiB it fills.
func TestFullFileSystem(t *testing.T) {
	const marker = "STORAGE_TMPFS"
	if dir := os.Getenv(marker); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
			t.Fatal(err)
		}
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, filepath.Join(dir, "paris"))
		fillAndRecover(t, s, func() error { return os.Remove(ballast) })
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullFileSystem$", "-test.count=1")
	cmd.Env = append(os.Environ(), marker+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if os.IsPermission(err) {
		t.Log("no mount namespace here; TestFullDatabase fills the database instead")
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
