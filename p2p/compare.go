package p2p

import (
	"context"
	"errors"
	"time"

	"github.com/skerry/skerry/engine"
)

// compareAll compares with the member whenever that is due, while the member is there.
func (l *link) compareAll(ctx context.Context) {
	for ctx.Err() == nil {
		due, wait := l.agree.next(time.Now())
		if due && l.isUp() {
			l.compareOnce(ctx)
			continue
		}
		var timer <-chan time.Time
		if !due && wait > 0 {
			timer = time.After(wait)
		}
		select { // when it comes up, wake tells
		case <-ctx.Done():
		case <-l.agree.wake:
		case <-timer:
		}
	}
}

// compareOnce makes a comparison, unless one with this member is under way.
func (l *link) compareOnce(ctx context.Context) {
	select {
	case l.n.begun <- struct{}{}:
		defer func() { <-l.n.begun }()
	case <-ctx.Done():
		return
	}
	if !l.beginComparison() {
		l.agree.busy(time.Now())
		return
	}
	began := time.Now()
	l.agree.begun()
	whole, err := l.compare(ctx)
	l.comparisonEnded()
	if errors.Is(err, errBusy) {
		l.agree.busy(time.Now())
		return
	}
	l.n.compared(l, err)
	if l.agree.ended(time.Now(), began, whole); whole {
		l.allCompared()
	}
}

// compared takes in why a comparison failed, nil: it has not.
func (n *Network) compared(l *link, err error) {
	switch {
	case errors.Is(err, engine.ErrRefused):
		n.refuse(l.site, err)
	case err != nil:
		n.log.Debug("a comparison failed", "peer", l.site, "err", err)
	}
}

// beginComparison reports whether this site may begin one: none is under way with this member.
func (l *link) beginComparison() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.comparing || l.serving {
		return false
	}
	l.comparing = true
	return true
}

func (l *link) comparisonEnded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.comparing = false
}

// serveComparison reports whether one is to be served that the member has begun. Of two that were begun at the same moment that
// of the first site goes on.
func (l *link) serveComparison() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving || l.comparing && l.first() {
		return false
	}
	l.serving = true
	return true
}

func (l *link) comparisonServed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving = false
}

// first reports whether this site is the one of the two that dials and compares first.
func (l *link) first() bool { return l.n.self < l.site }
