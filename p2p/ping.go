package p2p

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

const (
	pingProtocol = engine.PingCall
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
			l.setTries([]engine.Try{{Result: resultOf(err), Detail: "it is connected, and answers nothing: " + err.Error(), At: time.Now()}})
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
		sent, mine := time.Now(), l.n.sum(l.site)
		m, err := l.n.ping(s, seq)
		if err != nil {
			if ctx.Err() == nil {
				l.n.log.Debug("a connection is dead", "peer", l.site, "err", err)
				_ = s.Conn().Close()
			}
			return answered
		}
		answered = true
		l.heard(m)
		l.setUp(true)
		if l.agree.pinged(time.Now(), sent, mine, m.theirs); mine == m.theirs {
			l.allCompared()
		}
		if here, news := l.n.position.measured(l.site, m.at, m.took); news {
			l.n.cfg.OnMoved(here)
		}
		if (seq == directFirst || seq%directEvery == 0) && circuit(s.Conn().RemoteMultiaddr()) {
			l.n.spawn(func() { l.dialDirect(ctx) })
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

// heard takes in what a ping has measured.
func (l *link) heard(m measured) {
	defer l.n.correct()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = false
	l.lastSeen = time.Now()
	l.lanes.set(true)
	if l.rtt == 0 {
		l.rtt = m.took
	} else {
		l.rtt += (m.took - l.rtt) / 8 // RFC 6298's smoothing
	}
	l.clockMeasured(m.ahead)
	l.notify()
}

// sum returns what a ping tells of all that this site shares with another.
func (n *Network) sum(with engine.SiteID) sum {
	b := appendSum(make([]byte, 0, 2*sumLen), n.exchange.MeshFingerprint())
	return sha256.Sum256(appendSums(b, n.exchange.Fingerprints(with, []engine.Range{{}})))
}

// A ping is a number of 8 bytes. The answer repeats it and adds the answering site's clock in Unix microseconds, its sum and
// its coordinate.
const (
	pingSize  = 8
	clockSize = 8
	pongSize  = pingSize + clockSize + sumLen + coordinateSize
)

// pong is the answer to a ping.
type pong struct {
	seq   uint64
	clock time.Time
	sum   sum
	at    vivaldi.Coordinate
}

func encodePong(b *[pongSize]byte, p pong) {
	binary.BigEndian.PutUint64(b[:], p.seq)
	binary.BigEndian.PutUint64(b[pingSize:], uint64(p.clock.UnixMicro()))
	copy(b[pingSize+clockSize:], p.sum[:])
	putCoordinate(b[pingSize+clockSize+sumLen:], p.at)
}

func decodePong(b *[pongSize]byte) pong {
	return pong{seq: binary.BigEndian.Uint64(b[:]), clock: time.UnixMicro(int64(binary.BigEndian.Uint64(b[pingSize:]))),
		sum: sum(b[pingSize+clockSize:]), at: readCoordinate(b[pingSize+clockSize+sumLen:])}
}

// measured is what one ping tells.
type measured struct {
	took   time.Duration // the round trip
	ahead  time.Duration // how far the other site's clock is ahead of this one's, give or take half of it
	theirs sum
	at     vivaldi.Coordinate
}

func (n *Network) ping(s network.Stream, seq uint64) (measured, error) {
	begin := time.Now()
	clock := n.cfg.Now()
	if err := s.SetDeadline(begin.Add(pingTimeout)); err != nil {
		return measured{}, fmt.Errorf("ping: %w", err)
	}
	var out [pingSize]byte
	var in [pongSize]byte
	binary.BigEndian.PutUint64(out[:], seq)
	if _, err := s.Write(out[:]); err != nil {
		return measured{}, fmt.Errorf("ping: %w", err)
	}
	if _, err := io.ReadFull(s, in[:]); err != nil {
		return measured{}, fmt.Errorf("ping: %w", err)
	}
	p := decodePong(&in)
	if p.seq != seq {
		return measured{}, fmt.Errorf("ping: %w: another answer than what was asked", engine.ErrRefused)
	}
	took := time.Since(begin)
	return measured{took, p.clock.Sub(clock.Add(took / 2)), p.sum, p.at}, nil
}

// servePing answers pings.
func (n *Network) servePing(_ context.Context, l *link, s network.Stream) {
	defer s.Close()
	var in [pingSize]byte
	var out [pongSize]byte
	for {
		_ = s.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.ReadFull(s, in[:]); err != nil {
			return
		}
		encodePong(&out, pong{binary.BigEndian.Uint64(in[:]), n.cfg.Now(), n.sum(l.site), n.position.coordinate()})
		if _, err := s.Write(out[:]); err != nil {
			return
		}
	}
}
