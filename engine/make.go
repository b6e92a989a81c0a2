package engine

import (
	"context"
	"strconv"
)

// idempotencyKey is the key of what a step sends: the same however often it is sent, until it has been done. What is done to
// an object that was made anew is another request than what was done to the one before, and so is what is to be applied once
// more.
func (s *Site) idempotencyKey(ctx context.Context, r *resource, o *Operation, step Step) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return "", err
	}
	key, made := s.firstKey(o), v.replicas[s.cfg.Self].Made
	if step.Kind == StepMake {
		made++
	}
	if made > 0 {
		key += "." + strconv.FormatUint(made, 10)
	}
	if out := v.outcomes[s.cfg.Self][o.ID]; out.Again && step.Kind != StepMake {
		key += ".again" + strconv.FormatInt(out.At.UnixMicro(), 36)
	}
	return key, nil
}
