package p2p

import (
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"
)

// relayDoor is the host of a relay. It tells the requests for connections apart, of which libp2p tells membersOnly no more than where they come
// from: each comes from a copy of that address.
type relayDoor struct {
	host.Host
	coming *coming
}

// SetStreamHandler implements host.Host. A relay's handler returns once the connection is there, or has not come about.
func (d relayDoor) SetStreamHandler(p protocol.ID, handle network.StreamHandler) {
	d.Host.SetStreamHandler(p, func(s network.Stream) {
		from := slices.Clone(s.Conn().RemoteMultiaddr())
		defer d.coming.end(from)
		handle(asking{s, from})
	})
}

// asking is a stream by which a member asks for something.
type asking struct {
	network.Stream
	from multiaddr.Multiaddr
}

func (s asking) Conn() network.Conn { return askingConn{s.Stream.Conn(), s.from} }

type askingConn struct {
	network.Conn
	from multiaddr.Multiaddr
}

func (c askingConn) RemoteMultiaddr() multiaddr.Multiaddr { return c.from }

// coming are the connections that a relay has let come about, and to whom they lead: the streams of them are still to be opened, and cannot be
// counted. One whose stream is there is among them until whoever is called has answered: it counts twice for as long. It is safe for concurrent use.
type coming struct {
	mu sync.Mutex
	to map[*multiaddr.Component]peer.ID // by the copy of the address
}

// begin lets a connection come about, unless there is no room with so many that are still to come to the same member. Who asks for several at
// once has them judged one after the other.
func (c *coming) begin(from multiaddr.Multiaddr, to peer.ID, room func(coming int) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, other := range c.to {
		if other == to {
			n++
		}
	}
	if !room(n) {
		return false
	}
	c.to[&from[0]] = to
	return true
}

// end is told of each request, whatever has come of it.
func (c *coming) end(from multiaddr.Multiaddr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.to, &from[0])
}
