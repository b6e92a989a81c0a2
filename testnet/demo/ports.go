package demo

import (
	"fmt"
	"net"
)

// ports gives out addresses on loopback: the ones in the documentation where they are free, others where not.
type ports struct {
	given   map[int]bool
	replace []string // what had to be replaced, for people
}

// tcp returns a port that nothing listens on with TCP.
func (p *ports) tcp(want int, what string) (int, error) { return p.port(want, what, false) }

// both returns a port that is free for TCP and for UDP.
func (p *ports) both(want int, what string) (int, error) { return p.port(want, what, true) }

func (p *ports) port(want int, what string, udp bool) (int, error) {
	if p.free(want, udp) {
		p.given[want] = true
		return want, nil
	}
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		got := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		if p.free(got, udp) {
			p.given[got] = true
			p.replace = append(p.replace, fmt.Sprintf("port %d is in use: %s is at %d", want, what, got))
			return got, nil
		}
	}
	return 0, fmt.Errorf("find a free port in place of %d: none after 100 tries", want)
}

// free reports whether a port can be had now. Somebody else may take it before it is used; the child says so then.
func (p *ports) free(port int, udp bool) bool {
	if p.given[port] {
		return false
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	ok := l.Close() == nil
	if udp {
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			return false
		}
		ok = c.Close() == nil && ok
	}
	return ok
}
