package decide

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// Place changes where the resource lives. Nothing is issued when nothing is different.
func (c *Case) Place(q engine.PlaceRequest) (*Orders, error) {
	change, err := issue.Change(c.View, q)
	if change == nil || err != nil {
		return &Orders{}, err
	}
	return &Orders{Issue: issue.Placing(engine.OperationID(c.NewID()), change, q.User)}, nil
}

// Shares are what the parts that q says would have of what is divided, in their order.
func (c *Case) Shares(q engine.PlaceRequest) ([]map[engine.Pointer]json.RawMessage, error) {
	if _, err := issue.Change(c.View, q); err != nil {
		return nil, err
	}
	return report.Shares(c.View, len(q.Parts)), nil
}

// DropName gives the resource up wherever another one has its name: those sites are removed from its placement, and where that would
// leave none it is deleted.
func (c *Case) DropName(user string) (*Orders, error) {
	if !c.Yields(c.Self) || c.Part(c.Self) != view.PartMember {
		return nil, engine.ErrSettled
	}
	mine := flight.ClaimOf(c.View, c.Flights)
	if mine.Owner(c.Names.Rivals(c.Kind, c.About.Key, c.Document)) == nil { // it has its name again, as is known now
		return nil, engine.ErrSettled
	}
	o := issue.Placing(engine.OperationID(c.NewID()), &engine.PlacementChange{Remove: c.Yielding()}, user)
	orders := &Orders{Issue: o}
	if len(o.Place.Remove) == len(c.Placement().Sites) {
		o.Type, o.Method, o.Path, o.Place = engine.TypeDelete, "DELETE", c.Kind.Item, nil
		// What it goes with is to have seen all that is known here, so that nothing of that survives.
		for _, p := range c.History.Ordered() {
			if !c.Settled(c.Self, p) {
				c.Became(p.ID, engine.Outcome{State: engine.StateSuperseded, Error: "it was dropped: its name is another's"})
				orders.Settle = append(orders.Settle, p)
			}
		}
		orders.Land = true
	}
	return orders, nil
}

// Dismiss tells all sites of the resource that a person accepts that one of them differs, or that nobody does any more.
func (c *Case) Dismiss(id engine.ConflictID, as engine.Action) (*Orders, error) {
	all := report.Conflicts(c.View)
	i := slices.IndexFunc(all, func(x engine.Conflict) bool { return x.ID == id && slices.Contains(x.Actions, as) })
	if i < 0 { // it has been settled meanwhile
		return nil, engine.ErrSettled
	}
	c.Made = engine.Decision{Conflict: id, For: all[i].Since.UnixMicro(), About: all[i].Kind, Operation: all[i].Operation}
	if was := all[i].Accepted; was != nil {
		c.Made.For = was.For
	}
	c.Made.At = c.Decisions.Last(id) + 1 // whatever the clocks of two sites say, what is said after the other counts
	return &Orders{}, nil
}

// Pause makes this site's replica take nothing of other sites; nil ends that. Requests of this site's own clients are served as before, and
// travel.
func (c *Case) Pause(p *engine.Pause) (*Orders, error) {
	switch {
	case p == nil:
		c.Unsay(engine.WaitPaused)
	case c.Part(c.Self) != view.PartMember:
		return nil, refuse(http.StatusConflict, "placement", "", "%s was removed from the placement of %s %s: there is nothing to pause",
			c.Name(c.Self), c.Kind.Name, c.About.Key)
	default:
		c.Say(engine.Wait{Kind: engine.WaitPaused, Since: p.At.UnixMicro(), Reason: p.Reason, By: p.By})
	}
	return &Orders{}, nil
}

// held returns the deletion that is held here, where the site by shares the resource. Only names the one that is meant; empty: any.
func (c *Case) held(by engine.SiteID, only engine.OperationID) (engine.OperationID, error) {
	w := c.Me.Wait(engine.WaitHeld)
	if p := c.Part(by); w == nil || p != view.PartMember && p != view.PartLeaving || only != "" && only != w.Operation {
		return "", engine.ErrSettled
	}
	c.Unsay(engine.WaitHeld)
	c.Made.Operation = w.Operation
	return w.Operation, nil
}

// Confirm lets the deletion run that is held here, where the site by shares the resource.
func (c *Case) Confirm(by engine.SiteID, only engine.OperationID) (*Orders, error) {
	id, err := c.held(by, only)
	if err != nil {
		return nil, err
	}
	c.Say(engine.Wait{Kind: engine.WaitConfirmed, Since: c.Time.UnixMicro(), Operation: id, By: c.Name(by)})
	return &Orders{Release: true, Retry: true}, nil
}

// Reject has this site keep the object that a held deletion would take away. It is nobody's replica then: the resource is deleted at the other
// sites.
func (c *Case) Reject(by engine.SiteID, only engine.OperationID) (*Orders, error) {
	id, err := c.held(by, only)
	if err != nil {
		return nil, err
	}
	orders, lives := c.begins(id), c.History.Whole(merge.Any).Exists
	for _, o := range c.History.Ordered() {
		if !c.Settled(c.Self, o) && (o.ID == id || !lives) { // else it was created anew meanwhile
			c.Became(o.ID, engine.Outcome{State: engine.StateRejected, Dropped: true, Error: "the deletion was rejected here: the object stays"})
			orders.Settle = append(orders.Settle, o)
		}
	}
	orders.Local, orders.Release = new(engine.LocalID), true
	return orders, nil
}

// Check has this site, and the others as soon as they hear of it, look at what their applications show.
func (c *Case) Check() (*Orders, error) {
	if !c.Holds(c.Self) {
		return nil, fmt.Errorf("have a resource looked at: %w: this site has no replica", engine.ErrNotFound)
	}
	c.Me.Asked = max(c.Time.UnixMicro(), c.Me.Asked+1)
	return &Orders{Look: true}, nil
}

// Resume ends that the resource is set aside.
func (c *Case) Resume() (*Orders, error) {
	c.Unsay(engine.WaitAside)
	return &Orders{Retry: true}, nil
}
