package p2p

import (
	"io"
	"sync/atomic"
	"time"
)

// Counters tell what the network has done since it was made.
type Counters struct {
	Published  uint64 // envelopes given to Publish
	Dropped    uint64 // envelopes given up by the fast path, in either direction
	Hinted     uint64 // frames sent directly
	Received   uint64 // envelopes taken in
	Refused    uint64 // envelopes and messages of members that broke the rules
	Reconciled uint64 // comparisons finished, on either side
	Pulled     uint64 // documents pulled, wholly or in pieces

	// Comparisons are those that this side has begun and finished.
	Comparisons Comparisons
}

// Comparisons tell what finding out what differs has cost.
type Comparisons struct {
	Number, RoundTrips uint64
	Bytes              uint64        // on the streams, both ways
	Took               time.Duration // in all, from reading what is shared until the other side knows what it lacks
}

type counters struct {
	published, dropped, hinted, received, refused, reconciled, pulled atomic.Uint64
	begun, asked, comparedBytes, comparing                            atomic.Uint64
}

// Counters returns the present values.
func (n *Network) Counters() Counters {
	c := &n.counters
	return Counters{
		Published: c.published.Load(), Dropped: c.dropped.Load(), Hinted: c.hinted.Load(), Received: c.received.Load(),
		Refused: c.refused.Load(), Reconciled: c.reconciled.Load(), Pulled: c.pulled.Load(),
		Comparisons: Comparisons{Number: c.begun.Load(), RoundTrips: c.asked.Load(), Bytes: c.comparedBytes.Load(), Took: time.Duration(c.comparing.Load())},
	}
}

// counted counts the bytes that go either way.
type counted struct {
	io.ReadWriter
	bytes *atomic.Uint64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.ReadWriter.Read(b)
	c.bytes.Add(uint64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.ReadWriter.Write(b)
	c.bytes.Add(uint64(n))
	return n, err
}
