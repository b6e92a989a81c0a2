package p2p

import (
	"context"
	"fmt"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// memberHost is the host as gossipsub sees it: strangers are not there.
type memberHost struct {
	host.Host
	n *Network
}

func (h memberHost) NewStream(ctx context.Context, p peer.ID, ids ...protocol.ID) (network.Stream, error) {
	if !h.n.gater.member(p) {
		return nil, fmt.Errorf("open stream: %s is no member", p)
	}
	return h.Host.NewStream(ctx, p, ids...)
}

func (h memberHost) SetStreamHandler(id protocol.ID, serve network.StreamHandler) {
	h.Host.SetStreamHandler(id, h.membersOnly(serve))
}

func (h memberHost) SetStreamHandlerMatch(id protocol.ID, match func(protocol.ID) bool, serve network.StreamHandler) {
	h.Host.SetStreamHandlerMatch(id, match, h.membersOnly(serve))
}

func (h memberHost) membersOnly(serve network.StreamHandler) network.StreamHandler {
	return func(s network.Stream) {
		if !h.n.gater.member(s.Conn().RemotePeer()) {
			_ = s.Reset()
			return
		}
		serve(s)
	}
}
