package p2p

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

const (
	hintProtocol = "/skerry/hint/1"
	// hintQueueSize and hintQueueBytes bound what waits for one member. What does not fit is dropped and the member is
	// compared with instead.
	hintQueueSize  = 4096
	hintQueueBytes = 16 << 20
	hintTimeout    = 10 * time.Second
)

// encodedHint is a hint whose envelope is encoded already.
type encodedHint struct {
	Envelope cbor.RawMessage `cbor:"1,keyasint"`
}

// hint is one frame of the hint protocol: an envelope, or the identifier of a document that is worth pulling.
type hint struct {
	Envelope *engine.Envelope  `cbor:"1,keyasint,omitempty"`
	Document engine.DocumentID `cbor:"2,keyasint,omitempty"`
}

func (h hint) check() error {
	if h.Envelope == nil {
		if _, ok := documentKey(h.Document); !ok {
			return fmt.Errorf("%w: a hint of nothing", engine.ErrRefused)
		}
		return nil
	}
	if h.Document != "" {
		return fmt.Errorf("%w: a hint of two things", engine.ErrRefused)
	}
	return checkEnvelope(*h.Envelope)
}

// hintQueue holds the frames for one member.
type hintQueue struct {
	wake chan struct{} // capacity 1

	mu     sync.Mutex
	frames [][]byte
	bytes  int
}

func newHintQueue() *hintQueue { return &hintQueue{wake: make(chan struct{}, 1)} }

func (q *hintQueue) push(frame []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) >= hintQueueSize || q.bytes+len(frame) > hintQueueBytes {
		return false
	}
	q.frames = append(q.frames, frame)
	q.bytes += len(frame)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns what is queued, to be written together.
func (q *hintQueue) take() [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames := q.frames
	q.frames, q.bytes = nil, 0
	return frames
}

func (l *link) sendHint(frame []byte) {
	if !l.hints.push(frame) {
		l.n.counters.dropped.Add(1)
		l.repair.compare()
		return
	}
	l.n.counters.hinted.Add(1)
}

// sendHints writes the queued frames to one stream, which stays open.
func (l *link) sendHints(ctx context.Context) {
	var s network.Stream
	defer func() {
		if s != nil {
			_ = s.Reset()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.hints.wake:
		}
		frames := l.hints.take()
		for i := 0; i < len(frames); {
			if s == nil {
				streamCtx, cancel := context.WithTimeout(network.WithNoDial(ctx, "hint"), hintTimeout)
				var err error
				s, err = l.n.host.NewStream(streamCtx, l.pid, hintProtocol)
				cancel()
				if err != nil {
					s = nil
					l.hintsLost(err)
					break
				}
			}
			// Small frames go out together.
			batch := frames[i]
			next := i + 1
			for next < len(frames) && len(batch)+len(frames[next]) <= 64<<10 {
				batch = append(batch[:len(batch):len(batch)], frames[next]...)
				next++
			}
			_ = s.SetWriteDeadline(time.Now().Add(hintTimeout))
			if _, err := s.Write(batch); err != nil {
				_ = s.Reset()
				s = nil
				l.hintsLost(err)
				break
			}
			i = next
		}
	}
}

// hintsLost has the member compared with: it did not get all it should.
func (l *link) hintsLost(err error) {
	l.n.log.Debug("hints were lost", "peer", l.site, "err", err)
	l.n.counters.dropped.Add(1)
	l.repair.compare()
}

// serveHints takes the frames of one member in. A member that sends faster than this site can merge is slowed down.
func (n *Network) serveHints(ctx context.Context, s network.Stream) {
	defer s.Reset()
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	from := siteOf(s.Conn().RemotePeer())
	r := bufio.NewReaderSize(s, 64<<10)
	for {
		var h hint
		err := readFrame(r, &h, maxHint)
		if err == nil {
			err = h.check()
		}
		if errors.Is(err, engine.ErrRefused) {
			n.refuse(from, fmt.Errorf("hint: %w", err))
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				n.log.Debug("a stream of hints ended", "peer", from, "err", err)
			}
			return
		}
		l := n.link(from)
		if l == nil || !n.gater.member(s.Conn().RemotePeer()) {
			return // no member any more
		}
		if h.Envelope == nil {
			l.repair.pull(h.Document)
			continue
		}
		if err := n.in.put(ctx, job{from: from, author: from, envelope: *h.Envelope}); err != nil {
			return
		}
	}
}
