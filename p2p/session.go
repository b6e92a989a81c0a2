package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"golang.org/x/sync/errgroup"

	"github.com/skerry/skerry/engine"
)

// session is one side of a comparison that is under way. One goroutine reads, one pulls and one gives. What comes in is read
// whatever the other two wait for, so that two sides that both write do not wait for each other.
type session struct {
	n    *Network
	l    *link
	s    network.Stream
	asks bool // this side has begun it
	r    *frameReader

	writing chan struct{} // holds a token while a frame goes out: one at a time
	wants   chan []engine.Have
	halves  atomic.Int32   // of what this side writes, that have ended: pulling and giving
	taking  sync.WaitGroup // letters
	pulls   *pulls
}

func newSession(l *link, s network.Stream, asks bool) *session {
	return &session{n: l.n, l: l, s: s, asks: asks, r: newFrameReader(s), writing: make(chan struct{}, 1),
		wants: make(chan []engine.Have, wantsAhead), pulls: newPulls(l.n.claims)}
}

// run exchanges what differs. List, unless nil, tells the other side first what is here. It reports whether both sides have now what
// the other had when it began.
func (c *session) run(ctx context.Context, list func(context.Context) error) (whole bool, err error) {
	defer c.pulls.end()
	g, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), context.Canceled) { // one of them has failed: Wait alone is no reason
			_ = c.s.Reset()
		}
	})
	defer stop()
	g.Go(func() error { return c.readAll(ctx) })
	g.Go(func() error { return c.giveAll(ctx) })
	g.Go(func() error {
		if list != nil {
			if err := list(ctx); err != nil {
				return err
			}
		}
		return c.pullAll(ctx)
	})
	err = g.Wait()
	c.taking.Wait()
	return err == nil && !c.pulls.isLeft(), err
}

