package site

import (
	"slices"
	"sync"
	"time"

	"github.com/skerry/skerry/engine"
)

// met is which sites this process has been compared with. A site does not know by itself that its disk was set back: what is open
// there may have been done since, and others have heard of that. So what an earlier process has left is not sent again before one
// of the sites that share it has been compared with. A site that meets none of them in time goes on alone. It is safe for
// concurrent use.
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

// with reports whether this site has been compared with one of some others, or need not be.
func (m *met) with(sites []engine.SiteID, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !now.Before(m.ends) {
		return true
	}
	others := slices.DeleteFunc(slices.Clone(sites), func(id engine.SiteID) bool { return id == m.self })
	return len(others) == 0 || slices.ContainsFunc(others, func(id engine.SiteID) bool { return m.sites[id] })
}
