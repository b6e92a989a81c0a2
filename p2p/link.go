package p2p

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

// link is this site's way to one other member: its connection, what is queued for it, what is taken in from it.
type link struct {
	n    *Network
	site engine.SiteID
	pid  peer.ID

	wake  chan struct{} // capacity 1: dial now
	check chan struct{} // capacity 1: see now whether the connection still stands
	out   *queue
	in    *intake
	agree *agreement
	lanes lanes
	// unlucky is connect's own.
	unlucky unlucky

	mu       sync.Mutex // guards the rest
	addrs    []multiaddr.Multiaddr
	texts    []string // what addrs was made from
	limit    time.Duration
	up       bool
	since    time.Time     // when up became what it is
	known    bool          // whether all that is shared has been compared since it is up
	changed  chan struct{} // closed and made anew when up or failed changes, or a ping is answered
	failed   bool          // the last try to connect failed: requests are to fail at once until it is back
	rtt      time.Duration
	ahead    time.Duration // its clock before ours, once compared
	compared bool
	lastSeen time.Time
	tries    []engine.Try // what came of the ways to it that were tried last, while it is not reached itself
	refusals refusals
	holes    []string            // the connections that lead through a hole in NATs, by their identifiers
	streams  map[protocol.ID]int // of the member, that are being served
	// comparing says that a comparison is under way that this site has begun, serving that one is that the member has.
	comparing, serving bool
}

func newLink(n *Network, site engine.SiteID, pid peer.ID) *link {
	return &link{n: n, site: site, pid: pid, wake: make(chan struct{}, 1), check: make(chan struct{}, 1), out: newQueue(), in: newIntake(n.cfg.Limits.withDefaults().InFlight),
		agree: newAgreement(n.self < site), lanes: lanes{shut: true}, unlucky: unlucky{}, limit: smallCap, since: time.Now(), changed: make(chan struct{}), streams: map[protocol.ID]int{}}
}

func (l *link) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { l.connect(ctx) })
	wg.Go(func() { l.sendLetters(ctx) })
	wg.Go(func() { l.compareAll(ctx) })
	wg.Go(func() { l.keepPlace(ctx) })
	wg.Wait()
}

// nudge makes the link try again at once.
func (l *link) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// probe makes the link ping at once, if it is connected. It does not make it dial: a site that refuses this one, and
// closes each connection, would be dialled without a pause.
func (l *link) probe() {
	select {
	case l.check <- struct{}{}:
	default:
	}
}

func (l *link) status() engine.SiteStatus {
	streams := 0
	for _, c := range l.n.host.Network().ConnsToPeer(l.pid) {
		streams += len(c.GetStreams())
	}
	through, direct := l.through(), l.direct()
	l.mu.Lock()
	defer l.mu.Unlock()
	return engine.SiteStatus{Reachable: l.up, Relay: through, Hole: l.up && direct != nil && slices.Contains(l.holes, direct.ID()), RTT: l.rtt, Ahead: l.ahead, LastSeen: l.lastSeen, Since: l.since, Uncompared: l.up && !l.known, Streams: streams, Bytes: l.in.taking.Load()}
}

func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// setUp says whether the member is there. Only the goroutine that watches it calls it.
func (l *link) setUp(up bool) {
	l.mu.Lock()
	was := l.up
	if l.up = up; was != up {
		l.since, l.known = time.Now(), false
		l.notify()
	}
	l.mu.Unlock()
	l.lanes.set(up)
	if was == up {
		return
	}
	l.n.correct()
	if l.out.set(up) {
		l.agree.lost()
	}
	if up {
		l.n.log.Info("site is reachable", "peer", l.site)
		l.agree.connected(time.Now())
		l.n.nudgeOthers()
	} else {
		l.n.log.Warn("site is not reachable", "peer", l.site)
	}
	l.n.cfg.OnStatus(l.site, up)
}

// allCompared takes note that this site has what the member has.
func (l *link) allCompared() {
	l.mu.Lock()
	first := l.up && !l.known
	l.known = l.known || first
	l.mu.Unlock()
	l.n.cfg.OnCompared(l.site, first)
}

// notify wakes those who wait for a change. The caller holds mu.
func (l *link) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *link) setFailed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = true
	l.notify()
}

func (l *link) connectedness() bool {
	return l.n.host.Network().Connectedness(l.pid) == network.Connected
}

// opened counts a stream of the member that is about to be served, and reports false when there are too many. Each that is
// counted ends with closed.
func (l *link) opened(id protocol.ID, most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams[id] == most {
		return false
	}
	l.streams[id]++
	return true
}

func (l *link) closed(id protocol.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams[id]--
}

// fit reports whether the member has given a sign of life just now. The caller holds mu.
func (l *link) fit() bool { return l.up && time.Since(l.lastSeen) < suspectAfter+l.rtt }

// fits is fit for who does not hold mu.
func (l *link) fits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fit()
}

// ready waits until the member is known to be there, also for the next connection after one was lost. It returns
// ErrUnreachable when the last try to reach it failed, or when it gives no sign of life within a second.
func (l *link) ready(ctx context.Context) error {
	deadline := time.NewTimer(time.Second)
	defer deadline.Stop()
	for {
		l.mu.Lock()
		up, failed, changed := l.fit() && l.connectedness(), l.failed && !l.up, l.changed
		l.mu.Unlock()
		switch {
		case up:
			return nil
		case failed || l.n.gater.isIsolated():
			return fmt.Errorf("%w: site %s", engine.ErrUnreachable, l.site)
		}
		l.nudge()
		l.probe()
		select {
		case <-changed:
		case <-deadline.C:
			return fmt.Errorf("%w: site %s is silent", engine.ErrUnreachable, l.site)
		case <-ctx.Done():
			return fmt.Errorf("%w: site %s: %w", engine.ErrUnreachable, l.site, ctx.Err())
		}
	}
}
