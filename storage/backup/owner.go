package backup

import (
	"os"
	"syscall"
)

// sameOwner gives a file to whom dir belongs: who puts a backup back is often root, and the agent is not.
func sameOwner(dir, path string) error {
	of, err := os.Stat(dir)
	if err != nil {
		return err
	}
	is, err := os.Lstat(path)
	if err != nil {
		return err
	}
	want, have := of.Sys().(*syscall.Stat_t), is.Sys().(*syscall.Stat_t)
	if want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	return os.Lchown(path, int(want.Uid), int(want.Gid))
}
