package p2p

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

const testSecret = "0123456789abcdef"

func (s *testSite) token(secret string) Token {
	return Token{Mesh: "mesh", Inviter: s.id, Addresses: s.net.Addresses(), Invitation: "i", Secret: []byte(secret), Expires: time.Now().Add(time.Hour)}
}

func TestJoin(t *testing.T) {
	for _, listen := range []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"} {
		t.Run(listen, func(t *testing.T) {
			c := testConfig{listen: []string{listen}}
			sites := newTestMesh(t, 2, c)
			a, b := sites[0], sites[1]
			about := testAbout("mesh", ids(sites))
			a.members.mesh = engine.Envelope{Document: testDocumentID(about), About: about}
			a.members.joined = b.members.add // what gossip of the mesh document does
			a.members.invite(testSecret)

			n := newTestSite(t, c)
			record := n.member().SiteRecord
			record.Name = "nantes"
			e, err := n.net.Join(t.Context(), a.token(testSecret), record)
			if err != nil {
				t.Fatal(err)
			}
			if e.Document != a.members.mesh.Document || !bytes.Equal(e.About, about) {
				t.Errorf("joined another mesh: %+v", e)
			}
			for _, s := range sites {
				n.members.add(s.member())
			}
			n.run(t)
			eventually(t, "all three reach each other", func() bool { return allUp([]*testSite{a, b, n}) })
			for _, m := range a.members.Members() {
				if m.ID == n.id && m.Name != "nantes" {
					t.Errorf("the new site's record was %+v", m)
				}
			}
		})
	}
}

func TestJoinIsRefused(t *testing.T) {
	a := newTestSite(t, testConfig{})
	a.run(t)
	n := newTestSite(t, testConfig{})
	defer n.net.Close()

	if _, err := n.net.Join(t.Context(), a.token(testSecret), engine.SiteRecord{}); err == nil || !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("without an invitation: %v", err)
	}
	expired := a.token(testSecret)
	expired.Expires = time.Now().Add(-time.Hour)
	if _, err := n.net.Join(t.Context(), expired, engine.SiteRecord{}); err == nil || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("with an expired invitation: %v", err)
	}
	a.members.invite(testSecret)
	for range maxWrong {
		_, err := n.net.Join(t.Context(), a.token("another secret here"), engine.SiteRecord{})
		if r := (*engine.Refusal)(nil); !errors.As(err, &r) || !strings.Contains(r.Detail, "the secret is wrong") {
			t.Errorf("with a wrong secret: %v", err)
		}
	}
	// From now on not even the right one is heard from this source.
	if _, err := n.net.Join(t.Context(), a.token(testSecret), engine.SiteRecord{}); err == nil {
		t.Error("secrets may be guessed without a limit")
	}
	if a.members.IsMember(n.id) {
		t.Error("a site was let in that knew no secret")
	}
	unreachable := a.token(testSecret)
	unreachable.Addresses = []string{"/ip4/127.0.0.1/udp/1/quic-v1"}
	if _, err := n.net.Join(t.Context(), unreachable, engine.SiteRecord{}); !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("at an address where no one is: %v", err)
	}
}

