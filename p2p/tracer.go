package p2p

import (
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// tracer learns who is in the mesh of a topic, and what got lost. Its methods run in gossipsub's loop.
type tracer struct{ t *topics }

func (r tracer) Graft(p peer.ID, name string) { r.set(p, name, true) }
func (r tracer) Prune(p peer.ID, name string) { r.set(p, name, false) }

func (r tracer) set(p peer.ID, name string, in bool) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if top := r.t.joined[name]; top != nil && in {
		top.mesh[p] = true
	} else if top != nil {
		delete(top.mesh, p)
	}
}

func (r tracer) OnClosedOutboundStream(p peer.ID) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	delete(r.t.announced, p)
	for _, top := range r.t.joined {
		delete(top.mesh, p)
	}
}

func (r tracer) DropRPC(_ *pubsub.RPC, p peer.ID) { r.lost(p) }

func (r tracer) UndeliverableMessage(m *pubsub.Message) { r.lost(m.ReceivedFrom) }

func (r tracer) lost(p peer.ID) {
	r.t.n.counters.dropped.Add(1)
	if l := r.t.n.link(siteOf(p)); l != nil {
		l.repair.compare()
	}
}

func (tracer) OnNewOutboundStream(peer.ID, protocol.ID) {}
func (tracer) Join(string)                              {}
func (tracer) Leave(string)                             {}
func (tracer) ValidateMessage(*pubsub.Message)          {}
func (tracer) DeliverMessage(*pubsub.Message)           {}
func (tracer) RejectMessage(*pubsub.Message, string)    {}
func (tracer) DuplicateMessage(*pubsub.Message)         {}
func (tracer) ThrottlePeer(peer.ID)                     {}
func (tracer) RecvRPC(*pubsub.RPC)                      {}
func (tracer) SendRPC(*pubsub.RPC, peer.ID)             {}
