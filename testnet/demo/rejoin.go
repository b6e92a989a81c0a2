package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/skerry/skerry/testnet/site"
)

// rejoining bounds how long "skerry demo heal" waits.
const rejoining = time.Minute

// rejoin waits until a site and the others reach each other, but for those that are cut off or do not answer. It returns what is
// missing when that takes too long.
func (s *state) rejoin(ctx context.Context, healed stateSite) error {
	ctx, cancel := context.WithTimeout(ctx, rejoining)
	defer cancel()
	for _, other := range s.Sites {
		if other.Name == healed.Name {
			continue
		}
		if cut, err := other.client().Isolated(ctx); err != nil || cut {
			continue
		}
		for _, way := range [][2]stateSite{{healed, other}, {other, healed}} {
			if err := way[0].untilReaches(ctx, way[1].Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// untilReaches waits until the site says that it reaches another one.
func (s stateSite) untilReaches(ctx context.Context, name string) error {
	for {
		seen, err := s.client().Sites(ctx)
		if err == nil && contains(seen, name) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not reach %s", s.Name, name)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func contains(seen []site.Seen, name string) bool {
	for _, x := range seen {
		if x.Name == name && x.Reachable {
			return true
		}
	}
	return false
}
