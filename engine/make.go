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
