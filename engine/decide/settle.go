package decide

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
)

// waits returns an operation that waits for a person here to do something about it, with what became of it.
func (c *Case) waits(id engine.OperationID, what engine.Action) (*engine.Operation, engine.Outcome, error) {
	o := c.History.Get(id)
	if o == nil {
		return nil, engine.Outcome{}, engine.ErrSettled // at every site
	}
	out, ok := c.Mine.Outcomes[id]
	denied := c.Me.Wait(engine.WaitDenied)
	if denied != nil && denied.Operation == id && (what == "" || what == engine.ActionRetry || what == engine.ActionDrop && !c.Settled(c.Self, o)) {
		return o, engine.Outcome{State: engine.StatePending, Blocks: true, Again: out.Again, Error: denied.Reason}, nil
	}
	if w := c.Me.Wait(engine.WaitDeleting); w != nil && w.Operation == id && o.Type == engine.TypeDelete {
		return o, engine.Outcome{State: engine.StateRejected, Error: w.Reason}, nil
	}
	if !ok || !report.Decidable(c.View, o, out) {
		return nil, out, engine.ErrSettled
	}
	return o, out, report.Takes(o, out, what)
}

// ownWaits reports whether a person can decide about the client's request that is open: who is asked, or sees that this site has tried to
// settle it and could not.
func (c *Case) ownWaits() bool { return c.Flights.Own.Stage == flight.Asked || c.Tried }

func refuse(status int, kind string, id engine.OperationID, format string, args ...any) error {
	return &engine.Refusal{Status: status, Type: kind, Operation: id, Detail: fmt.Sprintf(format, args...)}
}

// Retry sends an uncertain or refused operation to this site's application again, or one that is let in.
func (c *Case) Retry(id engine.OperationID, as engine.Action) (*Orders, error) {
	if c.Me.Wait(engine.WaitAside) != nil {
		c.Unsay(engine.WaitAside)
		return &Orders{}, nil
	}
	if c.Flights.OwnIs(id) {
		if !c.ownWaits() {
			return nil, engine.ErrSettled // it is under way
		}
		c.Flights.Own.Stage = flight.Again
		return &Orders{Own: &Own{}}, nil
	}
	_, out, err := c.waits(id, as)
	if err != nil {
		return nil, err
	}
	orders := c.begins(id)
	for _, rival := range c.Names.Rivals(c.Kind, c.About.Key, c.Document) {
		if out.Cause == engine.ConflictRival && rival.Object { // its object goes
			orders.Claim = append(orders.Claim, rival.Document)
		}
	}
	if out.Cause == engine.ConflictUnseen { // what lies inside goes along
		c.Say(engine.Wait{Kind: engine.WaitConfirmed, Since: c.Time.UnixMicro(), Operation: id, By: c.Name(c.Self)})
	}
	c.Became(id, engine.Outcome{State: engine.StatePending, Again: out.Again || !out.Blocks, Let: as == engine.ActionAccept})
	return orders, nil
}

// Done says that this site's application has what an uncertain or refused operation sets.
func (c *Case) Done(id engine.OperationID) (*Orders, error) {
	if c.Flights.OwnIs(id) {
		if !c.ownWaits() {
			return nil, engine.ErrSettled
		}
		return c.ownDone(c.Flights.Own)
	}
	o, out, err := c.waits(id, engine.ActionDone)
	if err != nil {
		return nil, err
	}
	orders := c.begins(id)
	if out.Blocks && (plan.Leaves(c.History, c.Standing, o) || o.Type == engine.TypeAction && c.unsettledBefore(o) != nil) {
		c.Became(id, engine.Outcome{State: engine.StatePending, Ran: true, Again: out.Again})
		return orders, nil
	}
	local := c.Mine.Local
	if o.Type == engine.TypeCreate && local == "" {
		if !c.Kind.Natural() {
			return nil, refuse(http.StatusUnprocessableEntity, "settle", id,
				"the identifier of the %s that it made here is not known; delete it at this site and retry", c.Kind.Name)
		}
		local = c.Names.Here(c.Kind, string(c.About.Key))
	}
	if with := c.Standing.Shown().Or(o); o.Type == engine.TypeDelete && !c.History.Whole(with).Exists {
		local = ""
	}
	c.Became(id, engine.Outcome{State: engine.StateApplied})
	orders.Local, orders.Settle = &local, []*engine.Operation{o}
	return orders, nil
}

// ownDone says that a client's request has run of which a person was asked.
func (c *Case) ownDone(f *flight.Flight) (*Orders, error) {
	reply := engine.Reply{Status: http.StatusOK}
	switch {
	case f.Creates && !c.Kind.Natural():
		return nil, refuse(http.StatusUnprocessableEntity, "settle", f.Operation.ID,
			"the identifier of the %s that it made is not known; drop the operation, delete what it made and issue it again", c.Kind.Name)
	case f.Creates:
		reply.Local = c.Names.Here(c.Kind, string(c.About.Key))
	}
	if merge.Effect(c.Kind, &f.Operation) != nil { // what it has set is still to be seen
		f.Reply, f.Stage = &flight.Landed{Status: reply.Status}, flight.Unknown
		return &Orders{Own: &Own{}}, nil
	}
	return &Orders{Own: &Own{Reply: &reply}}, nil
}