// newStranger is a libp2p host that keeps to no rules of ours.
func newStranger(t testing.TB, options ...libp2p.Option) host.Host {
	t.Helper()
	h, err := libp2p.New(append([]libp2p.Option{libp2p.NoListenAddrs, libp2p.DisableMetrics(), libp2p.DisableIdentifyAddressDiscovery()}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func infoOf(t testing.TB, s *testSite) peer.AddrInfo {
	t.Helper()
	id, err := peerOf(s.id)
	if err != nil {
		t.Fatal(err)
	}
	info := peer.AddrInfo{ID: id}
	for _, text := range s.net.Addresses() {
		info.Addrs = append(info.Addrs, multiaddr.StringCast(text))
	}
	return info
}

var ownProtocols = []protocol.ID{pingProtocol, hintProtocol, reconcileProtocol, fetchProtocol, httpProtocol, pubsub.GossipSubID_v12, pubsub.GossipSubID_v11}

// answers opens a stream, writes, and reports whether anything came back.
func answers(h host.Host, to peer.ID, id protocol.ID, b []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := h.NewStream(ctx, to, id)
	if err != nil {
		return false
	}
	defer s.Reset()
	_ = s.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := s.Write(b); err != nil {
		return false
	}
	_ = s.CloseWrite()
	n, _ := s.Read(make([]byte, 1))
	return n > 0
}

func TestStrangerGetsNothing(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a := sites[0]
	id := a.replicas.create("secret", ids(sites))
	a.publish(id, "secret")
	served := make(chan struct{}, 100)
	go func() {
		for {
			c, err := a.net.Listener().Accept()
			if err != nil {
				return
			}
			served <- struct{}{}
			_ = c.Close()
		}
	}()
	info := infoOf(t, a)
	try := func(h host.Host) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_ = h.Connect(ctx, info)
		for _, p := range ownProtocols {
			frame, err := encodeFrame(fetchRequest{Wants: []want{{Document: id}}}, maxFrame)
			if err != nil {
				t.Fatal(err)
			}
			if answers(h, info.ID, p, frame) {
				t.Errorf("a stranger was answered on %s", p)
			}
		}
	}
	// While no invitation is open, the connection itself is refused.
	outside := newStranger(t)
	try(outside)
	eventually(t, "the stranger is not connected", func() bool { return outside.Network().Connectedness(info.ID) != network.Connected })

	// While one is open, the join protocol alone is served, and gossip does not speak to a stranger.
	a.members.invite(testSecret)
	guest := newStranger(t)
	heard := make(chan protocol.ID, 100)
	for _, p := range ownProtocols {
		guest.SetStreamHandler(p, func(s network.Stream) {
			heard <- p
			_ = s.Reset()
		})
	}
	try(guest)
	a.publish(id, "another")
	if answers(guest, info.ID, joinProtocol, []byte{1, 0}) {
		t.Error("a garbled join request was answered")
	}
	eventually(t, "the connection of a garbled join request is closed", func() bool {
		return guest.Network().Connectedness(info.ID) != network.Connected
	})
	select {
	case p := <-heard:
		t.Errorf("the site spoke to a stranger on %s", p)
	case <-served:
		t.Error("a stranger's stream reached the peer server")
	default:
	}
	if len(a.replicas.state()) != 1 {
		t.Error("a stranger made a document")
	}
}

// A stranger that connects and stays silent is shown out, and all of them when no one is invited any more.
func TestGuestIsShownOut(t *testing.T) {
	a := newTestSite(t, testConfig{})
	a.run(t)
	a.members.invite(testSecret)
	info := infoOf(t, a)
	var guests []host.Host
	for range maxGuests + 4 {
		h := newStranger(t)
		if err := h.Connect(t.Context(), info); err != nil {
			t.Fatal(err)
		}
		guests = append(guests, h)
	}
	connected := func() int { return len(a.net.host.Network().Peers()) }
	eventually(t, "there are not too many guests", func() bool { return connected() > 0 && connected() <= maxGuests })
	a.members.invite("")
	eventually(t, "no guest is left", func() bool { return connected() == 0 })
	for _, h := range guests {
		eventually(t, "the guest knows", func() bool { return h.Network().Connectedness(info.ID) != network.Connected })
	}
}

// A site that was taken out of the mesh is disconnected and not let in again.
func TestRemovedMemberIsOut(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{reconcile: 100 * time.Millisecond})
	a, b := sites[0], sites[1]
	a.members.remove(b.id)
	eventually(t, "they are apart", func() bool {
		return len(a.net.host.Network().Peers()) == 0 && !b.net.Status()[a.id].Reachable
	})
	id := a.replicas.create("doc", ids(sites))
	a.publish(id, "secret")
	info := infoOf(t, a)
	if answers(b.net.host, info.ID, fetchProtocol, []byte{0}) || len(b.replicas.state()) > 0 {
		t.Error("a site that is no member any more was answered")
	}
}

// garbage is a set of messages that are wrong in different ways.
func garbage() map[string][]byte {
	return map[string][]byte{
		"nothing":        {},
		"zeros":          make([]byte, 1024),
		"no CBOR":        {4, 0xff, 0xff, 0xff, 0xff},
		"a huge length":  {0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"an endless one": bytes.Repeat([]byte{0xff}, 64),
		"HTTP":           []byte("GET / HTTP/1.1\r\n\r\n"),
		"a map":          {3, 0xa1, 0x01, 0x80},
		"nested":         append([]byte{100}, bytes.Repeat([]byte{0x81}, 100)...),
	}
}

// A member that sends garbage on every protocol harms no one, gets nothing, and is disconnected in the end.
func TestGarbageFromMember(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a := sites[0]
	key, badID := testKey(t)
	a.members.add(engine.Member{ID: badID})
	eventually(t, "the member is known", func() bool { return a.net.link(badID) != nil })
	bad := newStranger(t, libp2p.Identity(key))
	info := infoOf(t, a)
	if err := bad.Connect(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	for _, p := range []protocol.ID{hintProtocol, reconcileProtocol, fetchProtocol, pubsub.GossipSubID_v12} {
		for name, b := range garbage() {
			if p != pubsub.GossipSubID_v12 && answers(bad, info.ID, p, b) {
				t.Errorf("%s on %s was answered", name, p)
			}
		}
	}
	// An envelope that the engine refuses counts like one that does not decode.
	a.replicas.setFault(func(from engine.SiteID, _ engine.Envelope) error {
		if from == badID {
			return engine.ErrRefused
		}
		return nil
	})
	about := testAbout("bad", []engine.SiteID{a.id, badID})
	frame, err := encodeFrame(hint{Envelope: &engine.Envelope{Document: testDocumentID(about), About: about}}, maxHint)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the member is disconnected and kept out", func() bool {
		_ = bad.Connect(t.Context(), info)
		answers(bad, info.ID, hintProtocol, frame)
		return !a.net.gater.member(bad.ID())
	})
	if a.net.Counters().Refused < maxRefusals {
		t.Errorf("only %d messages were refused", a.net.Counters().Refused)
	}
	// The other member notices nothing.
	id := a.replicas.create("doc", ids(sites))
	a.publish(id, "change")
	eventually(t, "the others go on", func() bool { return same(sites) })
}

// A member that answers with garbage is found out too.
func TestGarbageInAnswers(t *testing.T) {
	a := newTestSite(t, testConfig{reconcile: 50 * time.Millisecond})
	key, badID := testKey(t)
	bad := newStranger(t, libp2p.Identity(key), libp2p.ListenAddrStrings("/ip4/127.0.0.1/udp/0/quic-v1"))
	bad.SetStreamHandler(pingProtocol, func(s network.Stream) {
		var b [pongSize]byte
		for {
			if _, err := io.ReadFull(s, b[:pingSize]); err != nil {
				return
			}
			_, _ = s.Write(b[:])
		}
	})
	bad.SetStreamHandler(reconcileProtocol, func(s network.Stream) {
		var request compareRequest
		if err := readFrame(bufio.NewReader(s), &request, maxCompare); err != nil {
			_ = s.Reset()
			return
		}
		// More documents than asked for, in the wrong order.
		_ = writeFrame(s, compareAnswer{Results: []compareResult{{Kind: resultItems, Data: bytes.Repeat([]byte{7}, 3*itemLen)}}}, maxCompare)
		_ = s.Close()
	})
	var addrs []string
	for _, addr := range bad.Network().ListenAddresses() {
		addrs = append(addrs, addr.String())
	}
	a.members.add(engine.Member{ID: badID, SiteRecord: engine.SiteRecord{Addresses: addrs}})
	a.replicas.write(a.replicas.create("doc", []engine.SiteID{a.id, badID}), []byte("x"))
	a.run(t)
	eventually(t, "its answers are refused", func() bool { return a.net.Counters().Refused > 0 })
}
