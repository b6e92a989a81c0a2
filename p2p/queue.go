package p2p

import (
	"sync"

	"github.com/skerry/skerry/engine"
)

// queue holds what waits to be sent to one member.
type queue struct {
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	open    bool // the member is connected
	packets []*packet
	spare   []*packet // the slice that was taken before, empty
	bytes   int
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// push reports false when there is no room, or the member is not connected.
func (q *queue) push(p *packet) bool {
	q.mu.Lock()
	ok := q.open && len(q.packets) < queueLetters && q.bytes+p.size <= queueBytes
	if ok {
		q.packets = append(q.packets, p)
		q.bytes += p.size
	}
	q.mu.Unlock()
	if ok {
		q.nudge()
	}
	return ok
}

// take returns what is queued. It is valid until the next call.
func (q *queue) take() []*packet {
	q.mu.Lock()
	defer q.mu.Unlock()
	packets := q.packets
	clear(q.spare)
	q.packets, q.spare, q.bytes = q.spare[:0], packets, 0
	return packets
}

// set opens the queue, or closes it and reports whether anything was left in it.
func (q *queue) set(open bool) (lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = open
	if lost = !open && len(q.packets) > 0; lost {
		q.packets, q.bytes = nil, 0
	}
	q.nudge()
	return lost
}

// Send queues a letter for each of some members that is connected. It never blocks and keeps l, which must not be changed
// after. A member for which there is no room, or that is not connected, is compared with later instead.
func (n *Network) Send(to []engine.SiteID, l *engine.Letter) {
	n.counters.published.Add(1)
	p := newPacket(l)
	for _, site := range to {
		other := n.link(site)
		if other == nil || other.out.push(p) {
			continue
		}
		n.counters.dropped.Add(1)
		other.agree.lost()
	}
}
