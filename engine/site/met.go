package site

import (
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// met is which sites this process has been compared with. A site does not know by itself that its disk was set back: what is open
// there may have been done since, and others have heard of that, each of them maybe alone. So what an earlier process has left is not sent again
// before all sites that share it have been compared with. A site that does not meet all of them in time goes on without. It is safe for concurrent
// use.
type met struct {
	mu    sync.Mutex
	self  engine.SiteID
	sites map[engine.SiteID]bool
	// ends is from when on nothing waits any more.
	ends time.Time
}

// begin begins the waiting, anew where it had ended.
func (m *met) begin(self engine.SiteID, ends time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.self, m.sites, m.ends = self, map[engine.SiteID]bool{}, ends
}

// add takes note of a comparison, and reports whether it is the first with that site.
func (m *met) add(id engine.SiteID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := !m.sites[id]
	m.sites[id] = true
	return first
}

// with reports whether this site has been compared with all of some others, or need not be.
func (m *met) with(sites []engine.SiteID, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !now.Before(m.ends) || !slices.ContainsFunc(sites, func(id engine.SiteID) bool { return id != m.self && !m.sites[id] })
}
