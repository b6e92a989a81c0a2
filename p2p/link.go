package p2p

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

const (
	dialTimeout  = 1500 * time.Millisecond
	firstBackoff = 200 * time.Millisecond
	// A small mesh tries every second: a healed cut is noticed at once. The cap grows with the mesh.
	smallMesh  = 10
	smallCap   = time.Second
	largestCap = 30 * time.Second
	// fallback is how long the site with the larger identifier lets the other one dial first.
	fallback = 2 * time.Second
	// redial is how long requests wait for the other site to dial again after a connection was lost.
	redial = 500 * time.Millisecond
)

// link is this site's way to one other member: its connection, what is queued for it, what has to be compared with it.
type link struct {
	n    *Network
	site engine.SiteID
	pid  peer.ID

	wake   chan struct{} // capacity 1: dial now
	check  chan struct{} // capacity 1: see now whether the connection still stands
	hints  *hintQueue
	repair *repairs

	mu        sync.Mutex // guards the rest
	addrs     []multiaddr.Multiaddr
	texts     []string // what addrs was made from
	cap       time.Duration
	up        bool
	changed   chan struct{} // closed and made anew when up or failed changes, or a ping is answered
	failed    bool          // the last try to connect failed: requests are to fail at once until it is back
	rtt       time.Duration
	ahead     time.Duration // its clock before ours
	lastSeen  time.Time
	refusals  []time.Time // recent ones, oldest first
	bans      int
	serving   int  // fetch streams of this member that are being served
	blobs     int  // that are being served to this member
	comparing bool // a comparison this member began is being served
}

func newLink(n *Network, site engine.SiteID, pid peer.ID) *link {
	return &link{n: n, site: site, pid: pid, wake: make(chan struct{}, 1), check: make(chan struct{}, 1), hints: newHintQueue(), repair: newRepairs(),
		cap: smallCap, changed: make(chan struct{})}
}

func (l *link) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { l.connect(ctx) })
	wg.Go(func() { l.sendHints(ctx) })
	wg.Go(func() { l.repairAll(ctx) })
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

// setAddresses takes the addresses the member published, beside those of the configuration.
func (l *link) setAddresses(texts []string, members int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cap = smallCap
	if members > smallMesh {
		l.cap = min(largestCap, smallCap*time.Duration(members)/smallMesh)
	}
	if l.texts != nil && slices.Equal(texts, l.texts) {
		return
	}
	first := l.texts == nil
	l.texts = append([]string{}, texts...)
	l.addrs = nil
	for _, text := range texts[:min(len(texts), maxTokenAddrs)] {
		if a, err := multiaddr.NewMultiaddr(text); err == nil {
			l.addrs = append(l.addrs, a)
		}
	}
	for _, p := range l.n.peers {
		if p.ID == l.pid {
			l.addrs = append(l.addrs, p.Addrs...)
		}
	}
	if !first {
		l.nudge()
	}
}

func (l *link) status() engine.SiteStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return engine.SiteStatus{Reachable: l.up, RTT: l.rtt, Ahead: l.ahead, LastSeen: l.lastSeen}
}

func (l *link) isUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

func (l *link) setUp(up bool) {
	l.mu.Lock()
	was := l.up
	l.up = up
	if was != up {
		l.notify()
	}
	l.mu.Unlock()
	if was == up {
		return
	}
	if up {
		l.n.log.Info("site is reachable", "peer", l.site)
		l.repair.connected(l.n.self < l.site)
	} else {
		l.n.log.Warn("site is not reachable", "peer", l.site)
		if len(l.hints.take()) > 0 {
			l.repair.compare() // also when a comparison is under way on the next connection
		}
	}
	l.n.cfg.OnStatus(l.site, up)
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

// connect dials the member whenever it is not connected, and watches the connection while it is.
func (l *link) connect(ctx context.Context) {
	// With one side dialling first there is one connection, not two.
	first := l.n.self < l.site
	backoff, since := firstBackoff, time.Now()
	for ctx.Err() == nil {
		if l.connectedness() {
			begin := time.Now()
			answered := l.watch(ctx)
			lasted := answered && time.Since(begin) > pingEvery
			if lasted {
				backoff, since = firstBackoff, time.Now()
			}
			if lasted || (answered && l.connectedness()) {
				continue // to another connection, or to dial
			}
			l.setUp(false) // and wait, lest the two sites go on closing each other's connections
			if !answered {
				l.setFailed()
			}
		} else {
			l.setUp(false)
			switch lost := time.Since(since); {
			case l.n.gater.member(l.pid) && (first || lost >= fallback):
				err := l.dial(ctx)
				if err == nil {
					continue
				}
				l.n.log.Debug("site was not reached", "peer", l.site, "err", err)
				l.setFailed()
			case lost >= redial:
				l.setFailed()
			}
		}
		wait := time.Duration(float64(backoff) * (0.75 + 0.5*rand.Float64()))
		l.mu.Lock()
		limit := l.cap
		l.mu.Unlock()
		backoff = min(backoff*3/2, limit)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		case <-l.wake:
			backoff = firstBackoff
		}
	}
}

// dial connects once. A site that refuses this one lets the connection succeed and closes it: what counts is that it
// still stands when the other side has introduced itself.
func (l *link) dial(ctx context.Context) error {
	l.mu.Lock()
	addrs := l.addrs
	l.mu.Unlock()
	if len(addrs) == 0 {
		return errors.New("no address is known")
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	clearBackoff(l.n.host, l)
	ps := l.n.host.Peerstore()
	ps.ClearAddrs(l.pid)
	ps.AddAddrs(l.pid, addrs, peerstore.TempAddrTTL)
	if err := l.n.host.Connect(ctx, peer.AddrInfo{ID: l.pid}); err != nil {
		return fmt.Errorf("dial %s: %w", l.site, err)
	}
	if !l.connectedness() {
		return fmt.Errorf("dial %s: the connection was closed at once", l.site)
	}
	return nil
}

// dropSilent closes the member's connections that were opened before t.
func (l *link) dropSilent(t time.Time) {
	for _, c := range l.n.host.Network().ConnsToPeer(l.pid) {
		if c.Stat().Opened.Before(t) {
			_ = c.Close()
		}
	}
}

// connected is called for each new connection. A member that dials anew while this site still believes in a much older,
// silent connection knows better: the older one is dead. Two that are nearly as old are what two sites get that dial
// each other at once: were each to close its own, none would be left.
func (l *link) connected(c network.Conn) {
	l.mu.Lock()
	silent := time.Since(l.lastSeen) > suspectAfter
	l.mu.Unlock()
	if c.Stat().Direction != network.DirInbound {
		return
	}
	if silent {
		l.dropSilent(c.Stat().Opened.Add(-suspectAfter))
	}
	l.nudge()
}

// ready waits until the member is known to be there, also for the next connection after one was lost. It returns ErrUnreachable when
// the last try to reach it failed, or when it gives no sign of life within a second.
func (l *link) ready(ctx context.Context) error {
	deadline := time.NewTimer(time.Second)
	defer deadline.Stop()
	for {
		l.mu.Lock()
		up, failed, changed := l.up && time.Since(l.lastSeen) < suspectAfter+l.rtt && l.connectedness(), l.failed && !l.up, l.changed
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
