package p2p

import (
	"maps"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	manet "github.com/multiformats/go-multiaddr/net"
)

// turnGap is the least time between two turns.
const turnGap = 5 * time.Second

// turns has each address that a member has connected from heard in its turn. Two agents that run with one key, because a data
// directory was copied, are one member here. Every stream goes to the same one of them as long as both are connected, and
// neither would hear of the other.
type turns struct {
	at   time.Time
	last string // the address that stayed connected
}

// next closes all connections of the member but those with the address that is next. It is to be called when all is had of the one
// that was heard until now.
func (t *turns) next(l *link) {
	conns := l.n.host.Network().ConnsToPeer(l.pid)
	if len(conns) < 2 || time.Since(t.at) < turnGap {
		return
	}
	from := map[string][]network.Conn{}
	for _, c := range conns {
		ip, err := manet.ToIP(c.RemoteMultiaddr())
		if err != nil {
			return // it is relayed
		}
		from[ip.String()] = append(from[ip.String()], c)
	}
	if len(from) < 2 {
		return
	}
	addresses := slices.Sorted(maps.Keys(from))
	stays := addresses[0]
	if i := slices.IndexFunc(addresses, func(a string) bool { return a > t.last }); i >= 0 {
		stays = addresses[i]
	}
	t.at, t.last = time.Now(), stays
	for address, conns := range from {
		for _, c := range conns {
			if address != stays {
				_ = c.Close() // it was to go
			}
		}
	}
}
