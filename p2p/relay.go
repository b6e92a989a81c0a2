package p2p

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/pb"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

const (
	// A member has at most maxCircuits connections through this site, each with two buffers of relayBuffer bytes; maxPlaces
	// members may be called through it.
	maxCircuits = 256
	relayBuffer = 16 << 10
	maxPlaces   = 4096
	// placeTime is how long a relay keeps a place for a member that says nothing more; it asks again after half of it.
	placeTime = time.Hour
	// placeAgain is when to ask a relay again that has refused.
	placeAgain = 10 * time.Second
	// lostTime is how long a relay through which a connection was lost, or did not come about, is tried after the others.
	lostTime = 10 * time.Minute
	// directFirst is the ping over a relay after which the way without it is tried, directEvery after how many it is tried again. The first
	// hole is tried when the relayed connection comes about, and libp2p may take 5 s more to find that it has an address outside.
	directFirst, directEvery = 6, 30
)

// newRelay has members talk to each other through this site: libp2p's circuit relay. There is no limit of bytes or time, with which
// libp2p treats a connection as a makeshift: those who use it are members, and each has its bounds.
func newRelay(h host.Host, g *gater, c *counters) (*relay.Relay, error) {
	door := relayDoor{h, &coming{to: map[*multiaddr.Component]peer.ID{}}}
	r, err := relay.New(door, relay.WithACL(membersOnly{door, g, c}), relay.WithMetricsTracer(relayed{c}), relay.WithResources(relay.Resources{
		ReservationTTL: placeTime, MaxReservations: maxPlaces, MaxCircuits: maxCircuits, BufferSize: relayBuffer,
		MaxReservationsPerIP: maxPlaces, MaxReservationsPerASN: maxPlaces, // many members may be behind one NAT
	}))
	if err != nil {
		return nil, fmt.Errorf("relay for members: %w", err)
	}
	return r, nil
}

// relayed counts what a relay does: relay.MetricsTracer.
type relayed struct{ c *counters }

func (r relayed) BytesTransferred(n int)         { r.c.relayed.Add(uint64(n)) }
func (r relayed) ConnectionOpened()              { r.c.circuits.Add(1) }
func (r relayed) ConnectionClosed(time.Duration) { r.c.circuits.Add(-1) }
func (r relayed) ReservationClosed(n int)        { r.c.places.Add(-int64(n)) }

func (r relayed) ReservationAllowed(again bool) {
	if !again {
		r.c.places.Add(1)
	}
}

func (r relayed) ConnectionRequestHandled(s pb.Status)  { r.full(s) }
func (r relayed) ReservationRequestHandled(s pb.Status) { r.full(s) }
func (r relayed) RelayStatus(bool)                      {}

func (r relayed) full(s pb.Status) {
	if s == pb.Status_RESOURCE_LIMIT_EXCEEDED || s == pb.Status_RESERVATION_REFUSED {
		r.c.relayFull.Add(1)
	}
}

// membersOnly is what a relay does for whom. Nobody keeps others from being called: a member may have as many connections through this site as
// the one that it calls has room left for, so that one that takes what it can get leaves half, and several leave a share as large as each one's.
type membersOnly struct {
	h relayDoor
	g *gater
	c *counters
}

func (m membersOnly) AllowReserve(p peer.ID, _ multiaddr.Multiaddr) bool { return m.g.member(p) }

// AllowConnect implements relay.ACLFilter. The stream that asks is one of those that are counted.
func (m membersOnly) AllowConnect(from peer.ID, at multiaddr.Multiaddr, to peer.ID) bool {
	if !m.g.member(from) || !m.g.member(to) {
		return false
	}
	fair := m.h.coming.begin(at, to, func(coming int) bool {
		return m.open(from, proto.ProtoIDv2Hop) <= maxCircuits-m.open(to, proto.ProtoIDv2Hop, proto.ProtoIDv2Stop)-coming
	})
	if !fair {
		m.c.relayFull.Add(1)
	}
	return fair
}

// open counts a member's streams of some protocols: each connection through this site is one at either end.
func (m membersOnly) open(p peer.ID, of ...protocol.ID) (n int) {
	for _, c := range m.h.Network().ConnsToPeer(p) {
		for _, s := range c.GetStreams() {
			if slices.Contains(of, s.Protocol()) {
				n++
			}
		}
	}
	return n
}

// circuit reports whether an address leads through another site.
func circuit(a multiaddr.Multiaddr) bool {
	_, err := a.ValueForProtocol(multiaddr.P_CIRCUIT)
	return err == nil
}

// direct returns a connection to the member that leads through no other site, nil when there is none.
func (l *link) direct() network.Conn {
	for _, c := range l.n.host.Network().ConnsToPeer(l.pid) {
		if !c.IsClosed() && !circuit(c.RemoteMultiaddr()) {
			return c
		}
	}
	return nil
}

