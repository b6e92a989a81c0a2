package hooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// Source is the event log. Wait returns entries after the given one, oldest first, as soon as there are any. Trimmed entries are
// not among them: the first may be of a number that is not the next.
type Source interface {
	Wait(ctx context.Context, after uint64) ([]Event, error)
	// Trimmed makes the event that tells of entries that are gone, those after one and before another.
	Trimmed(after, next uint64) Event
}

// Run delivers until ctx ends. Each hook goes along the log by itself, so that a slow receiver delays no other.
func (d *Desk) Run(ctx context.Context, log Source) error {
	var running sync.WaitGroup
	defer running.Wait()
	stops := map[string]context.CancelFunc{}
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for {
		d.mu.Lock()
		all, err := d.list(ctx)
		changed := d.changed
		d.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		wanted := map[string]bool{}
		for _, h := range all {
			if wanted[h.ID] = true; stops[h.ID] != nil {
				continue
			}
			inner, stop := context.WithCancel(ctx)
			stops[h.ID] = stop
			running.Go(func() { d.serve(inner, h, log) })
		}
		for id, stop := range stops {
			if !wanted[id] {
				stop()
				delete(stops, id)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// serve runs one hook until ctx ends. What the store cannot do now it can perhaps do later.
func (d *Desk) serve(ctx context.Context, h Hook, log Source) {
	for ctx.Err() == nil {
		err := d.follow(ctx, h, log)
		if errors.Is(err, engine.ErrNotFound) {
			return // somebody has taken it away
		}
		if ctx.Err() == nil {
			d.Log.Error("deliver events to a hook", "hook", h.ID, "err", err)
			sleep(ctx, 10*time.Second)
		}
	}
}

// follow delivers from where the hook is.
func (d *Desk) follow(ctx context.Context, h Hook, log Source) error {
	secret, err := d.Vault.Unseal(sealedAs(h.ID), h.Sealed)
	if err != nil {
		return fmt.Errorf("read the secret of hook %s: %w", h.ID, err)
	}
	at, err := d.position(ctx, h.ID)
	if err != nil {
		return err
	}
	for {
		events, err := log.Wait(ctx, at.After)
		if err != nil {
			return err
		}
		if len(events) > 0 && events[0].Seq > at.After+1 && at.After > 0 {
			lost := log.Trimmed(at.After, events[0].Seq)
			if at, err = d.deliver(ctx, h, secret, at, lost); err != nil {
				return err
			}
		}
		for _, e := range events {
			if !h.wants(e.Type) {
				at.After = e.Seq
				continue
			}
			if at, err = d.deliver(ctx, h, secret, at, e); err != nil {
				return err
			}
		}
		if err := d.settle(ctx, h.ID, nil, at); err != nil {
			return err
		}
	}
}

// deliver tries an event until it is taken or given up; the error is the context's or the store's.
func (d *Desk) deliver(ctx context.Context, h Hook, secret []byte, at Position, e Event) (Position, error) {
	for {
		if !sleep(ctx, at.Next.Sub(d.Now())) {
			return at, ctx.Err()
		}
		began := d.Now()
		status, rest, failed := post(ctx, d.HTTP, h.URL, secret, e, began)
		if failed != nil && ctx.Err() != nil {
			return at, ctx.Err() // nobody knows whether it was taken: it is sent again
		}
		at.Attempts++
		at.Deliveries++
		v := Delivery{N: at.Deliveries, At: began.UTC(), Event: fmt.Sprint(e.Seq), Type: e.Type, Attempt: at.Attempts, Status: status,
			Took: d.Now().Sub(began).Milliseconds(), Result: Delivered}
		switch {
		case failed == nil:
			at.Delivered++
		case errors.Is(failed, errGone) || at.Attempts > len(d.Pauses):
			v.Result, v.Error = GivenUp, failed.Error()
			at.GivenUp++
		default:
			v.Result, v.Error = Failed, failed.Error()
			if at.Failing.IsZero() {
				at.Failing = began.UTC()
			}
			at.Next = d.Now().UTC().Add(max(d.Pauses[at.Attempts-1], rest))
		}
		if v.Result != Failed {
			at = Position{After: e.Seq, Delivered: at.Delivered, GivenUp: at.GivenUp, Deliveries: at.Deliveries}
		}
		if err := d.settle(ctx, h.ID, &v, at); err != nil || v.Result != Failed {
			return at, err
		}
	}
}

// settle makes durable how far a hook has come and, unless nil, an attempt for the delivery log, which is trimmed;
// engine.ErrNotFound when the hook is gone.
func (d *Desk) settle(ctx context.Context, id string, v *Delivery, at Position) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.Store.Record(ctx, hookShelf, id); err != nil {
		return err
	}
	if v != nil {
		if err := d.put(ctx, deliveryShelf, deliveryKey(id, v.N), v); err != nil {
			return err
		}
		if v.N > keepDeliveries && v.N%trimDeliveries == 0 {
			if err := d.Store.DropRecords(ctx, deliveryShelf, id+"/", deliveryKey(id, v.N-keepDeliveries+1)); err != nil {
				return err
			}
		}
	}
	return d.put(ctx, positionShelf, id, at)
}

// sleep waits, and reports whether it was not interrupted.
func sleep(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
