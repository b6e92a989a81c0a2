package p2p

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

const (
	pingProtocol = "/skerry/ping/1"
	pingEvery    = time.Second
	// pingTimeout is how long a member may stay silent before its connection counts as dead.
	pingTimeout = 2500 * time.Millisecond
	// suspectAfter is the silence after which a new request first waits for a sign of life.
	suspectAfter = 1500 * time.Millisecond
)

// watch pings the member on one stream every second until that fails. It reports whether a ping was answered at all.
func (l *link) watch(ctx context.Context) (answered bool) {
	streamCtx, cancel := context.WithTimeout(network.WithNoDial(ctx, "watch"), pingTimeout)
	s, err := l.n.host.NewStream(streamCtx, l.pid, pingProtocol)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			l.n.log.Debug("site does not answer", "peer", l.site, "err", err)
			l.dropSilent(time.Now().Add(-pingTimeout))
		}
		return false
	}
	defer s.Reset()
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for seq := uint64(1); ; seq++ {
		took, ahead, at, err := l.n.ping(s, seq)
		if err != nil {
			if ctx.Err() == nil {
				l.n.log.Debug("a connection is dead", "peer", l.site, "err", err)
				_ = s.Conn().Close()
			}
			return answered
		}
		answered = true
		l.mu.Lock()
		l.failed = false
		l.lastSeen = time.Now()
		if l.rtt == 0 {
			l.rtt = took
		} else {
			l.rtt += (took - l.rtt) / 8 // RFC 6298's smoothing
		}
		if skewed := ahead.Abs() > farOff; skewed != (l.ahead.Abs() > farOff) && skewed {
			l.n.log.Warn("the clocks of two sites disagree: of two concurrent writes the one with the later clock wins; set them by NTP",
				"peer", l.site, "ahead", ahead.Round(time.Millisecond))
		}
		l.ahead = ahead
		l.notify()
		l.mu.Unlock()
		l.setUp(true)
		if here, news := l.n.position.measured(l.site, at, took); news {
			l.n.cfg.OnMoved(here)
		}
		select {
		case <-ctx.Done():
			return answered
		case <-tick.C:
		case <-l.check:
			if s.Conn().IsClosed() {
				return answered
			}
		}
	}
}

// farOff is how far two clocks may differ before it is said.
const farOff = time.Second

// A ping is a number of 8 bytes; the answer repeats it and adds the answering site's clock in Unix microseconds and its coordinate.
const (
	pingSize  = 8
	clockSize = 8
	pongSize  = pingSize + clockSize + coordinateSize
)

// ping returns the round trip, how far the other site's clock is ahead of this one's, give or take half of it, and where the other
// site says it is.
func (n *Network) ping(s network.Stream, seq uint64) (took, ahead time.Duration, at vivaldi.Coordinate, err error) {
	begin := time.Now()
	clock := n.cfg.Now()
	if err := s.SetDeadline(begin.Add(pingTimeout)); err != nil {
		return 0, 0, at, fmt.Errorf("ping: %w", err)
	}
	var out [pingSize]byte
	var in [pongSize]byte
	binary.BigEndian.PutUint64(out[:], seq)
	if _, err := s.Write(out[:]); err != nil {
		return 0, 0, at, fmt.Errorf("ping: %w", err)
	}
	if _, err := io.ReadFull(s, in[:]); err != nil {
		return 0, 0, at, fmt.Errorf("ping: %w", err)
	}
	if !bytes.Equal(in[:pingSize], out[:]) {
		return 0, 0, at, fmt.Errorf("ping: %w: another answer than what was asked", engine.ErrRefused)
	}
	took = time.Since(begin)
	theirs := time.UnixMicro(int64(binary.BigEndian.Uint64(in[pingSize:])))
	return took, theirs.Sub(clock.Add(took / 2)), readCoordinate(in[pingSize+clockSize:]), nil
}

// servePing answers pings.
func (n *Network) servePing(_ context.Context, s network.Stream) {
	defer s.Close()
	var b [pongSize]byte
	for {
		_ = s.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.ReadFull(s, b[:pingSize]); err != nil {
			return
		}
		binary.BigEndian.PutUint64(b[pingSize:], uint64(n.cfg.Now().UnixMicro()))
		putCoordinate(b[pingSize+clockSize:], n.position.coordinate())
		if _, err := s.Write(b[:]); err != nil {
			return
		}
	}
}
