package chronicle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// Cut is a time in which this site could not reach some others. Sites that go out of reach within a minute of its beginning are of one cut.
type Cut struct {
	// ID is made of when it began.
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	// Ended is when this site had been compared with each of them again; zero: it goes on.
	Ended time.Time `json:"ended,omitzero"`
	// Away are the sites that could not be reached, Near those that could when it began, this one not among them.
	Away []Absence       `json:"away"`
	Near []engine.SiteID `json:"near,omitempty"`
}

// Absence is when one site was out of reach in a cut.
type Absence struct {
	Site engine.SiteID `json:"site"`
	// From is when it was heard of last, Back when it could be reached again, Known when both had told each other what they had missed.
	From  time.Time `json:"from"`
	Back  time.Time `json:"back,omitzero"`
	Known time.Time `json:"known,omitzero"`
	// Left says that it is not a member of the mesh any more, and is waited for no longer.
	Left bool `json:"left,omitempty"`
}

// Over reports whether nothing of it goes on.
func (c *Cut) Over() bool { return !c.Ended.IsZero() }

// AwayAt reports whether a site was out of reach at a time: what it did then was not known here.
func (c *Cut) AwayAt(site engine.SiteID, at time.Time) bool {
	return slices.ContainsFunc(c.Away, func(a Absence) bool {
		return a.Site == site && !at.Before(a.From) && (a.Known.IsZero() || at.Before(a.Known))
	})
}

// oneCut is how far apart sites may go out of reach in one cut: that one is gone is found out within seconds, by each site on its own.
const oneCut = time.Minute

// startUp is how long an agent that has just started waits for a site before it says that there is a cut.
const startUp = 30 * time.Second

// look takes in how the other sites can be reached now.
func (c *Chronicle) look(ctx context.Context, ways map[engine.SiteID]engine.SiteStatus, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var changed []*Cut
	touch := func(cut *Cut) {
		if !slices.Contains(changed, cut) {
			changed = append(changed, cut)
		}
	}
	seen := map[engine.SiteID]bool{} // in a cut that goes on
	for _, cut := range c.open {
		for i := range cut.Away {
			a := &cut.Away[i]
			if !a.Known.IsZero() {
				continue
			}
			seen[a.Site] = true
			way, member := ways[a.Site]
			_, silent := way.Silent()
			switch {
			case !member:
				a.Left, a.Known = true, now
				touch(cut)
			case !silent:
				if a.Back.IsZero() {
					a.Back = now
				}
				a.Known = now
				touch(cut)
			case way.Reachable && a.Back.IsZero():
				a.Back = now
				touch(cut)
			case !way.Reachable && !a.Back.IsZero(): // it went again before it had told anything
				a.Back = time.Time{}
				touch(cut)
			}
		}
	}
	var near, gone []engine.SiteID
	for site, way := range ways {
		since, _ := way.Silent()
		switch {
		case way.Reachable:
			near = append(near, site)
		case !seen[site] && (!way.LastSeen.IsZero() || now.Sub(since) > startUp):
			gone = append(gone, site)
		}
	}
	slices.Sort(near)
	slices.Sort(gone)
	for _, site := range gone {
		since, _ := ways[site].Silent()
		since = since.Round(time.Millisecond) // as it is written
		i := slices.IndexFunc(c.open, func(cut *Cut) bool { return since.Sub(cut.Began).Abs() <= oneCut })
		if i < 0 {
			c.open = append(c.open, &Cut{ID: since.UTC().Format("20060102-150405"), Began: since, Near: near})
			i = len(c.open) - 1
		}
		cut := c.open[i]
		cut.Near = slices.DeleteFunc(slices.Clone(cut.Near), func(s engine.SiteID) bool { return s == site })
		cut.Away = append(cut.Away, Absence{Site: site, From: since})
		touch(cut)
	}
	for _, cut := range changed {
		if !slices.ContainsFunc(cut.Away, func(a Absence) bool { return a.Known.IsZero() }) {
			cut.Ended = now
		}
		if err := c.putCut(ctx, cut); err != nil {
			return err
		}
	}
	c.open = slices.DeleteFunc(c.open, func(cut *Cut) bool { return cut.Over() })
	if len(changed) > 0 {
		return c.trimCuts(ctx)
	}
	return nil
}

func (c *Chronicle) putCut(ctx context.Context, cut *Cut) error {
	b, err := json.Marshal(cut)
	if err != nil {
		return err
	}
	return c.Store.PutRecord(ctx, cuts, keyOf(cut.Began), b)
}

// trimCuts keeps the newest ones.
func (c *Chronicle) trimCuts(ctx context.Context) error {
	n, oldest := 0, ""
	err := c.Store.Records(ctx, cuts, "", "a", mostCuts+1, true, func(key string, _ []byte) error {
		n, oldest = n+1, key
		return nil
	})
	if err != nil || n <= mostCuts {
		return err
	}
	return c.Store.DropRecords(ctx, cuts, "", oldest+"\x00")
}

// resumeCuts finds those that went on when an earlier run stopped.
func (c *Chronicle) resumeCuts(ctx context.Context) error {
	list, err := c.Cuts(ctx, mostCuts)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cut := range list {
		if !cut.Over() {
			c.open = append(c.open, &cut)
		}
	}
	return nil
}

// Cuts returns those that are remembered, newest first.
func (c *Chronicle) Cuts(ctx context.Context, limit int) (list []Cut, err error) {
	err = c.Store.Records(ctx, cuts, "", "a", limit, true, func(key string, value []byte) error {
		var cut Cut
		if err := json.Unmarshal(value, &cut); err != nil {
			return fmt.Errorf("cut %s: %w", key, err)
		}
		list = append(list, cut)
		return nil
	})
	return list, err
}

// Cut finds one; engine.ErrNotFound: none is remembered.
func (c *Chronicle) Cut(ctx context.Context, id string) (Cut, error) {
	list, err := c.Cuts(ctx, mostCuts)
	if err != nil {
		return Cut{}, err
	}
	for _, cut := range list {
		if cut.ID == id {
			return cut, nil
		}
	}
	return Cut{}, fmt.Errorf("cut %s: %w", id, engine.ErrNotFound)
}
