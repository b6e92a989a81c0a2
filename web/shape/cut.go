package shape

import (
	"slices"
	"time"

	"github.com/skerry/skerry/web/chronicle"
)

// Cut is a time in which the answering site could not reach some others.
type Cut struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	// Ended is when all had told each other what they had missed; nil: it goes on.
	Ended *time.Time `json:"ended"`
	Away  []Absence  `json:"away"` // the sites that could not be reached
	Near  []string   `json:"near"` // those that could when it began, the answering one first
}

// Absence is when a site was out of reach in a cut.
type Absence struct {
	Site  string     `json:"site"`
	From  time.Time  `json:"from"`  // when it was heard of last
	Back  *time.Time `json:"back"`  // when it could be reached again; nil: it cannot
	Known *time.Time `json:"known"` // when both had told each other what they had missed; nil: they have not
	Left  bool       `json:"left"`  // it is not a member of the mesh any more
}

// Cut tells of a cut, as self saw it.
func (n Names) Cut(c chronicle.Cut, self string) Cut {
	v := Cut{ID: c.ID, Began: c.Began, Ended: Moment(c.Ended), Away: []Absence{}, Near: []string{}}
	for _, a := range c.Away {
		v.Away = append(v.Away, Absence{n.Of(a.Site), a.From, Moment(a.Back), Moment(a.Known), a.Left})
	}
	for _, site := range c.Near {
		v.Near = append(v.Near, n.Of(site))
	}
	slices.Sort(v.Near)
	v.Near = append([]string{self}, v.Near...)
	return v
}

// AwayNames are the sites that could not be reached, each once, sorted.
func (c *Cut) AwayNames() (names []string) {
	for _, a := range c.Away {
		names = append(names, a.Site)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
