package p2p

import "sync/atomic"

// Counters tell what the network has done since it was made.
type Counters struct {
	Published  uint64 // envelopes given to Publish
	Dropped    uint64 // envelopes given up by the fast path, in either direction
	Hinted     uint64 // frames sent directly
	Received   uint64 // envelopes taken in
	Refused    uint64 // envelopes and messages of members that broke the rules
	Reconciled uint64 // comparisons finished, on either side
	Pulled     uint64 // documents pulled, wholly or in pieces
}

type counters struct {
	published, dropped, hinted, received, refused, reconciled, pulled atomic.Uint64
}

// Counters returns the present values.
func (n *Network) Counters() Counters {
	c := &n.counters
	return Counters{
		Published: c.published.Load(), Dropped: c.dropped.Load(), Hinted: c.hinted.Load(), Received: c.received.Load(),
		Refused: c.refused.Load(), Reconciled: c.reconciled.Load(), Pulled: c.pulled.Load(),
	}
}
