package p2p

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// The letters protocol. Whoever opens the stream sends frames, each an array of engine.Letters, for as long as the
// connection lasts. Nothing comes back.
const lettersProtocol = engine.LettersCall

// writer writes what is queued for one member to one stream, which stays open.
type writer struct {
	l    *link
	s    network.Stream // nil: none is open
	stop func() bool    // keeps the end of the goroutine from resetting s
	j    joiner
}

// sendLetters is the goroutine that writes to the member.
func (l *link) sendLetters(ctx context.Context) {
	w := &writer{l: l}
	defer w.drop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.out.wake:
		}
		if l.isUp() {
			_ = w.open(ctx) // before there is anything to send
		}
		for {
			packets := l.out.take()
			if len(packets) == 0 {
				break
			}
			if err := w.write(ctx, packets); err != nil {
				l.n.log.Debug("letters were lost", "peer", l.site, "err", err)
				l.n.counters.dropped.Add(uint64(len(packets)))
				l.agree.lost()
				w.drop()
			}
		}
	}
}

func (w *writer) drop() {
	w.j.reset()
	if w.s != nil {
		w.stop()
		_ = w.s.Reset()
		w.s = nil
	}
}

// open makes sure that there is a stream on a connection that stands.
func (w *writer) open(ctx context.Context) error {
	if w.s != nil && !w.s.Conn().IsClosed() {
		return nil
	}
	w.drop()
	opening, cancel := context.WithTimeout(network.WithNoDial(ctx, "letters"), openTimeout)
	defer cancel()
	s, err := w.l.n.host.NewStream(opening, w.l.pid, lettersProtocol)
	if err != nil {
		return err
	}
	w.s, w.stop = s, context.AfterFunc(ctx, func() { _ = s.Reset() })
	return nil
}

// write sends the letters in as few frames as they fit into.
func (w *writer) write(ctx context.Context, packets []*packet) error {
	if err := w.open(ctx); err != nil {
		return err
	}
	for _, p := range packets {
		p.encode()
		if p.err != nil {
			w.l.n.log.Error("a letter was not sent", "peer", w.l.site, "err", p.err)
		}
		for _, part := range p.parts {
			if len(p.sent)+len(part.bytes) > maxFrame-64 {
				w.l.n.log.Error("something was too long to be sent", "peer", w.l.site, "bytes", len(part.bytes))
				w.l.n.counters.dropped.Add(1)
				w.l.agree.lost() // a comparison gives it in pieces
				continue
			}
			if !w.j.room(p.sent, part) {
				if err := w.flush(); err != nil {
					return err
				}
			}
			w.j.add(p.sent, part)
		}
	}
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.j.letters) == 0 {
		return nil
	}
	w.l.n.counters.frames.Add(1)
	_ = w.s.SetWriteDeadline(time.Now().Add(stall))
	_, err := w.s.Write(w.j.frame())
	return err
}

var _ engine.Network = (*Network)(nil)
