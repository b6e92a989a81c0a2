//go:build unix

package p2p

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peek returns the first byte that comes over a connection, and leaves it there.
func peek(c net.Conn) (first byte, err error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var b [1]byte
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		var n int
		if n, _, failed = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK); n == 0 && failed == nil {
			failed = net.ErrClosed
		}
		return failed != unix.EAGAIN && failed != unix.EINTR
	})
	return b[0], errors.Join(err, failed)
}
