package api

import (
	"context"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/chronicle"
	"github.com/skerry/skerry/web/shape"
)

// History is what this site has counted of its last day or month, with the cuts of that time.
type History struct {
	Span  string      `json:"span"` // day or month
	Begin time.Time   `json:"begin"`
	End   time.Time   `json:"end"`
	Step  int         `json:"step_seconds"` // how long each of Items is
	Items []Counted   `json:"items"`        // oldest first; those in which the agent did not run are missing
	Cuts  []shape.Cut `json:"cuts"`         // newest first
}

// Counted is what was counted in one minute or hour.
type Counted struct {
	Begin time.Time `json:"begin"`
	// Resources count by state at its end, of an hour in its worst minute; nil: the agent did not run then.
	Resources map[string]int `json:"resources"`
	// Backlog is how many operations each site had left to apply, as it has told last; sites without any are left out.
	Backlog map[string]int `json:"backlog"`
	// Operations is how many this site heard of. P50 and P99 are within how many milliseconds that share of those that every site then had
	// applied had got there; nil: there were none.
	Operations int    `json:"operations"`
	P50        *int64 `json:"p50_ms"`
	P99        *int64 `json:"p99_ms"`
}

// chronicled is this site as its chronicle looks at it.
type chronicled struct{ *API }

// Newest implements chronicle.Site.
func (c chronicled) Newest(ctx context.Context) (uint64, error) { return c.newest(ctx) }

// Look implements chronicle.Site.
func (c chronicled) Look(ctx context.Context) (map[engine.State]int, map[engine.SiteID]int, error) {
	resources, err := c.countResources(ctx)
	if err != nil {
		return nil, nil, err
	}
	sites, err := c.SiteStates(ctx)
	if err != nil {
		return nil, nil, err
	}
	backlog := map[engine.SiteID]int{}
	for _, s := range sites {
		if s.State != nil && s.State.Backlog > 0 {
			backlog[engine.SiteID(s.PeerID)] = s.State.Backlog
		}
	}
	return resources, backlog, nil
}

// Ways implements chronicle.Site.
func (c chronicled) Ways() map[engine.SiteID]engine.SiteStatus {
	ways, status := map[engine.SiteID]engine.SiteStatus{}, c.Network.Status()
	for _, m := range c.Mesh.Members() {
		if m.ID != c.Mesh.Self() {
			ways[m.ID] = status[m.ID]
		}
	}
	return ways
}

// History tells what was counted in a day or a month.
func (a *API) History(ctx context.Context, span string) (History, error) {
	h := History{Span: span, End: a.Now(), Items: []Counted{}, Cuts: []shape.Cut{}}
	var spans []chronicle.Span
	var err error
	switch span {
	case "", "day":
		h.Span, h.Step, h.Begin = "day", 60, h.End.Add(-24*time.Hour)
		spans, err = a.Chronicle.Day(ctx)
	case "month":
		h.Step, h.Begin = 3600, h.End.Add(-30*24*time.Hour)
		spans, err = a.Chronicle.Month(ctx)
	default:
		return h, badRequest("span is %q: give day or month", span)
	}
	if err != nil {
		return h, fmt.Errorf("read what was counted: %w", err)
	}
	n := a.names()
	for _, s := range spans {
		h.Items = append(h.Items, countedOf(n, s))
	}
	all, err := a.Cuts(ctx)
	if err != nil {
		return h, err
	}
	for _, c := range all {
		if c.Ended == nil || c.Ended.After(h.Begin) {
			h.Cuts = append(h.Cuts, c)
		}
	}
	return h, nil
}

func countedOf(n shape.Names, s chronicle.Span) Counted {
	v := Counted{Begin: s.Begin, Backlog: map[string]int{}, Operations: s.Operations}
	if s.Resources != nil {
		v.Resources = map[string]int{}
		for state, k := range s.Resources {
			v.Resources[string(state)] = k
		}
	}
	for site, k := range s.Backlog {
		v.Backlog[n.Of(site)] = k
	}
	if s.Took.Number() > 0 {
		p50, p99 := s.Took.Within(.5).Milliseconds(), s.Took.Within(.99).Milliseconds()
		v.P50, v.P99 = &p50, &p99
	}
	return v
}

func (a *API) getHistory(c echo.Context) error {
	q, err := params(c, "span")
	if err != nil {
		return err
	}
	v, err := a.History(c.Request().Context(), q.Get("span"))
	if err != nil {
		return err
	}
	return answer(c, 200, v)
}
