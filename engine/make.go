package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
)

// idempotencyKey is the key of what a step sends: the same however often it is sent, until it has been done. What is done to
// an object that was made anew is another request than what was done to the one before, and so is what is to be applied once
// more, unless all that was lost may be the record that it was applied. Opaque bytes are put again where others have been put since
// they were, and an object is deleted again where something has been done to it since, should nobody know that they were, or it was.
// What may have made the object is sent under the key that it had, however often a lost run has made that anew since.
func (s *Site) idempotencyKey(ctx context.Context, r *resource, o *Operation, step Step) (string, error) {
	if c := s.maybeMade(r.id); c != nil && c.Operation.ID == o.ID && c.Key != "" {
		return c.Key, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return "", err
	}
	made := v.replicas[s.cfg.Self].Made
	if step.Kind == StepMake {
		made++
	}
	key := s.firstKey(o) + madeAnew(made)
	if out := v.outcomes[s.cfg.Self][o.ID]; out.Again && !out.First && step.Kind != StepMake {
		key += ".again" + strconv.FormatInt(out.At.UnixMicro(), 36)
	}
	return key + v.doneBefore(o), nil
}

// crossingKey is the key of a client's request. A lost run may have sent it under its first key for an object that was made anew since, or have
// put the same opaque bytes before others were.
func (s *Site) crossingKey(ctx context.Context, r *resource, c *crossing) (string, error) {
	key := s.firstKey(&c.Operation)
	if r == nil || c.Plain || c.About != nil {
		return key, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return "", err
	}
	return key + madeAnew(v.replicas[s.cfg.Self].Made) + v.doneBefore(&c.Operation), nil
}

// madeAnew tells an object that was made anew so many times from those before.
func madeAnew(made uint64) string {
	if made == 0 {
		return ""
	}
	return "." + strconv.FormatUint(made, 10)
}

// doneBefore names, by a digest, what this site has put where o puts opaque bytes, or all that it has done to what a delete takes away; empty for
// nothing.
func (v *view) doneBefore(o *Operation) string {
	settled, others, digest := v.settledAt(v.self), 0, sha256.New()
	for _, p := range v.history.ordered {
		over := o.Type == TypeAbsolute && p.Type == TypeAbsolute && p.Path == o.Path || o.Type == TypeDelete
		if p != o && over && settled(p) {
			others++
			fmt.Fprintln(digest, p.ID)
			if out := v.outcomes[v.self][p.ID]; out.State == StateApplied { // it was put anew then
				fmt.Fprintln(digest, out.At.UnixMicro())
			}
		}
	}
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(".over%x", digest.Sum(nil)[:4])
}
