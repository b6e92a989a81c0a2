package p2p

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

const testSecret = "0123456789abcdef"

func (s *testSite) token(secret string) Token {
	return Token{Mesh: "mesh", Founder: s.id, Inviter: s.id, Addresses: s.net.Addresses(), Invitation: "i", Secret: []byte(secret), Expires: time.Now().Add(time.Hour)}
}

func TestJoin(t *testing.T) {
	for _, listen := range []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"} {
		t.Run(listen, func(t *testing.T) {
			c := testConfig{listen: []string{listen}}
			sites := newTestMesh(t, 2, c)
			a, b := sites[0], sites[1]
			a.members.records = []engine.SignedRecord{a.exchange.record("the mesh"), a.exchange.record("its members")}
			a.members.joined = b.members.add // what a letter with the new record does
			a.members.invite(testSecret)

			n := newTestSite(t, c)
			record := n.member().SiteRecord
			record.Name = "nantes"
			records, err := n.net.Join(t.Context(), a.token(testSecret), record)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(records, a.members.records) {
				t.Errorf("joined another mesh: %+v", records)
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

var ownProtocols = []protocol.ID{pingProtocol, lettersProtocol, compareProtocol, blobProtocol, httpProtocol}

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

// opening is what a comparison with a site begins with that has nothing.
func opening(t testing.TB) []byte {
	t.Helper()
	nothing := make([]byte, engine.Ranges*sumLen)
	frame, err := encodeFrame(&message{Step: stepOpen, Mesh: nothing[:sumLen], Sums: []sums{{Parts: nothing}}}, maxFrame)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestStrangerGetsNothing(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a := sites[0]
	id := a.exchange.create("secret", ids(sites))
	a.send(id, "secret")
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
			if answers(h, info.ID, p, opening(t)) {
				t.Errorf("a stranger was answered on %s", p)
			}
		}
	}
	// While no invitation is open, the connection itself is refused.
	outside := newStranger(t)
	try(outside)
	eventually(t, "the stranger is not connected", func() bool { return outside.Network().Connectedness(info.ID) != network.Connected })

	// While one is open, the join protocol alone is served, and nobody speaks to a stranger.
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
	a.send(id, "another")
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
	if a.exchange.documents() != 1 {
		t.Error("a stranger made a document")
	}
}

// A stranger that connects and stays silent is shown out, the latest first when there are too many, and all of them when no one
// is invited any more.
func TestGuestIsShownOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := newSimulation(t, 10*time.Millisecond)
		a := newTestSite(t, sim.host())
		a.run(t)
		a.members.invite(testSecret)
		info := infoOf(t, a)
		var guests []host.Host
		knock := func(count int) {
			for range count {
				c := sim.host()
				h := newStranger(t, append(c.options, libp2p.Transport(quic.NewTransport), libp2p.ListenAddrStrings(c.listen...))...)
				if err := h.Connect(t.Context(), info); err != nil {
					t.Fatal(err)
				}
				guests = append(guests, h)
			}
		}
		connected := func() (n int) {
			for _, h := range guests {
				if h.Network().Connectedness(info.ID) == network.Connected {
					n++
				}
			}
			return n
		}
		knock(maxGuests + 4)
		time.Sleep(time.Second)
		if n := connected(); n != maxGuests || guests[0].Network().Connectedness(info.ID) != network.Connected {
			t.Errorf("%d guests, not %d", n, maxGuests)
		}
		time.Sleep(guestTime)
		if n := connected(); n != 0 {
			t.Errorf("%d guests have stayed", n)
		}
		knock(2)
		a.members.invite("")
		time.Sleep(time.Second)
		if n := connected() + len(a.net.host.Network().Peers()); n != 0 {
			t.Errorf("%d guests nobody has invited", n)
		}
	})
}

// A guest that is let in by the last invitation, while the others are looked over, keeps its connection: its answer is on the way.
func TestGuestThatBecomesAMemberStays(t *testing.T) {
	a := newTestSite(t, testConfig{})
	t.Cleanup(func() { _ = a.net.Close() })
	a.members.invite(testSecret)
	guest := newStranger(t)
	if err := guest.Connect(t.Context(), infoOf(t, a)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the guest is connected", func() bool { return len(a.net.host.Network().Conns()) == 1 })
	id := siteOf(guest.ID())
	a.members.asked = func(about engine.SiteID) {
		if about == id {
			a.members.add(engine.Member{ID: id})
			a.members.invite("")
		}
	}
	a.net.closeOthers(map[string]time.Time{})
	if conns := a.net.host.Network().Conns(); len(conns) != 1 || conns[0].IsClosed() {
		t.Error("the connection of a guest that has just been let in was closed")
	}
}

// A site that was taken out of the mesh is disconnected and not let in again.
func TestRemovedMemberIsOut(t *testing.T) {
	sites := newTestMesh(t, 2, testConfig{})
	a, b := sites[0], sites[1]
	a.members.invite(testSecret) // strangers may knock, and yet what it has opened as a member ends at once
	was, since := a.net.host.Network().Conns(), time.Now()
	a.members.remove(b.id)
	a.net.MembersChanged()
	eventually(t, "its connections end", func() bool {
		return !slices.ContainsFunc(was, func(c network.Conn) bool { return !c.IsClosed() })
	})
	if took := time.Since(since); took > guestTime/2 {
		t.Errorf("that took %v", took)
	}
	a.members.invite("")
	eventually(t, "they are apart", func() bool {
		return len(a.net.host.Network().Peers()) == 0 && !b.net.Status()[a.id].Reachable
	})
	id := a.exchange.create("doc", ids(sites))
	a.send(id, "secret")
	info := infoOf(t, a)
	if answers(b.net.host, info.ID, compareProtocol, opening(t)) || b.exchange.documents() > 0 {
		t.Error("a site that is no member any more was answered")
	}
}
