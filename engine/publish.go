package engine

import (
	"context"
	"errors"
	"fmt"
)

// errUntold: the application has made something and its answer does not tell the identifier.
var errUntold = errors.New("the answer does not tell the new resource's identifier; check the catalog")

// publish makes an operation that the application has done durable and tells the other sites. The caller holds the turn of res
// unless it is nil.
func (s *Site) publish(ctx context.Context, res *resource, k *Kind, c *crossing, reply Reply) (ResourceID, error) {
	o := &c.Operation
	done := &Batch{Settled: []OperationID{o.ID}}
	if c.Asked {
		if err := s.askedNoMore(ctx, o.ID, done); err != nil {
			return "", err
		}
	}
	if c.Plain {
		if c.Inside == "" { // its container may not have been known when the request came
			container, inside, err := s.containerOf(ctx, k, c.Within)
			if err != nil {
				return "", err
			}
			if inside {
				c.Inside = container.Document
			}
		}
		done.Answers = s.answers(c.keeper(), k, reply, o.ID, "")
		if err := s.listDone(ctx, c, reply, done); err != nil {
			return "", err
		}
		names, err := s.say(ctx, c, reply, done)
		switch {
		case err != nil:
		case c.Inside != "":
			err = s.publishInside(ctx, k, c, reply, done)
		default:
			err = s.commit(ctx, done)
		}
		names.end(err == nil)
		return "", err
	}
	if c.About == nil {
		if err := s.watch(ctx, res, k, c); err != nil {
			return "", err
		}
	}
	local := LocalID("")
	if c.About != nil {
		if local = reply.Local; local == "" && k.Natural() {
			local = s.here(ctx, k, string(c.About.Key))
		}
		if local == "" {
			return "", fmt.Errorf("publish operation %s: %w: no %q", o.ID, errUntold, k.ID.At)
		}
		if c.About.Key == "" {
			c.About.Key = ResourceID(s.everywhere(ctx, k, string(local)))
		}
		raw, id, err := s.cfg.Documents.Encode(*c.About)
		if err != nil {
			return "", fmt.Errorf("make the document of %s: %w", c.About.Key, err)
		}
		res = s.registry.acquire(id)
		defer s.registry.release(res)
		res.mu.Lock()
		defer res.mu.Unlock()
		_, err = s.open(ctx, res)
		if errors.Is(err, ErrNotFound) {
			_, err = s.begin(res, Envelope{Document: id, About: raw})
		}
		if err != nil {
			return "", err
		}
	} else {
		res.mu.Lock()
		defer res.mu.Unlock()
		v, err := s.open(ctx, res)
		if err != nil {
			return "", err
		}
		local = v.local()
	}
	v := res.view
	if v.history.Get(o.ID) != nil { // it was published, and only the intent was left open
		return v.about.Key, s.commit(ctx, done)
	}
	s.stamp(v, o)
	var entries []Entry
	settled := []*Operation{o}
	if p := s.grow(v, c); p != nil {
		encoded, err := p.Encode()
		if err != nil {
			s.forget(res)
			return "", err
		}
		entries, settled = append(entries, Entry{Map: MapOperations, Key: p.Key(), Value: encoded}), append(settled, p)
		entries = append(entries, s.sharedAnew(v, p)...)
		s.queue.add(job{document: res.id}, 0)
	}
	encoded, err := o.Encode()
	if err != nil {
		s.forget(res)
		return "", err
	}
	v.tried(o.ID, Attempt{At: s.cfg.Now(), Status: reply.Status})
	if o.Type == TypeDelete {
		local = ""
	}
	key := v.about.Key
	done.Answers = s.answers(c.keeper(), k, reply, o.ID, key)
	entries = append(entries, Entry{Map: MapOperations, Key: o.Key(), Value: encoded}, s.replicaEntry(v, local, settled...))
	if o.Type == TypeAction && v.history.spread.divides(o) && len(v.history.spread.stated(k, o)) == 0 { // it has run on this part alone: what it sets is to be shared
		entries = append(entries, s.outcomeEntry(o, Outcome{State: StatePending, Again: true, Ran: true}))
		s.queue.add(job{document: res.id}, 0)
	}
	err = s.write(ctx, res, entries, done)
	if err == nil {
		s.opened.Delete(o.ID)
		if c.About != nil && k.Natural() {
			s.contest(ctx, k, key)
		}
	}
	return key, err
}

// listDone adds to b that a request which makes no operation has run, where it was listed because it had no certain answer.
func (s *Site) listDone(ctx context.Context, c *crossing, reply Reply, b *Batch) error {
	row, err := s.cfg.Store.Operation(ctx, c.Operation.ID)
	if errors.Is(err, ErrNotFound) || err == nil && (row.Origin != s.cfg.Self || row.State != StatePending && row.State != StateUncertain) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list operation %s: %w", c.Operation.ID, err)
	}
	was := row.Sites[s.cfg.Self]
	st := OperationStatus{State: StateApplied, Status: reply.Status, At: s.cfg.Now(), Attempts: was.Attempts, Tries: was.Tries}
	b.Operations, b.Events = append(b.Operations, s.originRow(c, st)), append(b.Events, s.statusEvent(c, st))
	return nil
}
