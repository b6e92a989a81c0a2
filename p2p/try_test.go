package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/libp2p/go-libp2p/core/sec"

	"go.uber.org/goleak"

	"github.com/skerry/skerry/engine"
)

// at is a member that is said to be at these addresses.
func (s *testSite) at(addresses ...string) engine.Member {
	return engine.Member{ID: s.id, SiteRecord: engine.SiteRecord{Addresses: addresses}}
}

// closedPort is a TCP port of this machine on which nothing listens.
func closedPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// What came of each address is told, also where one refuses at once and the next is silent until the time is over.
func TestTriesOfEachAddress(t *testing.T) {
	listen := testConfig{listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"}}
	a, b, other := newTestSite(t, listen), newTestSite(t, listen), newTestSite(t, listen)
	defer b.net.Close()
	defer other.net.Close()
	silent, err := net.ListenPacket("udp4", "127.0.0.1:0") // and nobody reads
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	refuses, hears := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", closedPort(t)), fmt.Sprintf("/ip4/127.0.0.1/udp/%d/quic-v1", silent.LocalAddr().(*net.UDPAddr).Port)
	others := slices.Clone(other.net.Addresses())
	want := map[string]engine.TryResult{refuses: engine.TryRefused, hears: engine.TrySilent}
	for _, address := range others {
		want[address] = engine.TryOtherKey
	}
	a.members.add(b.at(append([]string{refuses, hears}, others...)...))
	a.run(t)
	eventually(t, "a tells of each address", func() bool {
		got := map[string]engine.TryResult{}
		for _, try := range a.net.Ways()[b.id].Tries {
			if try.Address != "" {
				got[try.Address] = try.Result
			}
			if try.Result == engine.TryOtherKey && try.Other != other.id || try.At.IsZero() {
				return false
			}
		}
		return fmt.Sprint(got) == fmt.Sprint(want)
	})
	if tries := a.net.Ways()[b.id].Tries; tries[len(tries)-1].Result != engine.TryNoRelay {
		t.Errorf("no member relays, and it is not said: %+v", tries)
	}
	a.net.SetIsolated(true)
	if tries := a.net.Ways()[b.id].Tries; len(tries) != 1 || tries[0].Result != engine.TryRehearsed {
		t.Errorf("in a rehearsal of a cut it tells %+v", tries)
	}
}

// A site that takes this one for no member closes each connection.
func TestTurnedAway(t *testing.T) {
	a, b := newTestSite(t, testConfig{}), newTestSite(t, testConfig{})
	a.members.add(b.member())
	a.run(t)
	b.run(t)
	eventually(t, "a is turned away", func() bool {
		return slices.ContainsFunc(a.net.Ways()[b.id].Tries, func(try engine.Try) bool { return try.Result == engine.TryTurnedAway })
	})
}

// What has been reached leaves no tries behind.
func TestNoTriesOfWhatIsReached(t *testing.T) {
	a, b := newTestSite(t, testConfig{}), newTestSite(t, testConfig{})
	a.members.add(b.member())
	b.members.add(a.member())
	a.run(t)
	b.run(t)
	eventually(t, "both are reachable", func() bool { return allUp([]*testSite{a, b}) })
	x, y := a.net.Ways()[b.id], b.net.Ways()[a.id]
	if x.Tries != nil || y.Tries != nil || x.Seen == "" || y.Seen == "" || x.Inbound == y.Inbound || x.Transport != "quic" {
		t.Errorf("they tell %+v and %+v", x, y)
	}
}

func TestResultOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want engine.TryResult
	}{
		{&net.OpError{Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, engine.TryRefused},
		{&net.OpError{Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, engine.TryNoRoute},
		{&net.OpError{Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, engine.TryNoRoute},
		{fmt.Errorf("resolve: %w", &net.DNSError{IsTimeout: true}), engine.TryNoName},
		{os.ErrDeadlineExceeded, engine.TrySilent},
		{context.DeadlineExceeded, engine.TrySilent},
		{errors.New("timeout: no recent network activity"), engine.TrySilent},
		{sec.ErrPeerIDMismatch{}, engine.TryOtherKey},
		{errors.New("error opening relay circuit: NO_RESERVATION (204)"), engine.TryNoPlace},
		{errors.New("error opening relay circuit: RESOURCE_LIMIT_EXCEEDED (201)"), engine.TryRelayFull},
		{errors.New("protocols not supported: [/skerry/ping/1]"), engine.TryOtherVersion},
		{errors.New("stream reset"), engine.TryTurnedAway},
		{errors.New("something new"), engine.TryFailed},
	} {
		if got := resultOf(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// TestHolesEndWithTheNetwork: a service for holes that is closed before it is ready never answers. Nothing that has asked for one is left then.
func TestHolesEndWithTheNetwork(t *testing.T) {
	before := goleak.IgnoreCurrent()
	a, b := newTestSite(t, testConfig{}), newTestSite(t, testConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pid, err := peerOf(b.id)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.net.makeHole(ctx, pid); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	a.net.Close()
	b.net.Close()
	eventually(t, "all goroutines have ended", func() bool { return goleak.Find(before) == nil })
	if err := a.net.makeHole(ctx, pid); err == nil {
		t.Error("a closed network makes holes")
	}
}

// A service for holes that is closed before it is ready never answers: who asks it does not wait for that.
func TestNoHoleIsWaitedFor(t *testing.T) {
	a, b := newTestSite(t, testConfig{}), newTestSite(t, testConfig{})
	defer b.net.Close()
	defer a.net.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pid, err := peerOf(b.id)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.net.makeHole(ctx, pid); !errors.Is(err, context.Canceled) { // it knows no address of its own, so it is not ready
		t.Error(err)
	}
	// Now it is, which ends what was asked.
	a.net.outside.mu.Lock()
	a.net.outside.seen[pid] = b.net.host.Addrs()[0]
	a.net.outside.mu.Unlock()
	eventually(t, "a hole is tried", func() bool { return a.net.makeHole(t.Context(), pid) != nil })
}
