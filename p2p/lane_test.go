package p2p

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// echo answers whatever comes in with the same, until the end of the test.
func (s *testSite) echo(t *testing.T) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := s.net.Listener().Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	t.Cleanup(func() { s.stop(); <-ended })
}

// openLane opens connections until one is a lane.
func openLane(t *testing.T, from, to *testSite) (l *lane) {
	t.Helper()
	eventually(t, "a lane comes about", func() bool {
		c, err := from.net.Open(t.Context(), to.id)
		if err != nil {
			return false
		}
		said := make([]byte, 5)
		if _, err := io.WriteString(c, "hello"); err != nil {
			return false
		}
		if _, err := io.ReadFull(c, said); err != nil || string(said) != "hello" {
			t.Fatalf("%q, %v", said, err)
		}
		var ok bool
		if l, ok = c.(*lane); !ok {
			_ = c.Close()
		}
		return ok
	})
	return l
}

func lanesOf(of, with *testSite) int {
	l := of.net.link(with.id)
	if l == nil {
		return 0
	}
	l.lanes.mu.Lock()
	defer l.lanes.mu.Unlock()
	return len(l.lanes.all)
}

func TestLanes(t *testing.T) {
	for name, c := range map[string]testConfig{"TCP": transports["TCP"], "both": {listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"}}} {
		t.Run(name, func(t *testing.T) {
			sites := newTestMesh(t, 2, c)
			for i, from := range sites { // whoever has dialled whom
				to := sites[1-i]
				to.echo(t)
				l := openLane(t, from, to)
				if got := l.RemoteAddr().String(); got != string(to.id) {
					t.Errorf("the lane leads to %s", got)
				}
				eventually(t, "the other side has it too", func() bool { return lanesOf(to, from) > 0 })
				if _, is := l.NetConn().(*net.TCPConn); !is || l.Stale() {
					t.Errorf("over %T, stale %v", l.NetConn(), l.Stale())
				}
				// It ends with the link, and nobody gets another one then.
				from.net.SetIsolated(true)
				if _, err := io.ReadFull(l, make([]byte, 1)); err == nil {
					t.Error("it goes on while the site is cut off")
				}
				eventually(t, "all have ended", func() bool { return lanesOf(from, to)+lanesOf(to, from) == 0 })
				if _, err := from.net.link(to.id).dialLane(t.Context(), to.net.host.Addrs()[0]); err == nil {
					t.Error("a site that is cut off opens one")
				}
				from.net.SetIsolated(false)
				eventually(t, "both are reachable again", func() bool { return allUp(sites) })
				_ = openLane(t, from, to).Close()
				eventually(t, "none counts any more", func() bool {
					l := to.net.link(from.id)
					l.mu.Lock()
					defer l.mu.Unlock()
					return l.streams[laneCount] == 0
				})
			}
		})
	}
}

// Where there is only QUIC, requests go over streams.
func TestNoLaneWithoutTCP(t *testing.T) {
	sites := newTestMesh(t, 2, transports["QUIC"])
	sites[1].echo(t)
	for range 3 {
		c, err := sites[0].net.Open(t.Context(), sites[1].id)
		if err != nil {
			t.Fatal(err)
		}
		if _, is := c.(*streamConn); !is {
			t.Errorf("it is a %T", c)
		}
		_ = c.Close()
	}
	l := sites[0].net.link(sites[1].id)
	eventually(t, "that has been found out", func() bool {
		l.lanes.mu.Lock()
		defer l.lanes.mu.Unlock()
		return !l.lanes.trying && !l.lanes.tried.IsZero()
	})
	if _, err := sites[0].net.Open(t.Context(), "nobody"); err == nil {
		t.Error("somebody who is no member was opened a way to")
	}
}

// A stranger gets no lane, nor does anybody who does not say what is to come, and no more than a site may have.
func TestLanesOfStrangers(t *testing.T) {
	sites := newTestMesh(t, 2, transports["TCP"])
	sites[1].echo(t)
	to := sites[1].net.host.Addrs()[0]
	stranger := newTestSite(t, transports["TCP"])
	defer func() { _ = stranger.net.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	wire := dialWire(t, to)
	if _, err := stranger.net.secureLane(ctx, wire, sites[1].net.host.ID()); err == nil {
		t.Error("a stranger has a lane")
	}
	wire.Close()
	for _, said := range []string{"/", "/skerry/lane/2\n", laneHello, laneHello + "\x00\x00", laneHello + "\x00\x20aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"} {
		wire := dialWire(t, to)
		_, _ = io.WriteString(wire, said)
		_ = wire.(interface{ CloseWrite() error }).CloseWrite()
		_ = wire.SetReadDeadline(time.Now().Add(patience))
		if n, err := io.Copy(io.Discard, wire); n > 256 || isTimeout(err) { // no more than what Noise answers
			t.Errorf("%q: %d bytes came, %v", said, n, err)
		}
		wire.Close()
	}
	if n := lanesOf(sites[1], sites[0]); n != 0 {
		t.Errorf("%d lanes are there", n)
	}
	l := sites[0].net.link(sites[1].id)
	var all []*lane
	for range 2 * mostLanes {
		c, err := l.dialLane(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if _, err := l.dialLane(t.Context(), to); err == nil {
		t.Error("a site has more lanes than it may have")
	}
	for _, c := range all {
		_ = c.Close()
	}
}

func dialWire(t *testing.T, to multiaddr.Multiaddr) net.Conn {
	t.Helper()
	kind, address, err := manet.DialArgs(to)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial(kind, address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func isTimeout(err error) bool {
	t, ok := err.(net.Error)
	return ok && t.Timeout()
}
