package p2p

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/skerry/skerry/engine"
)

const (
	// outboxSize and outboxBytes bound what waits to be sent. What does not fit is dropped, and the sites it was
	// meant for are compared with instead.
	outboxSize  = 4096
	outboxBytes = 64 << 20
)

// outbox is the queue between the engine, which never waits, and the goroutine that sends.
type outbox struct {
	queue chan outgoing
	bytes atomic.Int64
}

type outgoing struct {
	placement []engine.SiteID
	envelope  engine.Envelope
	size      int64
}

func newOutbox() *outbox { return &outbox{queue: make(chan outgoing, outboxSize)} }

// sizeOf is about how many bytes e has.
func sizeOf(e engine.Envelope) int64 {
	size := len(e.About) + len(e.Checkpoint) + 128
	for _, c := range e.Changes {
		size += len(c.Bytes) + 128
	}
	return int64(size)
}

// Publish sends e to the other sites of the placement, soon and perhaps never: anti-entropy is the sure path. It
// never blocks and keeps e and placement, which must not be changed after.
func (n *Network) Publish(placement []engine.SiteID, e engine.Envelope) {
	n.counters.published.Add(1)
	o := outgoing{placement: placement, envelope: e, size: sizeOf(e)}
	if n.out.bytes.Add(o.size) <= outboxBytes {
		select {
		case n.out.queue <- o:
			return
		default:
		}
	}
	n.out.bytes.Add(-o.size)
	n.counters.dropped.Add(1)
	for _, site := range placement {
		if l := n.link(site); l != nil {
			l.repair.compare()
		}
	}
}

// publishAll sends what Publish queued.
func (n *Network) publishAll(ctx context.Context) {
	look := time.NewTicker(topicIdle / 10)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			n.topics.leaveUnused()
		case o := <-n.out.queue:
			n.out.bytes.Add(-o.size)
			n.publish(ctx, o)
		}
	}
}

// publish gossips one envelope and sends it directly to those members of the placement that gossip would not reach
// now. A member that is not connected gets it when it is compared with after it has come back.
func (n *Network) publish(ctx context.Context, o outgoing) {
	b, err := encodeCBOR(o.envelope)
	if err == nil {
		err = checkEnvelope(o.envelope) // the others would refuse it
	}
	if err != nil {
		n.log.Error("a change was not sent", "document", o.envelope.Document, "err", err)
		return
	}
	direct := o.placement
	var message any = hint{Document: o.envelope.Document} // those who are interested pull it
	if len(b) <= maxGossip {
		message = encodedHint{Envelope: b}
		if direct = n.topics.publish(ctx, o.placement, b); len(direct) == 0 {
			return
		}
	}
	frame, err := encodeFrame(message, maxHint)
	if err != nil {
		n.log.Error("a change was not sent", "document", o.envelope.Document, "err", err)
		return
	}
	for _, site := range direct {
		switch l := n.link(site); {
		case l == nil:
		case l.isUp():
			l.sendHint(frame)
		default:
			// It may be connected already and be compared with just now, too early to find this change.
			l.repair.compare()
		}
	}
}
