package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// openRequests are the requests of this site's clients for its resources that have had no certain answer. They are in no document, so
// that the rows of the resources have to be told of them. It is safe for concurrent use.
type openRequests struct {
	mu sync.Mutex
	by map[DocumentID]map[OperationID]openRequest
	of map[OperationID]DocumentID
}

type openRequest struct {
	Open
	told time.Time // from then on other sites are told
}

// Open is what a site tells of a request that has had no certain answer there: while that is not settled, no document has it, and
// nobody can say what its application is to show.
type Open struct {
	Operation OperationID `json:"operation"`
	State     State       `json:"state"` // of its resource at the site
	Since     time.Time   `json:"since"`
	Reason    string      `json:"reason"`
}

func (o *Open) String() string {
	return fmt.Sprintf("%s (since %s)", o.Reason, o.Since.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// leftOpen takes note of a request that has had no certain answer, why, and since when. Other sites are told at once where a person
// has been asked; else once it is no mere delay, and before any look can make a drift of what it may have changed.
func (s *Site) leftOpen(c *crossing, why string, since time.Time) {
	if c.Document == "" {
		return // it is for no resource, or makes one
	}
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	open := s.requests.by[c.Document]
	if open == nil {
		open = map[OperationID]openRequest{}
		s.requests.by[c.Document] = open
	}
	if known, ok := open[c.Operation.ID]; ok {
		since = known.Since
	}
	r := openRequest{Open{c.Operation.ID, StateConverging, since.UTC(), c.unanswered(why)}, since}
	switch {
	case !c.Asked:
		r.told = since.Add(firm / 2 * s.cfg.LookAfter)
	case !c.Again:
		r.State, r.Reason = StateDegraded, c.question()
	}
	open[c.Operation.ID], s.requests.of[c.Operation.ID] = r, c.Document
	s.queue.add(job{supported: c.Document}, 0)
}

// closed takes note of requests that are settled.
func (s *Site) closed(ids []OperationID) {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	for _, id := range ids {
		document, ok := s.requests.of[id]
		if !ok {
			continue
		}
		delete(s.requests.of, id)
		if delete(s.requests.by[document], id); len(s.requests.by[document]) == 0 {
			delete(s.requests.by, document)
		}
		s.queue.add(job{supported: document}, 0)
	}
}

// worst returns that of the open requests for a resource which leaves it in the worst state, of those that count; nil: there is none.
func (q *openRequests) worst(id DocumentID, counts func(openRequest) bool) *Open {
	q.mu.Lock()
	defer q.mu.Unlock()
	var worst *Open
	for _, r := range q.by[id] {
		if !counts(r) {
			continue
		}
		if worst == nil || resourceRank[r.State] > resourceRank[worst.State] || r.State == worst.State && r.Operation < worst.Operation {
			worst = &r.Open
		}
	}
	return worst
}

// untold returns what this site is to publish about open requests for a resource, where that is something else than it has. What it has
// told of stays told until it is settled. Wait is after what time there will be more; zero: as far as is known, never.
func (s *Site) untold(v *view) (open *Open, differs bool, wait time.Duration) {
	if part := v.part(v.self); part != partMember && part != partLeaving {
		return nil, false, 0
	}
	now, mine := s.cfg.Now(), v.replica(v.self).Open
	told := func(id OperationID) bool { return mine != nil && mine.Operation == id }
	open = s.requests.worst(v.document, func(r openRequest) bool {
		if told(r.Operation) {
			return true
		}
		wait = max(wait, r.told.Sub(now))
		return !r.told.After(now)
	})
	if open != nil && told(open.Operation) {
		open.Since = mine.Since
	}
	return open, open != mine && (open == nil || mine == nil || *open != *mine), wait
}

// publishOpen tells the other sites of a resource which request for it is open here, or that none is; after a start, once it is known
// what a lost run has told. The caller holds r.mu, and r.view is loaded.
func (s *Site) publishOpen(ctx context.Context, r *resource) (published bool, err error) {
	open, differs, wait := s.untold(r.view)
	if differs && s.uncompared(r.view.correspondents()) {
		differs, wait = false, s.cfg.CompareWithin
	}
	if wait > 0 {
		s.queue.add(job{supported: r.id}, wait)
	}
	if !differs {
		return false, nil
	}
	mine := r.view.replica(s.cfg.Self)
	mine.Open = open
	return true, s.write(ctx, r, []Entry{r.view.replicaAs(mine)}, &Batch{})
}

// end records what has become of a request that is in no document, and that it is open no more.
func (s *Site) end(ctx context.Context, c *crossing, b *Batch) error {
	if c.Document == "" {
		return s.commit(ctx, b)
	}
	r, v, unlock, err := s.locked(ctx, c.Document)
	defer unlock()
	if errors.Is(err, ErrNotFound) { // the catalog has lost the kind
		return s.commit(ctx, b)
	}
	if err != nil {
		return err
	}
	mine := v.replica(v.self)
	if mine.Open == nil || mine.Open.Operation != c.Operation.ID {
		return s.commit(ctx, b)
	}
	mine.Open = nil
	return s.write(ctx, r, []Entry{v.replicaAs(mine)}, b)
}

// tellOpen makes the row of a resource say at which sites a request for it has had no certain answer; here, but for those that are
// settled with what is being stored.
func (s *Site) tellOpen(v *view, row *ResourceRow, settled []OperationID) {
	if row.State.Past() {
		return
	}
	for _, site := range slices.Sorted(maps.Keys(row.Sites)) {
		open := v.replica(site).Open
		if site == v.self { // it knows before it tells
			open = s.requests.worst(v.document, func(r openRequest) bool { return !slices.Contains(settled, r.Operation) })
		}
		if open != nil {
			row.worsen(site, s.name(site), open.State, open.String())
		}
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