// write sends a message whole.
func (c *session) write(m *message) error {
	frame, err := encodeFrame(m, maxFrame)
	if err != nil {
		return err
	}
	if c.asks && m.Letter == nil {
		c.n.counters.comparedBytes.Add(uint64(len(frame)))
	}
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	_ = c.s.SetWriteDeadline(time.Now().Add(compareStall))
	if _, err := c.s.Write(frame); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// read returns the next message, and what to call when it was dealt with.
func (c *session) read(ctx context.Context) (m *message, release func(), err error) {
	_ = c.s.SetReadDeadline(time.Now().Add(compareStall))
	size, err := c.r.length(maxFrame)
	if err != nil {
		return nil, nil, err
	}
	if err := c.l.in.bytes.Acquire(ctx, int64(size)); err != nil {
		return nil, nil, err
	}
	release = func() { c.l.in.bytes.Release(int64(size)) }
	b, err := c.r.body(size)
	if err == nil {
		m, err = decodeMessage(b)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	if c.asks && m.Letter == nil {
		c.n.counters.comparedBytes.Add(uint64(size))
	}
	return m, release, nil
}

// readAll deals with what the other side sends until that ends its half.
func (c *session) readAll(ctx context.Context) error {
	found, done := false, false // the other side finds nothing more that differs, wants no more
	for {
		m, release, err := c.read(ctx)
		if errors.Is(err, io.EOF) && done && c.pulls.ended() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		switch {
		case m.Step == stepLetter:
			var p *pull
			if p, err = c.pulls.oldest(); err == nil {
				c.n.counters.pulled.Add(uint64(len(m.Letter.Parcels)))
				p.taking.Add(1)
				c.take(ctx, m.Letter, func() {
					release()
					p.taking.Done()
				})
				continue
			}
		case m.Step == stepRecords:
			c.take(ctx, m.Letter, release)
			continue
		case m.Step == stepAnswered:
			err = c.answered(idsOf(m.IDs))
		case m.Step == stepWant && !done:
			select {
			case c.wants <- m.Want:
			default:
				err = fmt.Errorf("%w: it wants more than %d times at once", engine.ErrRefused, wantsAhead)
			}
		case m.Step == stepDone && !done:
			done = true
			close(c.wants)
		case m.Step == stepDiffer && c.asks && !found:
			found = m.Last
			c.pulls.add(idsOf(m.IDs), found)
		case m.Step == stepDigests && !c.asks && !found:
			found = m.Last
			err = c.differ(ctx, m)
		default:
			err = fmt.Errorf("%w: step %d out of turn", engine.ErrRefused, m.Step)
		}
		release()
		if err != nil {
			return err
		}
	}
}

// answered ends the answer to the oldest want.
func (c *session) answered(partly []id) error {
	w, err := c.pulls.answered(partly)
	if err != nil {
		return err
	}
	c.taking.Go(func() {
		w.taking.Wait()
		c.pulls.taken(w, partly)
	})
	return nil
}

// take has the engine take in a letter, beside others, and calls after.
func (c *session) take(ctx context.Context, letter *engine.Letter, after func()) {
	if err := c.l.in.begin(ctx); err != nil {
		c.pulls.leave()
		after()
		return
	}
	c.taking.Go(func() {
		defer after()
		defer c.l.in.done()
		if c.n.receive(ctx, c.l, letter) != taken {
			c.pulls.leave()
		}
	})
}

// pullAll asks for all that this side lacks.
func (c *session) pullAll(ctx context.Context) error {
	for {
		ids, wait, done := c.pulls.next(time.Now())
		if done {
			break
		}
		if len(ids) == 0 {
			timer := time.NewTimer(claimTime)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-c.pulls.wake:
			case <-wait:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		want, err := c.want(ctx, ids)
		if err != nil {
			return err
		}
		if len(want) == 0 {
			continue
		}
		if c.asks {
			c.n.counters.asked.Add(1)
		}
		if err := c.write(&message{Step: stepWant, Want: want}); err != nil {
			return err
		}
	}
	if err := c.write(&message{Step: stepDone}); err != nil {
		return err
	}
	return c.endHalf()
}

// want returns what is here of the documents, and enters the pull of those for which there is room in one message.
func (c *session) want(ctx context.Context, ids []id) ([]engine.Have, error) {
	documents := make([]engine.DocumentID, len(ids))
	for i, d := range ids {
		documents[i] = d.document()
	}
	here, err := c.n.exchange.Have(ctx, c.l.site, documents)
	if err != nil {
		return nil, fmt.Errorf("what is here of %d documents: %w", len(ids), err)
	}
	have := make(map[engine.DocumentID]engine.Have, len(here))
	for _, h := range here {
		have[h.Document] = h
	}
	var want []engine.Have
	size := 0
	for i, d := range ids {
		h := have[documents[i]]
		h.Document = documents[i]
		if !c.pulls.progress(d, h) {
			continue
		}
		for _, lines := range h.Changes {
			size += 96 * len(lines)
		}
		if size += 128 + 64*len(h.Statuses); size > frameBytes && len(want) > 0 {
			c.pulls.begin(want, ids[i:])
			return want, nil
		}
		want = append(want, h)
	}
	c.pulls.begin(want, nil)
	return want, nil
}

// giveAll answers what the other side wants.
func (c *session) giveAll(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case want, ok := <-c.wants:
			if !ok {
				return c.endHalf()
			}
			if err := c.give(ctx, want); err != nil {
				return fmt.Errorf("give %d documents: %w", len(want), err)
			}
		}
	}
}

// give sends what is here beyond what the other side has, in letters of one frame each.
func (c *session) give(ctx context.Context, want []engine.Have) error {
	var partly []byte
	for len(want) > 0 {
		letter, covered, err := c.n.exchange.Missing(ctx, c.l.site, want, frameBytes)
		if err != nil {
			return err
		}
		more := false
		if letter != nil && len(letter.Parcels)+len(letter.Batches)+len(letter.Statuses) > 0 {
			if err := checkLetter(letter); err != nil {
				return fmt.Errorf("the other side would refuse it: %s", err) // and it is not that side's fault
			}
			if err := c.write(&message{Step: stepLetter, Letter: letter}); err != nil {
				return err
			}
			for i := range letter.Parcels {
				more = more || letter.Parcels[i].More
			}
		}
		if covered < len(want) && (more || covered == 0) { // the next one is there in part: it is asked for again
			d := idOf(want[covered].Document)
			partly = append(partly, d[:]...)
			covered++
		}
		want = want[covered:]
	}
	return c.write(&message{Step: stepAnswered, IDs: partly})
}

// endHalf is called when one of pulling and giving ends. After both, nothing more is written.
func (c *session) endHalf() error {
	if c.halves.Add(1) < 2 {
		return nil
	}
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	if err := c.s.CloseWrite(); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}
