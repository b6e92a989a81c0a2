package p2p

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	below "github.com/libp2p/go-libp2p/core/transport"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Whoever says nothing at the door, or says that a lane is to come and nothing more, keeps nobody at work there once the site has ended.
func TestNobodyIsLeftAtTheDoor(t *testing.T) {
	s := newTestSite(t, transports["TCP"])
	s.run(t)
	var wires []net.Conn
	for _, said := range []string{"", laneHello[:5], laneHello, laneHello + "\x00\x20"} {
		wire := dialWire(t, s.net.host.Addrs()[0])
		defer wire.Close()
		_, _ = io.WriteString(wire, said)
		wires = append(wires, wire)
	}
	eventually(t, "all are at the door", func() bool { return strings.Count(goroutines(), "(*sorted).one(") == len(wires) })
	s.stop()
	if now := goroutines(); strings.Contains(now, "(*sorted).") {
		t.Errorf("somebody is left:\n%s", now)
	}
	for _, wire := range wires {
		if n, err := io.Copy(io.Discard, wire); n > 0 || isTimeout(err) {
			t.Errorf("%d bytes came, %v", n, err)
		}
	}
}

// goroutines says what each goroutine is at.
func goroutines() string {
	b := make([]byte, 4<<20)
	return string(b[:runtime.Stack(b, true)])
}

// refusing is a listener that cannot accept anything once, and then comes to its end.
type refusing struct {
	below.GatedMaListener
	errors []error
}

func (f *refusing) Close() error { return nil }

func (f *refusing) Accept() (manet.Conn, network.ConnManagementScope, error) {
	err := f.errors[0]
	f.errors = f.errors[1:]
	return nil, nil, err
}

// One file too many ends no listener: libp2p hears of it, and what comes later is accepted.
func TestTheDoorOutlastsAPassingError(t *testing.T) {
	full := &net.OpError{Op: "accept", Err: syscall.EMFILE}
	s := newSorted(&refusing{errors: []error{full, full, net.ErrClosed}}, &laneDoor{})
	for _, want := range []error{full, full, net.ErrClosed, net.ErrClosed} {
		if _, _, err := s.Accept(); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	for range 2 { // libp2p closes it twice
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s = newSorted(&refusing{errors: []error{full, net.ErrClosed}}, &laneDoor{})
	if err := s.Close(); err != nil { // nobody wants to hear of it any more
		t.Error(err)
	}
}

// FuzzLane opens lanes with anything, after what one begins with or without: nobody who does not prove who they are is served.
func FuzzLane(f *testing.F) {
	s := newTestSite(f, transports["TCP"])
	s.run(f)
	for _, said := range []string{"", "/", laneHello, strings.ReplaceAll(laneHello, "1", "2"), laneHello + "\x00\x00",
		laneHello + "\x00\x20" + strings.Repeat("a", 32), laneHello + "\xff\xff" + strings.Repeat("\x00", 100), "\x13/multistream/1.0.0\n"} {
		f.Add([]byte(said), false)
		f.Add([]byte(said), true)
	}
	f.Fuzz(func(t *testing.T, said []byte, hello bool) {
		if hello {
			said = append([]byte(laneHello), said...)
		}
		ours, theirs := net.Pipe()
		var other sync.WaitGroup
		other.Go(func() { _, _ = io.Copy(io.Discard, theirs) })
		other.Go(func() {
			_, _ = theirs.Write(said)
			_ = theirs.Close()
		})
		if err := s.net.serveLane(ours); err == nil {
			t.Errorf("%q opens a lane", said)
		}
		ours.Close()
		other.Wait()
	})
}
