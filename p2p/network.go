package p2p

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/skerry/skerry/engine"
)

// Network is this site's part in the mesh. It implements engine.Network and is safe for concurrent use.
type Network struct {
	cfg   Config
	log   *slog.Logger
	self  engine.SiteID
	host  host.Host
	gater *gater
	peers []peer.AddrInfo // of the configuration

	out     *outbox
	in      *inbox
	streams *streamListener
	// comparisons is a semaphore for those begun by others.
	comparisons chan struct{}
	counters    counters
	position    *position

	changed chan struct{} // capacity 1: the list of members may have changed

	mu       sync.Mutex
	replicas engine.Replicas         // nil before Attach; not changed from Run on
	topics   *topics                 // nil outside Run
	links    map[engine.SiteID]*link // one for each other member
	closing  bool                    // no stream handler starts any more
	handlers sync.WaitGroup          // the stream handlers that run; Add under mu, while not closing

	closed sync.Once
}

// New makes the site's libp2p host and listens; nothing is let in before Run. Both membership and replicas may be nil
// while the site belongs to no mesh; Attach hands them in later. The caller ends with Run or, without it, Close.
func New(cfg Config, membership engine.Membership, replicas engine.Replicas) (*Network, error) {
	listen, peers, err := cfg.validate()
	if err != nil {
		return nil, fmt.Errorf("configure the network: %w", err)
	}
	self, err := SiteIDOf(cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("configure the network: %w", err)
	}
	n := &Network{
		cfg: cfg, log: cfg.Log, self: self, gater: newGater(), peers: peers,
		out: newOutbox(), in: newInbox(), streams: newStreamListener(self),
		changed: make(chan struct{}, 1), position: newPosition(cfg.At), comparisons: make(chan struct{}, maxComparisons), links: map[engine.SiteID]*link{},
	}
	n.Attach(membership, replicas)
	if n.host, err = newHost(cfg, listen, n.gater); err != nil {
		return nil, err
	}
	return n, nil
}

// Attach hands in what New was not given. It must happen before Run.
func (n *Network) Attach(membership engine.Membership, replicas engine.Replicas) {
	n.gater.attach(membership)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.replicas = replicas
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
	if n.gater.members() == nil || n.replicas == nil {
		return errors.New("run the network: no membership or no replicas attached")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t, err := newTopics(ctx, n)
	if err != nil {
		return errors.Join(fmt.Errorf("run the network: %w", err), n.Close())
	}
	n.mu.Lock()
	n.topics = t
	n.mu.Unlock()

	n.host.Network().Notify(&network.NotifyBundle{
		ConnectedF: func(_ network.Network, c network.Conn) {
			if l := n.link(siteOf(c.RemotePeer())); l != nil {
				n.spawn(func() { l.connected(c) })
			}
		},
		DisconnectedF: func(_ network.Network, c network.Conn) {
			if l := n.link(siteOf(c.RemotePeer())); l != nil {
				l.probe()
			}
		},
	})
	n.host.SetStreamHandler(joinProtocol, n.handler(ctx, false, n.serveJoin))
	for id, serve := range map[protocol.ID]func(context.Context, network.Stream){
		pingProtocol:      n.servePing,
		hintProtocol:      n.serveHints,
		reconcileProtocol: n.serveReconcile,
		fetchProtocol:     n.serveFetch,
		blobProtocol:      n.serveBlob,
		httpProtocol:      n.serveHTTP,
	} {
		n.host.SetStreamHandler(id, n.handler(ctx, true, serve))
	}

	var wg sync.WaitGroup
	wg.Go(func() { n.in.run(ctx, n) })
	wg.Go(func() { n.publishAll(ctx) })
	wg.Go(func() { n.watchMembers(ctx) })
	<-ctx.Done()
	err = n.Close()
	wg.Wait()
	t.wait()
	return err
}

// Close ends all connections and stops listening. Run does it too; it is needed only where Run is not called.
func (n *Network) Close() error {
	var err error
	n.closed.Do(func() {
		n.mu.Lock()
		n.closing = true
		n.mu.Unlock()
		_ = n.streams.Close()
		err = n.host.Close()
		n.handlers.Wait()
	})
	if err != nil {
		return fmt.Errorf("close the network: %w", err)
	}
	return nil
}

// handler makes serve a stream handler that is waited for at the end. With members it resets the streams of others.
func (n *Network) handler(ctx context.Context, members bool, serve func(context.Context, network.Stream)) network.StreamHandler {
	return func(s network.Stream) {
		if members && !n.gater.member(s.Conn().RemotePeer()) || !n.begin() {
			_ = s.Reset()
			return
		}
		defer n.handlers.Done()
		serve(ctx, s)
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

// Status returns what is known of the way to each other member.
func (n *Network) Status() map[engine.SiteID]engine.SiteStatus {
	n.mu.Lock()
	links := make([]*link, 0, len(n.links))
	for _, l := range n.links {
		links = append(links, l)
	}
	n.mu.Unlock()
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
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		l.nudge()
	}
}

// Isolated reports whether SetIsolated cut this site off.
func (n *Network) Isolated() bool { return n.gater.isIsolated() }
