package door

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// stream is a connection with what was read of it and has not been used yet.
type stream struct {
	conn net.Conn
	tcp  *net.TCPConn // what is below TLS, if it is that; nil for what is none of the kernel's
	// plain has the kernel's connection where nothing lies between, so that the kernel may move bodies.
	plain *net.TCPConn
	raw   syscall.RawConn // of tcp
	buf   []byte
	r, w  int       // what was read is buf[r:w]
	until time.Time // the deadline of reads that is set, zero for none
}

// Bare is a connection that does nothing to the bytes of another.
type Bare interface{ Bare() net.Conn }

func newStream(conn net.Conn) stream {
	s := stream{conn: conn}
	for below, direct := conn, true; ; {
		switch c := below.(type) {
		case *net.TCPConn:
			if s.tcp = c; direct {
				s.plain = c
			}
			s.raw, _ = c.SyscallConn() // which a connection that was never closed has
			return s
		case Bare:
			below = c.Bare()
		case interface{ NetConn() net.Conn }: // TLS
			below, direct = c.NetConn(), false
		default:
			return s
		}
	}
}

// fill reads once, after what was read before.
func (s *stream) fill() error {
	if s.r == s.w {
		s.r, s.w = 0, 0
	}
	n, err := s.conn.Read(s.buf[s.w:])
	s.w += n
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// silent reads after what was read, which stays where it is, and reports whether nothing more comes. It returns false at a deadline.
func (s *stream) silent() bool {
	n, err := s.conn.Read(s.buf[s.w:])
	s.w += n
	return n == 0 && err != nil && !late(err)
}

// by has reads end at a time; zero: they take what they take.
func (s *stream) by(t time.Time) {
	if !s.until.Equal(t) {
		s.until = t
		_ = s.conn.SetReadDeadline(t) // only of what is closed already it fails
	}
}

// within has reads end some time between half of d and d from now: a deadline that is set costs more than to look whether it serves.
func (s *stream) within(now time.Time, d time.Duration) {
	if left := s.until.Sub(now); left < d/2 || left > d {
		s.by(now.Add(d))
	}
}

// grow makes room to read on, up to a length of all that was read.
func (s *stream) grow(most int) bool {
	switch n := s.w - s.r; {
	case s.w < len(s.buf):
	case n >= most:
		return false
	case s.r > 0:
		copy(s.buf, s.buf[s.r:s.w])
		s.r, s.w = 0, n
	default:
		b := make([]byte, min(2*len(s.buf), most))
		copy(b, s.buf)
		s.buf = b
	}
	return true
}

func late(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
