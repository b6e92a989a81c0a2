package p2p

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"

	"github.com/skerry/skerry/engine"
)

const (
	// dialTimeout is how long one try takes, beside a few round trips where they are known. QUIC asks three times by then.
	dialTimeout = 1500 * time.Millisecond
	// A member that is not connected is tried after firstBackoff, and then ever more rarely, up to smallCap from one begin to the
	// next: a network that is back is noticed within about a second. The tries of a site that cannot reach many members share
	// one budget: dialsEach is what each member adds to the cap, up to largestCap. As soon as one is back, all others are tried.
	firstBackoff = 200 * time.Millisecond
	smallCap     = 700 * time.Millisecond
	dialsEach    = 20 * time.Millisecond
	largestCap   = 10 * time.Second
	// fallback is how long the site with the larger identifier lets the other one dial first.
	fallback = 2 * time.Second
	// redial is how long requests wait for the other site to dial again after a connection was lost.
	redial = 500 * time.Millisecond
)

// setAddresses takes the addresses the member published, beside those of the configuration.
func (l *link) setAddresses(texts []string, members int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = min(largestCap, max(smallCap, dialsEach*time.Duration(members)))
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

// nudgeOthers has the members tried that are not reachable: one that is back may mean that the network is.
func (n *Network) nudgeOthers() {
	for _, l := range n.all() {
		if !l.isUp() {
			l.nudge()
		}
	}
}

// connect dials the member whenever it is not connected, and watches the connection while it is.
func (l *link) connect(ctx context.Context) {
	backoff, since := firstBackoff, time.Now()
	for ctx.Err() == nil {
		begin := time.Now()
		if l.connectedness() {
			by := l.through()
			answered := l.watch(ctx)
			if by != "" {
				l.unlucky.lost(by)
			}
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
			case l.n.gater.admits(l.pid, l.site) && (l.first() || lost >= fallback): // with one side first there is one connection, not two
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
		l.mu.Lock()
		limit := l.limit
		l.mu.Unlock()
		wait := time.Duration(float64(backoff) * (0.75 + 0.5*rand.Float64()))
		backoff = min(backoff*3/2, limit)
		select {
		case <-ctx.Done():
		case <-time.After(wait - time.Since(begin)):
		case <-l.wake:
			backoff = firstBackoff
			if rest := firstBackoff/2 - time.Since(begin); rest > 0 {
				time.Sleep(rest)
			}
		}
	}
}

// dial connects once: to the member itself or, where that fails, through one that relays.
func (l *link) dial(ctx context.Context) error {
	l.mu.Lock()
	addrs, timeout := l.addrs, dialTimeout+4*l.rtt
	l.mu.Unlock()
	tries := []engine.Try{{Result: engine.TryNoAddress, At: time.Now()}}
	if len(addrs) > 0 {
		if tries = l.connectTo(ctx, timeout, addrs...); tries == nil {
			return nil
		}
	}
	if ctx.Err() == nil && !l.n.gater.isIsolated() {
		through, connected := l.dialThrough(ctx)
		if l.setTries(append(tries, through...)); connected {
			return nil
		}
		tries = append(tries, through...)
	}
	return fmt.Errorf("dial %s: %w", l.site, errorOf(tries))
}

// setTries keeps what came of the ways that were tried last, for those who ask.
func (l *link) setTries(tries []engine.Try) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries = tries
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
	l.straighten()
	if c.Stat().Direction != network.DirInbound {
		return
	}
	if silent {
		l.dropSilent(c.Stat().Opened.Add(-suspectAfter))
	}
	l.nudge()
}
