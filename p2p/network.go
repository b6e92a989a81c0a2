package p2p

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

// Network is this site's part in the mesh. It implements engine.Network and is safe for concurrent use.
type Network struct {
	cfg   Config
	log   *slog.Logger
	self  engine.SiteID
	host  host.Host
	gater *gater
	relay *relay.Relay // nil: this site does not relay
	punch *holepunch.Service
	peers []peer.AddrInfo // of the configuration

	punchable <-chan struct{} // closed once holes can be made

	streams  *streamListener
	noise    *noise.SessionTransport // of lanes
	lanes    laneDoor
	position *position
	outside  outside
	dials    *dials
	claims   *claims
	// begun and served hold a token for each comparison that this site has begun, or others with it.
	begun, served chan struct{}
	counters      counters

	changed chan struct{} // capacity 1: the list of members may have changed

	mu       sync.Mutex
	exchange engine.Exchange         // nil before Attach; not changed from Run on
	links    map[engine.SiteID]*link // one for each other member
	linked   chan struct{}           // closed and made anew when one is added
	closing  bool                    // no stream handler starts any more
	handlers sync.WaitGroup          // the stream handlers that run; Add under mu, while not closing

	correction correction
	closed     sync.Once
}

// New makes the site's libp2p host and listens; nothing is let in before Run. Both membership and exchange may be nil
// while the site belongs to no mesh; Attach hands them in later. The caller ends with Run or, without it, Close.
func New(cfg Config, membership engine.Membership, exchange engine.Exchange) (*Network, error) {
	listen, peers, err := cfg.validate()
	if err != nil {
		return nil, fmt.Errorf("configure the network: %w", err)
	}
	self, err := SiteIDOf(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("configure the network: %w", err)
	}
	n := &Network{
		cfg: cfg, log: cfg.Log, self: self, gater: newGater(), peers: peers, streams: newStreamListener(self), position: newPosition(cfg.At),
		claims: newClaims(), begun: make(chan struct{}, maxBegun), served: make(chan struct{}, maxServed),
		changed: make(chan struct{}, 1), links: map[engine.SiteID]*link{}, linked: make(chan struct{}),
	}
	n.Attach(membership, exchange)
	n.dials = &dials{of: map[*link][]swarm.TransportError{}}
	if n.noise, err = newLaneNoise(cfg); err != nil {
		return nil, fmt.Errorf("configure the network: %w", err)
	}
	if n.host, err = newHost(cfg, listen, n.gater, n.dials, &n.lanes); err != nil {
		return nil, err
	}
	n.outside.seen = map[peer.ID]multiaddr.Multiaddr{}
	if n.punch, n.punchable, err = newPunch(n.host, &n.outside, n.holeMade); err != nil {
		return nil, errors.Join(err, n.host.Close())
	}
	if cfg.Relay {
		if n.relay, err = newRelay(n.host, n.gater, &n.counters); err != nil {
			return nil, errors.Join(err, n.punch.Close(), n.host.Close())
		}
	}
	return n, nil
}

// Attach hands in what New was not given. It must happen before Run.
func (n *Network) Attach(membership engine.Membership, exchange engine.Exchange) {
	n.gater.attach(membership)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.exchange = exchange
}

// Self returns this site's SiteID.
func (n *Network) Self() engine.SiteID { return n.self }

