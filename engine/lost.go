package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// lost lists the values that were lost and are not there again.
func (v *view) lost() []Superseded {
	fold := FoldOf(v.history, anyOperation)
	shown := fold.paths()
	return slices.DeleteFunc(slices.Clone(fold.Superseded), func(l Superseded) bool { return bytes.Equal(l.Value, shown[l.Path]) })
}

// Superseded lists the values of a resource that concurrent, later operations took the place of and that nobody has set again,
// in the order of those that had set them. Sensitive values are hidden. ErrNotFound: there is no such document here.
func (s *Site) Superseded(ctx context.Context, id DocumentID) ([]Superseded, error) {
	_, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return nil, fmt.Errorf("list superseded values: %w", err)
	}
	lost := v.lost()
	for i, l := range lost {
		if l.Value != nil && v.kind.Hides(l.Path) {
			lost[i].Value = compact(Hidden)
		}
	}
	return lost, nil
}
