package engine

import (
	"context"
	"fmt"
	"time"
)

// Compacted is what has been folded away of a resource's history at one site: what it amounts to is kept, each by itself is not.
type Compacted struct {
	// Operations is how many they are; 0: none.
	Operations int
	// Until is when the newest of them was issued.
	Until time.Time
}

// Compacted tells what this site has folded away of a resource's history. ErrNotFound: there is no such document here.
func (s *Site) Compacted(ctx context.Context, id DocumentID) (Compacted, error) {
	_, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return Compacted{}, fmt.Errorf("tell what is folded away: %w", err)
	}
	base := v.history.base
	if base == nil || base.Count == 0 {
		return Compacted{}, nil
	}
	return Compacted{base.Count, time.UnixMicro(base.Time).UTC()}, nil
}

// crowded says that a history has grown to half of what a resource may have, and which sites keep it from being folded away; it
// is empty before that.
func (v *view) crowded() string {
	n := v.history.Len()
	if n < maxOperations/2 {
		return ""
	}
	behind := ""
	for _, s := range v.members() {
		r := v.replica(s)
		for name, most := range v.history.complete() {
			if !r.has(name, most) {
				if behind != "" {
					behind += ", "
				}
				behind += string(v.name(s))
				break
			}
		}
	}
	if behind == "" {
		return ""
	}
	return fmt.Sprintf("%d operations are not applied everywhere, at %d writes are refused: %s has to catch up, or to be taken out of the resource",
		n, maxOperations, behind)
}
