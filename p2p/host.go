package p2p

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"
	"github.com/libp2p/go-libp2p/x/rate"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// newHost makes a libp2p host that listens on every one of the addresses, or none.
func newHost(cfg Config, listen []multiaddr.Multiaddr, g *gater, d *dials, lanes *laneDoor) (host.Host, error) {
	resources, err := newResources(cfg.Limits.withDefaults())
	if err != nil {
		return nil, err
	}
	options := []libp2p.Option{
		libp2p.Identity(cfg.Key),
		libp2p.UserAgent("skerry"),
		libp2p.NoListenAddrs,
		libp2p.Transport(quic.NewTransport),
		libp2p.Transport(newTCP(lanes)),
		// For networks that let nothing out but HTTPS, also through a proxy that the environment names.
		libp2p.Transport(websocket.New),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.ConnectionGater(g),
		// Which connections stay is decided by the list of members.
		libp2p.ConnectionManager(connmgr.NullConnMgr{}),
		libp2p.ResourceManager(resources),
		libp2p.DisableMetrics(),
		libp2p.SwarmOpts(swarm.WithMetricsTracer(d), swarm.WithDialRanker(preferQUIC)),
		// Through other sites, where there is no way of its own: relay.go.
		libp2p.EnableRelay(),
		libp2p.Ping(false), // it would answer strangers
		libp2p.DisableIdentifyAddressDiscovery(),
		libp2p.ForceReachabilityPublic(),
		// A site that is cut off fails every dial. That says nothing about UDP.
		libp2p.UDPBlackHoleSuccessCounter(nil),
		libp2p.IPv6BlackHoleSuccessCounter(nil),
		libp2p.WithDialTimeout(dialTimeout),
	}
	h, err := libp2p.New(append(options, cfg.Options...)...)
	if err != nil {
		return nil, fmt.Errorf("make host: %w", err)
	}
	for _, a := range listen {
		// One by one: together, the host would be content with the first that works.
		if err := h.Network().Listen(a); err != nil {
			_ = h.Close()
			return nil, fmt.Errorf("listen for other sites on %s: %w", a, err)
		}
	}
	return h, nil
}

// headStart is how long QUIC is tried before anything else is. libp2p's own 30 ms within a private network are less than a busy machine takes
// for a handshake, and a site that is behind a NAT and came over TCP can have no hole made to it.
const headStart = time.Second

// preferQUIC has the other ways tried after QUIC, where there is QUIC.
func preferQUIC(addrs []multiaddr.Multiaddr) []network.AddrDelay {
	ranked := swarm.DefaultDialRanker(addrs)
	if !slices.ContainsFunc(addrs, overQUIC) {
		return ranked
	}
	for i := range ranked {
		if !overQUIC(ranked[i].Addr) {
			ranked[i].Delay += headStart
		}
	}
	return ranked
}

func overQUIC(a multiaddr.Multiaddr) bool {
	_, err := a.ValueForProtocol(multiaddr.P_QUIC_V1)
	return err == nil
}

// newResources limits what other sites can make this one hold. The limits of libp2p are made for an open network of
// strangers; here they would stop a busy member (512 streams) or a reconnecting one (a connection in five seconds).
func newResources(each Limits) (network.ResourceManager, error) {
	joins := rcmgr.LimitVal(streamsOf(joinProtocol))
	partial := rcmgr.PartialLimitConfig{
		System: rcmgr.ResourceLimits{
			Streams: 1 << 17, StreamsInbound: 1 << 16, StreamsOutbound: 1 << 16,
			Conns: 8192, ConnsInbound: 4096, ConnsOutbound: 4096, FD: 4096, Memory: 4 << 30,
		},
		Transient: rcmgr.ResourceLimits{
			Streams: 8192, StreamsInbound: 4096, StreamsOutbound: 4096,
			Conns: 512, ConnsInbound: 256, ConnsOutbound: 256, FD: 512, Memory: 256 << 20,
		},
		PeerDefault: rcmgr.ResourceLimits{
			Streams: 2 * rcmgr.LimitVal(each.Streams), StreamsInbound: rcmgr.LimitVal(each.Streams), StreamsOutbound: rcmgr.LimitVal(each.Streams),
			Conns: 2 * maxConns, ConnsInbound: maxConns, ConnsOutbound: maxConns, FD: 2 * maxConns, Memory: rcmgr.LimitVal64(each.Memory),
		},
		ProtocolPeer: map[protocol.ID]rcmgr.ResourceLimits{joinProtocol: {Streams: 2 * joins, StreamsInbound: joins, StreamsOutbound: joins}},
	}
	perAddress := []rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: 256}}
	perPrefix := []rcmgr.ConnLimitPerSubnet{{PrefixLength: 64, ConnCount: 256}}
	m, err := rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(partial.Build(rcmgr.InfiniteLimits)),
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithLimitPerSubnet(perAddress, perPrefix),
		rcmgr.WithConnRateLimiters(&rate.Limiter{})) // strangers are limited by the gater
	if err != nil {
		return nil, fmt.Errorf("limit resources: %w", err)
	}
	return m, nil
}

// clearBackoff makes the host forget that dials failed: when to try again is decided by link.go.
func clearBackoff(h host.Host, l *link) {
	if s, ok := h.Network().(*swarm.Swarm); ok {
		s.Backoff().Clear(l.pid)
	}
}

// addressIP returns the IP address of a multiaddress, the zero Addr when it has none.
func addressIP(a multiaddr.Multiaddr) netip.Addr {
	ip, err := manet.ToIP(a)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice(ip)
	return addr.Unmap()
}
