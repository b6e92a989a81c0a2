package door

import (
	"errors"

	"golang.org/x/sys/unix"
)

// stirs reports whether there is something to read of a connection over which nothing should come: its end, most often.
func (s *stream) stirs() bool { return s.polled(unix.POLLIN | unix.POLLRDHUP) }

// polled reports whether one of the events has come, or the connection is broken.
func (s *stream) polled(events int16) (is bool) {
	if s.raw == nil {
		return false
	}
	err := s.raw.Control(func(fd uintptr) { is = poll(fd, events) })
	return is || err != nil
}

func poll(fd uintptr, events int16) bool {
	of := [1]unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(of[:], 0)
	return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
}

// ended waits until the other side has gone, or sends no more. It returns false when a deadline for reads has come before, or when something
// has come of a connection that is none of the kernel's.
func (s *stream) ended() bool {
	if s.raw == nil {
		return s.silent()
	}
	return s.raw.Read(func(fd uintptr) bool { return poll(fd, unix.POLLRDHUP) }) == nil
}

// watches says whether ended works for it.
func (s *stream) watches() bool { return s.raw != nil || s.w < len(s.buf) }
