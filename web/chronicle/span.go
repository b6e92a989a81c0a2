package chronicle

import (
	"maps"
	"time"

	"github.com/skerry/skerry/engine"
)

// Span is what was counted in one minute or hour.
type Span struct {
	Begin time.Time `json:"-"` // its key says it
	// Resources count by state at its end, those that are deleted left out; of an hour at the end of its worst minute. Nil: the agent did not run.
	Resources map[engine.State]int `json:"r,omitempty"`
	// Backlog is how many operations each site had left to apply then, as each has told last; sites without any are left out. Of an hour the most.
	Backlog map[engine.SiteID]int `json:"b,omitempty"`
	// Operations is how many this site has heard of in it, of its own and of others.
	Operations int `json:"o,omitempty"`
	// Took is how long those took until every site had them which that became true of in it.
	Took Spread `json:"t,omitempty"`
	// Seq is the last event that is counted.
	Seq uint64 `json:"s,omitempty"`
}

// unsettled is how many resources are not converged.
func (s *Span) unsettled() (n int) {
	for state, k := range s.Resources {
		if state != engine.StateConverged {
			n += k
		}
	}
	return n
}

// fold makes one span of several: what is counted is added, and of what was looked at the worst stays.
func fold(begin time.Time, parts []Span) Span {
	all := Span{Begin: begin, Backlog: map[engine.SiteID]int{}, Took: Spread{}}
	for _, p := range parts {
		if p.Resources != nil && (all.Resources == nil || p.unsettled() >= all.unsettled()) {
			all.Resources = maps.Clone(p.Resources)
		}
		for site, n := range p.Backlog {
			all.Backlog[site] = max(all.Backlog[site], n)
		}
		all.Operations += p.Operations
		all.Took.Join(p.Took)
		all.Seq = max(all.Seq, p.Seq)
	}
	return all
}
