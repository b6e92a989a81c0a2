package engine

import (
	"fmt"
	"slices"
	"sync"
)

// openRequests are the requests of this site's clients for its resources that have had no certain answer. They are in no document, so
// that the rows of the resources have to be told of them. It is safe for concurrent use.
type openRequests struct {
	mu sync.Mutex
	by map[OperationID]openRequest
}

type openRequest struct {
	document DocumentID
	state    State // of its resource at this site
	why      string
}

// leftOpen takes note of a request that has had no certain answer, and why.
func (s *Site) leftOpen(c *crossing, why string) {
	if c.Document == "" {
		return // it is for no resource, or makes one
	}
	r := openRequest{c.Document, StateConverging, fmt.Sprintf("%s %s has had no certain answer yet: %s", c.Operation.Type, c.Operation.ID, why)}
	if c.Asked && !c.Again {
		r.state, r.why = StateDegraded, c.question()
	}
	s.requests.mu.Lock()
	s.requests.by[c.Operation.ID] = r
	s.requests.mu.Unlock()
	s.queue.add(job{supported: c.Document}, 0)
}

// closed takes note of requests that are settled.
func (s *Site) closed(ids []OperationID) {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	for _, id := range ids {
		if r, ok := s.requests.by[id]; ok {
			delete(s.requests.by, id)
			s.queue.add(job{supported: r.document}, 0)
		}
	}
}

// tellOpen makes the row of a resource say which request of this site for it has had no certain answer, but for those that are settled
// with what is being stored.
func (s *Site) tellOpen(row *ResourceRow, settled []OperationID) {
	if row.State.Past() {
		return
	}
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	var worst openRequest
	for id, r := range s.requests.by {
		worse := resourceRank[r.state] > resourceRank[worst.state] || r.state == worst.state && r.why < worst.why
		if r.document == row.Document && worse && !slices.Contains(settled, id) {
			worst = r
		}
	}
	if worst.why != "" {
		row.worsen(s.cfg.Self, s.name(s.cfg.Self), worst.state, worst.why)
	}
}

// worsen makes the row say that its resource is, for one site, in a state that is no better than the one named.
func (row *ResourceRow) worsen(site SiteID, name SiteName, state State, why string) {
	if st := row.Sites[site]; resourceRank[st.State] < resourceRank[state] {
		st.State, st.Reason = state, why
		row.Sites[site] = st
	}
	why = fmt.Sprintf("%s: %s", name, why)
	if resourceRank[row.State] < resourceRank[state] {
		row.State, row.Reason = state, why
	} else {
		row.Reason += "; " + why
	}
}
