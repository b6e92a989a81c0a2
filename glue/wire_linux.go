package glue

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the other side of a connection has gone, or sends no more.
func hungUp(raw syscall.RawConn) (is bool) {
	err := raw.Control(func(fd uintptr) {
		of := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(of[:], 0)
		is = n > 0 && err == nil
	})
	return is || err != nil
}