// MembersChanged tells that the list of members, or an address in it, may have changed. Without it, the change is
// noticed within a second.
func (n *Network) MembersChanged() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// Run keeps the site in touch with the other members until ctx ends; then it closes everything and returns nil. It
// is called once.
func (n *Network) Run(ctx context.Context) error {
	if n.gater.members() == nil || n.exchange == nil {
		return errors.New("run the network: no membership or no engine attached")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.host.Network().Notify(&network.NotifyBundle{
		ConnectedF: func(_ network.Network, c network.Conn) {
			if l := n.link(siteOf(c.RemotePeer())); l != nil {
				n.spawn(func() { l.connected(c) })
			}
		},
		DisconnectedF: func(_ network.Network, c network.Conn) {
			if l := n.link(siteOf(c.RemotePeer())); l != nil {
				if !l.connectedness() {
					l.lanes.set(false)
				}
				l.probe()
			}
		},
	})
	if err := n.watchOutside(ctx); err != nil {
		return errors.Join(err, n.Close())
	}
	n.handle(joinProtocol, func(s network.Stream) { n.serveJoin(ctx, s) })
	n.serve(ctx, pingProtocol, n.servePing)
	n.serve(ctx, lettersProtocol, n.serveLetters)
	n.serve(ctx, compareProtocol, n.serveCompare)
	n.serve(ctx, blobProtocol, n.serveBlob)
	n.handle(httpProtocol, func(s network.Stream) { n.acceptHTTP(ctx, s) })
	n.lanes.open(func(c net.Conn) {
		if !n.begin() {
			c.Close()
			return
		}
		defer n.handlers.Done()
		defer n.contain("", func() { c.Close() })
		n.takeLane(c)
	})

	n.watchMembers(ctx)
	return n.Close()
}

// Close ends all connections and stops listening. Run does it too; it is needed only where Run is not called.
func (n *Network) Close() error {
	var err error
	n.closed.Do(func() {
		n.mu.Lock()
		n.closing = true
		n.mu.Unlock()
		_ = n.streams.Close()
		for _, l := range n.all() {
			l.lanes.set(false)
		}
		if n.relay != nil {
			err = n.relay.Close()
		}
		err = errors.Join(err, n.punch.Close(), n.host.Close())
		n.handlers.Wait()
	})
	if err != nil {
		return fmt.Errorf("close the network: %w", err)
	}
	return nil
}

// handle has the streams of a protocol handled by goroutines that are waited for at the end.
func (n *Network) handle(id protocol.ID, handle network.StreamHandler) {
	n.host.SetStreamHandler(id, func(s network.Stream) {
		if !n.begin() {
			_ = s.Reset()
			return
		}
		defer n.handlers.Done()
		defer n.contain(s.Conn().RemotePeer(), func() { _ = s.Reset() })
		handle(s)
	})
}

// contain keeps a panic in what is done for another site from ending the process: it is a defect of the agent's own, which that site
// may have provoked.
func (n *Network) contain(p peer.ID, end func()) {
	if defect := recover(); defect != nil {
		n.log.Error("a defect while another site was served", "peer", p, "panic", fmt.Sprint(defect), "stack", string(debug.Stack()))
		end()
	}
}

// serve has the streams of members served, of each as many at once as the table of calls says.
func (n *Network) serve(ctx context.Context, id protocol.ID, serve func(context.Context, *link, network.Stream)) {
	n.handle(id, func(s network.Stream) {
		if l := n.admit(ctx, s, id); l != nil {
			defer l.closed(id)
			serve(ctx, l, s)
		}
	})
}

// admit returns the link of the member that has opened a stream, and counts the stream. It resets the stream and returns nil when
// that is no member, or has too many of them.
func (n *Network) admit(ctx context.Context, s network.Stream, id protocol.ID) *link {
	p := s.Conn().RemotePeer()
	if n.gater.member(p) {
		if l := n.awaitLink(ctx, siteOf(p)); l != nil && l.opened(id, streamsOf(id)) {
			return l
		}
		n.log.Debug("a stream of another site was not served", "peer", p, "protocol", id)
	}
	_ = s.Reset()
	return nil
}

// awaitLink returns the link of a member, which is made a moment after it has become one; nil when it is not.
func (n *Network) awaitLink(ctx context.Context, id engine.SiteID) *link {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for {
		n.mu.Lock()
		l, linked := n.links[id], n.linked
		n.mu.Unlock()
		if l != nil {
			return l
		}
		n.MembersChanged()
		select {
		case <-linked:
		case <-ctx.Done():
			return nil
		}
	}
}

// begin counts one more goroutine that Close waits for, and reports false when there is to be no more.
func (n *Network) begin() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return false
	}
	n.handlers.Add(1)
	return true
}

// spawn runs f in a goroutine that Close waits for.
func (n *Network) spawn(f func()) {
	if n.begin() {
		go func() {
			defer n.handlers.Done()
			f()
		}()
	}
}

// link returns the link to a member, nil when there is none.
func (n *Network) link(id engine.SiteID) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.links[id]
}

// all returns the links to all other members.
func (n *Network) all() []*link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.links))
}

// Status returns what is known of the way to each other member.
func (n *Network) Status() map[engine.SiteID]engine.SiteStatus {
	links := n.all()
	status := make(map[engine.SiteID]engine.SiteStatus, len(links))
	for _, l := range links {
		status[l.site] = l.status()
	}
	return status
}

// SetIsolated cuts this site off from all others, or ends that: a rehearsal of a cut network. It is not kept over a
// restart.
func (n *Network) SetIsolated(on bool) {
	n.gater.isolate(on)
	n.log.Warn("isolation from all other sites", "on", on)
	if on {
		for _, p := range n.host.Network().Peers() {
			_ = n.host.Network().ClosePeer(p)
		}
	}
	for _, l := range n.all() {
		l.nudge()
	}
}

// Isolated reports whether SetIsolated cut this site off.
func (n *Network) Isolated() bool { return n.gater.isIsolated() }
