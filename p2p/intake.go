package p2p

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"golang.org/x/sync/semaphore"

	"github.com/skerry/skerry/engine"
)

// intake bounds what is being taken in of one member's letters, and keeps the order of those that tell of one document: a change
// builds on its author's previous one.
type intake struct {
	seed    maphash.Seed
	letters chan struct{} // a token for each letter in flight
	bytes   *semaphore.Weighted
	taking  atomic.Int64 // bytes that are being taken in

	mu sync.Mutex
	// last is, by document, what is closed when the newest letter with changes of it was taken in.
	last map[uint64]chan struct{}
}

func newIntake(bytes int64) *intake {
	return &intake{seed: maphash.MakeSeed(), letters: make(chan struct{}, lettersInFlight),
		bytes: semaphore.NewWeighted(bytes), last: map[uint64]chan struct{}{}}
}

// begin waits for room for one letter. Every begin that returns nil is followed by done.
func (t *intake) begin(ctx context.Context) error {
	select {
	case t.letters <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *intake) done() { <-t.letters }

// follow enters a letter after those that were entered before. It returns what to wait for, and what to call when the letter
// was taken in.
func (t *intake) follow(l *engine.Letter) (before []<-chan struct{}, after func()) {
	if len(l.Parcels) == 0 {
		return nil, func() {}
	}
	mine := make(chan struct{})
	documents := make([]uint64, len(l.Parcels))
	t.mu.Lock()
	for i := range l.Parcels {
		d := maphash.Bytes(t.seed, l.Parcels[i].About)
		if last := t.last[d]; last != nil && last != mine {
			before = append(before, last)
		}
		t.last[d], documents[i] = mine, d
	}
	t.mu.Unlock()
	return before, func() {
		t.mu.Lock()
		for _, d := range documents {
			if t.last[d] == mine {
				delete(t.last, d)
			}
		}
		t.mu.Unlock()
		close(mine)
	}
}

// serveLetters takes in the letters of one member. One that sends faster than the engine takes in is slowed down.
func (n *Network) serveLetters(ctx context.Context, l *link, s network.Stream) {
	defer s.Reset()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	var taking sync.WaitGroup
	defer taking.Wait()
	defer stop()
	defer cancel()
	r := newFrameReader(s)
	for {
		if err := n.readLetters(ctx, l, s, r, &taking); err != nil {
			switch {
			case errors.Is(err, engine.ErrRefused):
				n.refuse(l.site, err)
			case ctx.Err() == nil && !errors.Is(err, io.EOF):
				n.log.Debug("a stream of letters ended", "peer", l.site, "err", err)
			}
			return
		}
	}
}

// readLetters reads one frame and begins to take in its letters.
func (n *Network) readLetters(ctx context.Context, l *link, s network.Stream, r *frameReader, taking *sync.WaitGroup) error {
	size, err := r.length(maxFrame)
	if err != nil {
		return err
	}
	if err := l.in.bytes.Acquire(ctx, int64(size)); err != nil {
		return err
	}
	l.in.taking.Add(int64(size))
	var left atomic.Int64 // letters that are not taken in, and this function
	left.Store(1)
	release := func() {
		if left.Add(-1) == 0 {
			l.in.bytes.Release(int64(size))
			l.in.taking.Add(-int64(size))
		}
	}
	defer release()
	if r.buffered() < size { // once begun, a frame has to go on
		_ = s.SetReadDeadline(time.Now().Add(stall))
		defer func() { _ = s.SetReadDeadline(time.Time{}) }()
	}
	b, err := r.body(size)
	if err != nil {
		return err
	}
	letters, err := decodeLetters(b)
	if err != nil {
		return err
	}
	if !n.gater.admits(l.pid, l.site) {
		return errors.New("it is no member any more")
	}
	for _, letter := range letters {
		if err := l.in.begin(ctx); err != nil {
			return err
		}
		left.Add(1)
		before, after := l.in.follow(letter)
		taking.Go(func() {
			defer release()
			defer l.in.done()
			defer after()
			for _, other := range before {
				<-other
			}
			if n.receive(ctx, l, letter) == lacking { // what has failed, the pings tell of
				l.agree.lost()
			}
		})
	}
	return nil
}

// outcome is what came of a letter.
type outcome int

const (
	taken   outcome = iota // as far as it ever will be
	lacking                // some of it builds on what is not here
	failing                // another time it may be taken in
)

// receive has the engine take in a letter.
func (n *Network) receive(ctx context.Context, l *link, letter *engine.Letter) outcome {
	err := n.exchange.Receive(ctx, l.site, letter)
	refused, missing, unknown := errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrMissing), errors.Is(err, engine.ErrUnknown)
	if refused {
		n.refuse(l.site, fmt.Errorf("letter: %w", err))
	}
	if err != nil && !refused && !missing && !unknown || errors.Is(err, engine.ErrStorage) {
		if ctx.Err() == nil {
			n.log.Warn("a letter was not taken in", "peer", l.site, "err", err)
		}
		return failing
	}
	if !refused {
		n.counters.received.Add(1)
	}
	if missing {
		return lacking
	}
	return taken
}