// through returns the member that relays for this link, empty when none does.
func (l *link) through() engine.SiteID {
	var by engine.SiteID
	for _, c := range l.n.host.Network().ConnsToPeer(l.pid) {
		if !circuit(c.RemoteMultiaddr()) {
			return ""
		}
		way, _ := multiaddr.SplitFunc(c.RemoteMultiaddr(), func(c multiaddr.Component) bool { return c.Protocol().Code == multiaddr.P_CIRCUIT })
		if text, err := way.ValueForProtocol(multiaddr.P_P2P); err == nil {
			if p, err := peer.Decode(text); err == nil {
				by = siteOf(p)
			}
		}
	}
	return by
}

// relays reports whether the member relays for others, and can be reached without another that does.
func (l *link) relays() bool {
	if l.direct() == nil {
		return false
	}
	known, err := l.n.host.Peerstore().SupportsProtocols(l.pid, proto.ProtoIDv2Hop)
	return err == nil && len(known) > 0
}

// keepPlace has the member relay to this site, if it does that, for as long as it is connected. Every ping that is answered wakes it.
func (l *link) keepPlace(ctx context.Context) {
	var at string // the connection over which it was asked last
	var next time.Time
	for ctx.Err() == nil {
		l.mu.Lock()
		up, changed := l.up, l.changed
		l.mu.Unlock()
		if c := l.direct(); up && c != nil && (c.ID() != at || time.Now().After(next)) && l.relays() {
			at, next = c.ID(), time.Now().Add(placeTime/2)
			if err := l.takePlace(ctx); err != nil && ctx.Err() == nil {
				next = time.Now().Add(placeAgain)
				l.n.log.Warn("a relay keeps no place for this site: it is not reached through it", "peer", l.site, "err", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

func (l *link) takePlace(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(network.WithNoDial(ctx, "place"), openTimeout)
	defer cancel()
	_, err := client.Reserve(ctx, l.n.host, peer.AddrInfo{ID: l.pid})
	return err
}

// unlucky are the relays with which a link has had no luck, and when: one may pass on what makes a connection, and nothing after that. Its link's
// connect owns it.
type unlucky map[engine.SiteID]time.Time

// lost takes note that a connection through a site was lost, or did not come about.
func (u unlucky) lost(by engine.SiteID) { u[by] = time.Now() }

// when was that; zero for long ago and never.
func (u unlucky) when(by engine.SiteID) time.Time {
	if at := u[by]; time.Since(at) < lostTime {
		return at
	}
	return time.Time{}
}

// way leads through a member that relays.
type way struct {
	by  *link
	rtt time.Duration
}

// inOrder sorts ways by when they failed last, and then by their length.
func (u unlucky) inOrder(ways []way) {
	slices.SortFunc(ways, func(a, b way) int {
		return cmp.Or(u.when(a.by.site).Compare(u.when(b.by.site)), cmp.Compare(a.rtt, b.rtt))
	})
}

// dialThrough connects through a member that relays, and tells what came of those that could not.
func (l *link) dialThrough(ctx context.Context) (tries []engine.Try, connected bool) {
	var ways []way
	for _, by := range l.n.all() {
		if by != l && by.isUp() && by.relays() {
			by.mu.Lock()
			ways = append(ways, way{by, by.rtt})
			by.mu.Unlock()
		}
	}
	l.unlucky.inOrder(ways)
	for _, w := range ways {
		address, err := multiaddr.NewMultiaddr("/p2p/" + w.by.pid.String() + "/p2p-circuit")
		if err != nil {
			l.n.log.Error("address of a relay", "peer", w.by.site, "err", err) // it is made of a key that has been read
			continue
		}
		failed := l.connectTo(ctx, dialTimeout+4*w.rtt, address)
		if failed == nil {
			l.n.log.Info("site is reached through another one", "peer", l.site, "relay", w.by.site)
			return tries, true
		}
		l.unlucky.lost(w.by.site)
		for i := range failed {
			failed[i].Address, failed[i].Relay = "", w.by.site
		}
		tries = append(tries, failed...)
	}
	if len(tries) == 0 {
		tries = []engine.Try{{Result: engine.TryNoRelay, At: time.Now()}}
	}
	return tries, false
}

// dialDirect tries the way without a relay, while there is one with it.
func (l *link) dialDirect(ctx context.Context) {
	l.mu.Lock()
	addrs, timeout := l.addrs, dialTimeout+4*l.rtt
	l.mu.Unlock()
	if len(addrs) == 0 {
		l.punch(ctx)
		return
	}
	if tries := l.connectTo(network.WithForceDirectDial(ctx, "without a relay"), timeout, addrs...); tries != nil {
		l.setTries(tries)
		l.n.log.Debug("site is still reached through another one alone", "peer", l.site, "err", errorOf(tries))
		l.punch(ctx)
	}
}

// straighten closes the connections through relays as soon as there is one without.
func (l *link) straighten() {
	if l.direct() == nil {
		return
	}
	for _, c := range l.n.host.Network().ConnsToPeer(l.pid) {
		if circuit(c.RemoteMultiaddr()) {
			_ = c.Close()
		}
	}
}
