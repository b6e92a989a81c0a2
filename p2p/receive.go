package p2p

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/skerry/skerry/engine"
)

const (
	// inboxWorkers take envelopes in side by side, so that the store can make several durable at once; those of one
	// document always go to the same worker and keep their order.
	inboxWorkers = 16
	inboxSize    = 512
	inboxBytes   = 64 << 20
	// A member whose messages are refused maxRefusals times within refusalTime is disconnected for banTime; each
	// time doubles it, up to maxBanTime.
	maxRefusals = 10
	refusalTime = time.Minute
	banTime     = time.Minute
	maxBanTime  = 30 * time.Minute
)

// job is one envelope to be taken in.
type job struct {
	from     engine.SiteID
	envelope engine.Envelope
	// author made the envelope and is to blame for it.
	author engine.SiteID
	// done, unless nil, is told the result; what follows from it is then up to who asked.
	done func(error)
}

type inbox struct {
	seed    maphash.Seed
	workers [inboxWorkers]chan job
	bytes   *semaphore.Weighted
}

func newInbox() *inbox {
	b := &inbox{seed: maphash.MakeSeed(), bytes: semaphore.NewWeighted(inboxBytes)}
	for i := range b.workers {
		b.workers[i] = make(chan job, inboxSize)
	}
	return b
}

func (b *inbox) worker(j job) chan job {
	return b.workers[maphash.String(b.seed, string(j.envelope.Document))%inboxWorkers]
}

// put waits for room.
func (b *inbox) put(ctx context.Context, j job) error {
	if err := b.bytes.Acquire(ctx, sizeOf(j.envelope)); err != nil {
		return err
	}
	select {
	case b.worker(j) <- j:
		return nil
	case <-ctx.Done():
		b.bytes.Release(sizeOf(j.envelope))
		return ctx.Err()
	}
}

// offer reports false when there is no room.
func (b *inbox) offer(j job) bool {
	if !b.bytes.TryAcquire(sizeOf(j.envelope)) {
		return false
	}
	select {
	case b.worker(j) <- j:
		return true
	default:
		b.bytes.Release(sizeOf(j.envelope))
		return false
	}
}

func (b *inbox) run(ctx context.Context, n *Network) {
	var wg sync.WaitGroup
	for _, jobs := range b.workers {
		wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case j := <-jobs:
					n.receive(ctx, j)
					b.bytes.Release(sizeOf(j.envelope))
				}
			}
		})
	}
	wg.Wait()
}

// receive takes one envelope in and does what follows.
func (n *Network) receive(ctx context.Context, j job) {
	err := n.replicas.Receive(ctx, j.from, j.envelope)
	if j.done != nil {
		j.done(err)
		return
	}
	switch {
	case err == nil:
		n.counters.received.Add(1)
	case ctx.Err() != nil:
	case errors.Is(err, engine.ErrMissing):
		// The author has it on disk; who relayed it may not have merged it yet.
		if l := n.link(j.author); l != nil && l.isUp() {
			l.repair.pull(j.envelope.Document)
		} else if l := n.link(j.from); l != nil {
			l.repair.pull(j.envelope.Document)
			l.repair.compareLater()
		}
	case errors.Is(err, engine.ErrRefused):
		n.refuse(j.author, fmt.Errorf("document %s: %w", j.envelope.Document, err))
	default:
		n.log.Warn("a change was not taken in", "peer", j.from, "document", j.envelope.Document, "err", err)
		if l := n.link(j.from); l != nil {
			l.repair.compareLater()
		}
	}
}

// refuse counts a message of a member that broke the rules, and disconnects a member that goes on.
func (n *Network) refuse(from engine.SiteID, err error) {
	n.counters.refused.Add(1)
	n.log.Warn("a message was refused", "peer", from, "err", err)
	l := n.link(from)
	if l == nil {
		return
	}
	l.mu.Lock()
	for len(l.refusals) > 0 && time.Since(l.refusals[0]) > refusalTime {
		l.refusals = l.refusals[1:]
	}
	l.refusals = append(l.refusals, time.Now())
	var ban time.Duration
	if len(l.refusals) >= maxRefusals {
		ban = min(banTime<<min(l.bans, 8), maxBanTime)
		l.bans++
		l.refusals = nil
	}
	l.mu.Unlock()
	if ban == 0 {
		return
	}
	n.log.Error("a site that keeps breaking the rules is disconnected", "peer", from, "for", ban)
	n.gater.ban(l.pid, ban)
	if err := n.host.Network().ClosePeer(l.pid); err != nil {
		n.log.Debug("the connections of a banned site did not close", "peer", from, "err", err)
	}
}