// ownMade says which object a client's create has made, of which a person was asked.
func (c *Case) ownMade(f *flight.Flight, local engine.LocalID) (*Orders, error) {
	switch other := c.Names.Meta(c.Kind, local); {
	case !c.ownWaits():
		return nil, engine.ErrSettled
	case !f.Creates || c.Kind.Natural() || local == "":
		return nil, refuse(http.StatusUnprocessableEntity, "settle", f.Operation.ID, "only of a create whose identifier the application assigns can be said which %s it has made: name that", c.Kind.Name)
	case other != "" && other != c.About.Key:
		return nil, refuse(http.StatusConflict, "exists", f.Operation.ID, "%s %s is the replica of %s already", c.Kind.Name, local, other)
	}
	return &Orders{Own: &Own{Reply: &engine.Reply{Status: http.StatusOK, Local: local}}}, nil
}

// Drop says that an uncertain or refused operation is not to be applied at this site, which differs from the others then.
func (c *Case) Drop(id engine.OperationID) (*Orders, error) {
	if c.Flights.OwnIs(id) {
		if !c.ownWaits() {
			return nil, engine.ErrSettled
		}
		return &Orders{Own: &Own{Dismissed: &engine.OperationStatus{State: engine.StateRejected, At: c.Time, Error: engine.GivenUp}}}, nil
	}
	o, out, err := c.waits(id, engine.ActionDrop)
	if err != nil {
		return nil, err
	}
	if p := c.unsettledBefore(o); p != nil {
		return nil, refuse(http.StatusConflict, "settle", id, "operation %s comes before it and is not settled here: decide what becomes of that first", p.ID)
	}
	c.Became(id, engine.Outcome{State: engine.StateRejected, Status: out.Status, Dropped: true, Error: report.DroppedBecause(out)})
	orders := c.begins(id)
	orders.Settle = []*engine.Operation{o}
	return orders, nil
}

// unsettledBefore returns what the origin of o has issued before it and is not settled here; nil: nothing. What is settled is counted
// by origin, so none is settled before those.
func (c *Case) unsettledBefore(o *engine.Operation) *engine.Operation {
	settled, ordered := c.SettledAt(c.Self), c.History.Ordered()
	i := slices.IndexFunc(ordered, func(p *engine.Operation) bool { return p.Line == o.Line && p.Number < o.Number && !settled.Has(p) })
	if i < 0 {
		return nil
	}
	return ordered[i]
}

// Adopt makes an object that is at this site's application already the replica that a create could not make here. Local is what it is
// called; empty: the identifier that the resource has at every site.
func (c *Case) Adopt(id engine.OperationID, local engine.LocalID) (*Orders, error) {
	if c.Flights.OwnIs(id) {
		return c.ownMade(c.Flights.Own, local)
	}
	o, out, err := c.waits(id, engine.ActionAdopt)
	if err != nil {
		return nil, err
	}
	if o.Type != engine.TypeCreate || !out.Blocks {
		return nil, refuse(http.StatusUnprocessableEntity, "settle", id,
			"only a create that this site's application has refused, or may have done, can adopt an object")
	}
	at := local
	if at == "" && c.Kind.Natural() {
		at = c.Names.Here(c.Kind, string(c.About.Key))
	}
	if at == "" {
		return nil, refuse(http.StatusUnprocessableEntity, "settle", id,
			"the application assigns the identifiers of its %ss: say which object to adopt", c.Kind.Name)
	}
	if other := c.Names.Meta(c.Kind, at); other != "" && other != c.About.Key {
		return nil, refuse(http.StatusConflict, "exists", id, "%s %s is the replica of %s already", c.Kind.Name, at, other)
	}
	c.Became(id, engine.Outcome{State: engine.StatePending, Adopt: at, Error: fmt.Sprintf("%s %s is to become its replica", c.Kind.Name, at)})
	return c.begins(id), nil
}

// Actions lists what a person can decide about an operation at this site now: those of retry, done and drop that would not be answered
// with engine.ErrSettled, what is most likely wanted first.
func (c *Case) Actions(id engine.OperationID) []engine.Action {
	if c.Flights.OwnIs(id) {
		switch {
		case !c.ownWaits():
			return nil // it is under way
		case c.Flights.Own.Creates && !c.Kind.Natural():
			return []engine.Action{engine.ActionRetry, engine.ActionDrop}
		}
		return []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}
	}
	o, out, err := c.waits(id, "")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(report.ConflictAbout(c.View, c.Self, o, out).Actions, func(a engine.Action) bool {
		return a != engine.ActionRetry && a != engine.ActionDone && a != engine.ActionDrop
	})
}
