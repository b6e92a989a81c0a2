package engine

import (
	"context"
	"fmt"
)

// idempotencyKey is the key of what a step sends. A create that makes the object anew is another request than the one that
// made it first, and the same one however often it is sent.
func (s *Site) idempotencyKey(ctx context.Context, r *resource, o *Operation, step Step) (string, error) {
	if step.Kind != StepMake {
		return s.firstKey(o), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s.%d", s.firstKey(o), v.replicas[s.cfg.Self].Made+1), nil
}

// newObject is what this site publishes when a step has made the object anew: its new identifier, and what is still to be
// applied to it. The caller holds the resource's lock.
func (s *Site) newObject(v *view, local LocalID, step Step) []Entry {
	replica := v.withSettled(local, s.cfg.Now(), step.Operations...)
	replica.Made++
	replica.Observed = nil
	entries := []Entry{{Map: MapReplicas, Key: string(s.cfg.Self), Value: compactStruct(replica)}}
	for _, o := range step.Again {
		entries = append(entries, s.outcomeEntry(o, Outcome{State: StatePending, Again: true, Error: "the object was made anew"}))
	}
	return entries
}
