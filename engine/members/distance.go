package members

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
)

// Distances tells round trips as they are now: measured between this site and those that it can reach, estimated from where
// both say that they are otherwise; false where one has not. What it returns is safe for concurrent use.
func (m *Members) Distances() func(a, b engine.SiteID) (time.Duration, bool) {
	m.mu.Lock()
	network, members := m.network, m.state.Members()
	m.mu.Unlock()
	var status map[engine.SiteID]engine.SiteStatus
	if network != nil {
		status = network.Status()
	}
	at := make(map[engine.SiteID]*vivaldi.Coordinate, len(members))
	for i := range members {
		at[members[i].ID] = members[i].Coordinate
	}
	self := m.cfg.Self
	return func(a, b engine.SiteID) (time.Duration, bool) {
		if b == self {
			a, b = b, a
		}
		st, x, y := status[b], at[a], at[b]
		switch {
		case a == b:
			return 0, true
		case a == self && st.Reachable && st.RTT > 0:
			return st.RTT, true
		case x == nil || y == nil:
			return 0, false
		}
		return x.Distance(*y), true
	}
}
