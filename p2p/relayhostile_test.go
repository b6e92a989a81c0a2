package p2p

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/pb"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/util"

	"github.com/skerry/skerry/engine"
)

// askHop asks a relay for a connection to a site, and does not wait for the answer.
func askHop(t *testing.T, h host.Host, relay, to *testSite) network.Stream {
	t.Helper()
	s, err := h.NewStream(t.Context(), infoOf(t, relay).ID, proto.ProtoIDv2Hop)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Reset() })
	_ = s.SetDeadline(time.Now().Add(patience))
	kind := pb.HopMessage_CONNECT
	err = util.NewDelimitedWriter(s).WriteMsg(&pb.HopMessage{Type: &kind, Peer: util.PeerInfoToPeerV2(peer.AddrInfo{ID: infoOf(t, to).ID})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hop asks a relay for a connection to a site, and says nothing on it. It returns what the relay answers, and the stream.
func hop(t *testing.T, h host.Host, relay, to *testSite) (pb.Status, network.Stream) {
	t.Helper()
	s := askHop(t, h, relay, to)
	var m pb.HopMessage
	r := util.NewDelimitedReader(s, 4096)
	defer r.Close()
	if err := r.ReadMsg(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetStatus(), s
}

// answerPings has a member stay connected for as long as it takes: one that answers none is left.
func answerPings(h host.Host) {
	h.SetStreamHandler(pingProtocol, func(s network.Stream) {
		defer s.Reset()
		for {
			var seq [8]byte
			if _, err := io.ReadFull(s, seq[:]); err != nil {
				return
			}
			var b [pongSize]byte
			encodePong(&b, pong{seq: binary.BigEndian.Uint64(seq[:]), clock: time.Now()})
			if _, err := s.Write(b[:]); err != nil {
				return
			}
		}
	})
}

// callerOf runs a site with a place at a relay, and makes a member that may call it there.
func callerOf(t *testing.T, b, relay *testSite) host.Host {
	t.Helper()
	b.run(t)
	relay.run(t)
	eventually(t, "b has a place", func() bool { return relay.net.Counters().Relay.Places == 1 })
	bad, badID := hostile(t, relay, libp2p.ResourceManager(&network.NullResourceManager{}))
	b.members.add(engine.Member{ID: badID})
	answerPings(bad)
	if err := bad.Connect(t.Context(), infoOf(t, relay)); err != nil {
		t.Fatal(err)
	}
	return bad
}

// A member that calls another without an end leaves room for the others, and for whom it calls.
func TestNobodyHasARelayForThemselves(t *testing.T) {
	a, b, relay := newTestSite(t, testConfig{}), newTestSite(t, testConfig{}), newTestSite(t, testConfig{relay: true})
	introduce([]*testSite{a, b, relay})
	a.members.add(b.nowhere())
	b.members.add(a.nowhere())
	bad := callerOf(t, b, relay)
	has := 0
	for range maxCircuits {
		if status, _ := hop(t, bad, relay, b); status == pb.Status_OK {
			has++
		}
	}
	if has == 0 || has > maxCircuits/2 {
		t.Errorf("one member has %d connections to another, of %d", has, maxCircuits)
	}
	if relay.net.Counters().Relay.Full == 0 {
		t.Error("nobody hears that there was no room")
	}
	a.run(t)
	eventually(t, "others come through", func() bool { return a.net.Status()[b.id].Relay == relay.id })
}

// slow opens a stream to who is called no sooner than it may.
type slow struct {
	host.Host
	begun *atomic.Int64
	may   chan struct{}
}

// NewStream implements host.Host.
func (h slow) NewStream(ctx context.Context, p peer.ID, pids ...protocol.ID) (network.Stream, error) {
	h.begun.Add(1)
	<-h.may
	return h.Host.NewStream(ctx, p, pids...)
}

// A member that asks for all connections at once, before the first has come about, has no more of them, and leaves room for others.
func TestNobodyHasARelayForThemselvesAtOnce(t *testing.T) {
	a, b, relay := newTestSite(t, testConfig{}), newTestSite(t, testConfig{}), newTestSite(t, testConfig{})
	introduce([]*testSite{a, b, relay})
	a.members.add(b.nowhere())
	b.members.add(a.nowhere())
	var begun atomic.Int64
	may := make(chan struct{})
	var err error
	if relay.net.relay, err = newRelay(slow{relay.net.host, &begun, may}, relay.net.gater, &relay.net.counters); err != nil {
		t.Fatal(err)
	}
	bad := callerOf(t, b, relay)
	const asked = maxCircuits * 3 / 4
	for range asked {
		askHop(t, bad, relay, b)
	}
	eventually(t, "all are judged", func() bool { return begun.Load()+int64(relay.net.Counters().Relay.Full) == asked })
	if n := begun.Load(); n == 0 || n > maxCircuits/2 {
		t.Errorf("one member has %d connections to another on their way, of %d", n, maxCircuits)
	}
	close(may)
	a.run(t)
	eventually(t, "others come through", func() bool { return a.net.Status()[b.id].Relay == relay.id })
}

// swallowing relays what makes a connection and, once it is told to, after a moment nothing more.
type swallowing struct {
	host.Host
	on *atomic.Bool
}

// NewStream implements host.Host, for the stream to who is called.
func (h swallowing) NewStream(ctx context.Context, p peer.ID, pids ...protocol.ID) (network.Stream, error) {
	s, err := h.Host.NewStream(ctx, p, pids...)
	return swallower{s, h.on, time.Now()}, err
}

type swallower struct {
	network.Stream
	on    *atomic.Bool
	since time.Time
}

func (s swallower) Write(b []byte) (int, error) {
	if s.on.Load() && time.Since(s.since) > time.Second {
		return len(b), nil
	}
	return s.Stream.Write(b)
}

// Two sites with a relay that passes on no more than what makes a connection go by another one as soon as there is one, and stay with it.
func TestARelayThatSwallowsIsLeft(t *testing.T) {
	a, b, bad, good := newTestSite(t, testConfig{}), newTestSite(t, testConfig{}), newTestSite(t, testConfig{}), newTestSite(t, testConfig{relay: true})
	sites := []*testSite{a, b, bad, good}
	introduce(sites)
	a.members.add(b.nowhere())
	b.members.add(a.nowhere())
	var on atomic.Bool
	var err error
	if bad.net.relay, err = newRelay(swallowing{bad.net.host, &on}, bad.net.gater, &bad.net.counters); err != nil {
		t.Fatal(err)
	}
	for _, s := range sites[:3] {
		s.run(t)
	}
	eventually(t, "they meet", func() bool { return a.net.Status()[b.id].Relay == bad.id })
	on.Store(true)
	good.run(t)
	lasting := func(x, y *testSite) bool {
		s := x.net.Status()[y.id]
		return s.Reachable && s.Relay == good.id && time.Since(s.Since) > 2*pingTimeout
	}
	eventually(t, "they meet through the other one, and stay so", func() bool { return lasting(a, b) && lasting(b, a) })
}

func TestRelaysAreTriedInOrder(t *testing.T) {
	u := unlucky{"failed": time.Now().Add(-time.Minute), "failed again": time.Now(), "long ago": time.Now().Add(-2 * lostTime)}
	var ways []way
	for i, by := range []engine.SiteID{"failed again", "failed", "long ago", "never", "far"} {
		ways = append(ways, way{&link{site: by}, time.Duration(i) * time.Millisecond})
	}
	u.inOrder(ways)
	var got []engine.SiteID
	for _, w := range ways {
		got = append(got, w.by.site)
	}
	if want := []engine.SiteID{"long ago", "never", "far", "failed", "failed again"}; !slices.Equal(got, want) {
		t.Errorf("they are tried as %v, not %v", got, want)
	}
	if u.lost("never"); u.when("never").IsZero() {
		t.Error("it is not known that a connection was lost")
	}
}
