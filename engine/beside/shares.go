package beside

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/skerry/skerry/engine"
)

// shares are what the large bodies of other sites' operations take of this site's disk, for each of those sites. One that has most has no more
// of them fetched until some of them are done with; what has nothing here always may have one. It is safe for concurrent use.
type shares struct {
	self engine.SiteID
	most int64 // bytes for each site

	mu sync.Mutex
	of map[engine.BlobHash]share
	by map[engine.SiteID]int64
}

// share is the size of one body, and for whose operation it is here.
type share struct {
	site engine.SiteID
	size int64
}

var errNoRoom = errors.New("there is no room for it")

func newShares(self engine.SiteID, most int64) *shares {
	return &shares{self: self, most: most, of: map[engine.BlobHash]share{}, by: map[engine.SiteID]int64{}}
}

// take has a body of an operation of a site count, unless it does already. It returns an error that says for people what the site waits for.
func (s *shares) take(ref engine.BlobRef, site engine.SiteID, name func(engine.SiteID) engine.SiteName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, counts := s.of[ref.Hash]; counts || site == s.self {
		return nil
	}
	if has := s.by[site]; has > 0 && has+ref.Size > s.most {
		return fmt.Errorf("%w: %s has %s of bodies here, and may have %s (limits.members.bodies); it comes once all sites have applied others of its operations",
			errNoRoom, name(site), engine.Bytes(has), engine.Bytes(s.most))
	}
	s.add(ref, site)
	return nil
}

func (s *shares) add(ref engine.BlobRef, site engine.SiteID) {
	s.of[ref.Hash] = share{site, ref.Size}
	s.by[site] += ref.Size
}

// free has a body count no more. It reports whether that makes room for others.
func (s *shares) free(h engine.BlobHash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	had, counts := s.of[h]
	if !counts {
		return false
	}
	delete(s.of, h)
	if s.by[had.site] -= had.size; s.by[had.site] == 0 {
		delete(s.by, had.site)
	}
	return true
}

// held returns how many bytes the bodies of each site's operations take.
func (s *shares) held() map[engine.SiteID]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.by)
}
