package p2p

import (
	"sync/atomic"
	"time"
)

// Counters tell what the network has done since it was made.
type Counters struct {
	Published  uint64 // letters given to Send
	Dropped    uint64 // letters given up by the fast path, counted for each member that they were for
	Frames     uint64 // of letters, written
	Received   uint64 // letters taken in
	Refused    uint64 // messages of members that broke the rules
	Reconciled uint64 // comparisons finished, on either side
	Pulled     uint64 // parcels that comparisons brought

	// Relay is what this site does as a relay.
	Relay RelayCounters

	// Comparisons are those that this side has begun and finished.
	Comparisons Comparisons
}

// Comparisons tell what finding out what differs has cost.
type Comparisons struct {
	Number, RoundTrips uint64
	Bytes              uint64        // on the streams, both ways, without the letters
	Took               time.Duration // in all, until both sides had what the other had
}

// RelayCounters tell what a relay does for others.
type RelayCounters struct {
	Bytes       uint64 // passed on, both ways
	Connections int64  // that are open
	Places      int64  // members that may be called through it
	Full        uint64 // requests refused since a member had as many connections, or there were as many places, as may be
}

type counters struct {
	relayed, relayFull atomic.Uint64
	circuits, places   atomic.Int64

	published, dropped, frames, received, refused, reconciled, pulled atomic.Uint64
	begun, asked, comparedBytes, comparing                            atomic.Uint64
}

// Counters returns the present values.
func (n *Network) Counters() Counters {
	c := &n.counters
	return Counters{
		Published: c.published.Load(), Dropped: c.dropped.Load(), Frames: c.frames.Load(), Received: c.received.Load(),
		Refused: c.refused.Load(), Reconciled: c.reconciled.Load(), Pulled: c.pulled.Load(),
		Relay:       RelayCounters{Bytes: c.relayed.Load(), Connections: c.circuits.Load(), Places: c.places.Load(), Full: c.relayFull.Load()},
		Comparisons: Comparisons{Number: c.begun.Load(), RoundTrips: c.asked.Load(), Bytes: c.comparedBytes.Load(), Took: time.Duration(c.comparing.Load())},
	}
}
