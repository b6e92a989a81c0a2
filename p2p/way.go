package p2p

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

// Ways returns how this site gets to each other member, or why not. It takes longer than Status.
func (n *Network) Ways() map[engine.SiteID]engine.Way {
	links := n.all()
	ways := make(map[engine.SiteID]engine.Way, len(links))
	for _, l := range links {
		ways[l.site] = l.way()
	}
	return ways
}

func (l *link) way() engine.Way {
	w := engine.Way{SiteStatus: l.status(), Relays: l.relays()}
	if c := l.direct(); c != nil {
		w.Transport, w.Seen, w.Inbound = transportOf(c), c.RemoteMultiaddr().String(), c.Stat().Direction == network.DirInbound
	} else if by := l.n.link(w.Relay); by != nil {
		if c := by.direct(); c != nil {
			w.Transport = transportOf(c)
		}
	}
	if w.Reachable && w.Relay == "" {
		return w
	}
	if l.n.gater.isIsolated() {
		w.Tries = []engine.Try{{Result: engine.TryRehearsed}}
		return w
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Tries = slices.Clone(l.tries)
	return w
}

// transportOf is what carries a connection.
func transportOf(c network.Conn) string {
	for _, t := range []struct {
		code int
		name string
	}{{multiaddr.P_QUIC_V1, "quic"}, {multiaddr.P_WS, "websocket"}, {multiaddr.P_WSS, "websocket"}, {multiaddr.P_TCP, "tcp"}} {
		if _, err := c.RemoteMultiaddr().ValueForProtocol(t.code); err == nil {
			return t.name
		}
	}
	return ""
}
