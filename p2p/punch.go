package p2p

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// outside is where others have seen this site come from: what a NAT makes of its address. libp2p's own list waits until four
// others say the same, more than many a mesh has. One member's word does here: a wrong address is one that is tried in vain.
type outside struct {
	mu   sync.Mutex
	seen map[peer.ID]multiaddr.Multiaddr // the last address that each connected member has seen
}

// maxOutside is how many addresses are tried at most.
const maxOutside = 8

// take notes what a member has seen. A hole is made through UDP only: TCP connections go out from a port that nothing listens on.
func (o *outside) take(by peer.ID, seen multiaddr.Multiaddr) {
	if seen == nil || circuit(seen) || !overQUIC(seen) || manet.IsIPLoopback(seen) { // no NAT is in between on one machine
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[by] = seen
}

func (o *outside) forget(by peer.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, by)
}

func (o *outside) addresses() []multiaddr.Multiaddr {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []multiaddr.Multiaddr
	for _, a := range o.seen {
		if len(all) < maxOutside && !slices.ContainsFunc(all, a.Equal) {
			all = append(all, a)
		}
	}
	return all
}

// newPunch has two sites that are connected through a relay open a hole in their NATs to each other at the same moment: libp2p's DCUtR. Where
// that works, the connection without the relay takes the place of the other, and made is told with whom. Ready is closed once holes can be made.
func newPunch(h host.Host, o *outside, made func(peer.ID)) (s *holepunch.Service, ready <-chan struct{}, err error) {
	known, ok := h.(interface{ IDService() identify.IDService })
	if !ok {
		return nil, nil, errors.New("punch holes: the host does not identify itself")
	}
	watched := &watchedHost{Host: h, listened: make(chan struct{})}
	s, err = holepunch.NewService(watched, known.IDService(), o.addresses, holepunch.DirectDialTimeout(dialTimeout), holepunch.WithTracer(madeHoles(made)))
	if err != nil {
		return nil, nil, fmt.Errorf("punch holes: %w", err)
	}
	return s, watched.listened, nil
}

// madeHoles is told of each hole that was made, at both of its ends.
type madeHoles func(peer.ID)

// Trace implements holepunch.EventTracer.
func (made madeHoles) Trace(e *holepunch.Event) {
	if end, ok := e.Evt.(*holepunch.EndHolePunchEvt); ok && end.Success {
		made(e.Remote)
	}
}

// holeMade notes that the connections that there are to a member now without a relay lead through a hole.
func (n *Network) holeMade(with peer.ID) {
	l := n.link(siteOf(with))
	if l == nil {
		return
	}
	var holes []string
	for _, c := range n.host.Network().ConnsToPeer(with) {
		if !circuit(c.RemoteMultiaddr()) {
			holes = append(holes, c.ID())
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holes = holes
}

// watchedHost tells when libp2p's service for holes is ready. It offers itself a moment before that, and one that is closed in that moment never
// answers. The last that it does before it answers is to listen for connections, and it does that once.
type watchedHost struct {
	host.Host
	listened chan struct{}
	once     sync.Once
}

// Network implements host.Host.
func (h *watchedHost) Network() network.Network { return watchedNetwork{h.Host.Network(), h} }

type watchedNetwork struct {
	network.Network
	host *watchedHost
}

// Notify implements network.Network.
func (n watchedNetwork) Notify(to network.Notifiee) {
	n.Network.Notify(to)
	n.host.once.Do(func() { close(n.host.listened) })
}

// watchOutside notes where members see this site come from, until ctx ends.
func (n *Network) watchOutside(ctx context.Context) error {
	told, err := n.host.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted))
	if err != nil {
		return fmt.Errorf("hear of where this site is seen: %w", err)
	}
	n.spawn(func() {
		defer told.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-told.Out():
				if !ok {
					return
				}
				if e, ok := e.(event.EvtPeerIdentificationCompleted); ok && n.gater.member(e.Peer) && !circuit(e.Conn.RemoteMultiaddr()) {
					n.outside.take(e.Peer, e.ObservedAddr)
				}
			}
		}
	})
	return nil
}

// punch tries to make a hole once more. That side of a relayed connection begins that was called; the other one does nothing.
func (l *link) punch(ctx context.Context) {
	if len(l.n.outside.addresses()) == 0 || !slices.Contains(l.n.host.Mux().Protocols(), holepunch.Protocol) {
		return
	}
	for _, c := range l.n.host.Network().ConnsToPeer(l.pid) {
		if c.Stat().Direction == network.DirInbound && circuit(c.RemoteMultiaddr()) {
			if err := l.n.makeHole(ctx, l.pid); err != nil {
				l.n.log.Debug("no hole could be made", "peer", l.site, "err", err)
			}
			return
		}
	}
}

// makeHole makes a hole, unless ctx ends first. What it has begun ends with the service for holes, which Close waits for.
func (n *Network) makeHole(ctx context.Context, p peer.ID) error {
	select {
	case <-n.punchable:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !n.begin() {
		return net.ErrClosed
	}
	made := make(chan error, 1)
	go func() {
		defer n.handlers.Done()
		made <- n.punch.DirectConnect(p)
	}()
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
