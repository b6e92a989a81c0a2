package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine/vivaldi"
)

// Moved publishes where this site is among the others.
func (s *Site) Moved(ctx context.Context, at vivaldi.Coordinate) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	record := s.ownRecord()
	if record.Name == "" { // it has not said anything yet
		return nil
	}
	record.Coordinate = &at
	if err := s.writeRecord(ctx, record); err != nil {
		return fmt.Errorf("tell where this site is: %w", err)
	}
	return nil
}

// Coordinate returns where this site last said that it is; the zero value when it has not.
func (s *Site) Coordinate() vivaldi.Coordinate {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	if at := s.mesh.sites[s.cfg.Self].Coordinate; at != nil {
		return *at
	}
	return vivaldi.Coordinate{}
}

// Distances tells round trips as they are now: measured between this site and those that it can reach, estimated from the
// coordinates of both ends otherwise; false where one has none. What it returns is safe for concurrent use.
func (s *Site) Distances() func(a, b SiteID) (time.Duration, bool) {
	status := s.network.Status()
	at := map[SiteID]vivaldi.Coordinate{}
	s.mesh.mu.RLock()
	for id, record := range s.mesh.sites {
		if record.Coordinate != nil {
			at[id] = *record.Coordinate
		}
	}
	s.mesh.mu.RUnlock()
	self := s.cfg.Self
	return func(a, b SiteID) (time.Duration, bool) {
		if b == self {
			a, b = b, a
		}
		switch st := status[b]; {
		case a == b:
			return 0, true
		case a == self && st.Reachable && st.RTT > 0:
			return st.RTT, true
		}
		x, known := at[a]
		y, both := at[b]
		return x.Distance(y), known && both
	}
}
