package replica

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/decide"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
)

// Decide is what a person has decided.
type Decide struct {
	What Verb
	// Operation is for VerbRetry, VerbDone, VerbDrop and VerbAdopt, Local beside for VerbAdopt: empty is the identifier that the
	// resource has at every site.
	Operation engine.OperationID
	Local     engine.LocalID
	// Conflict is what it is about, where that is known; VerbDismiss and VerbReopen need it.
	Conflict engine.ConflictID
	// Place is for VerbPlace, Pause for VerbPause: nil ends one. Force is for VerbKeep.
	Place engine.PlaceRequest
	Pause *engine.Pause
	Force bool
	By    engine.Decider
	// Publish is for VerbPublish: a create whose object is there already. What it refers to is in Body, and the scope has bound other
	// services to some sites. Local is that object, where it was read: it shows what all parts are to show together.
	Publish *flight.Flight
	Body    []byte
	Bound   map[engine.ServiceName][]engine.SiteID
	Reply   engine.Reply
	// Done is told the operation that it has made, if any, once that is durable.
	Done func(engine.OperationID, error)
}

// Verb is what a person can do about a resource at this site.
type Verb int

const (
	VerbRetry Verb = iota + 1
	VerbDone
	VerbDrop
	VerbAdopt
	VerbDismiss
	VerbDropName
	VerbPlace
	VerbPause
	VerbConfirm
	VerbCheck
	VerbKeep
	// VerbPublish makes a resource of an object that is there, or of a request that has run without one.
	VerbPublish
	VerbResume
	VerbAccept
	VerbReopen
	VerbReject
)

// traced are the verbs that leave a trace in the document, with what people call them. Of the others an operation tells, or the replica itself.
var traced = map[Verb]engine.Action{
	VerbRetry: engine.ActionRetry, VerbResume: engine.ActionRetry, VerbAccept: engine.ActionAccept, VerbDone: engine.ActionDone, VerbDrop: engine.ActionDrop,
	VerbDropName: engine.ActionDrop, VerbAdopt: engine.ActionAdopt, VerbDismiss: engine.ActionDismiss, VerbReopen: engine.ActionReopen,
	VerbKeep: engine.ActionKeep, VerbConfirm: engine.ActionConfirm, VerbReject: engine.ActionReject,
}

// decide does what a person has decided, and answers when it is durable. What is about a request that is just being settled has to wait.
func (r *Replica) decide(d *Decide) {
	if _, settles := r.task.(*settle); settles && d.Operation == r.Own.Operation.ID {
		r.postponed = append(r.postponed, d)
		return
	}
	var orders *decide.Orders
	var err error
	decided := r.Mine.Going // a person decides about it before anybody is asked
	if decided != nil && decided.By != d.Operation || !drift.Decidable(r.View) || d.What != VerbRetry && d.What != VerbDone && d.What != VerbDrop {
		decided = nil
	}
	if decided != nil {
		r.stays()
	}
	c := r.Case()
	c.Standing, c.Time, c.Names, c.NewID = r.standing(), r.env.Now(), r.env, r.env.NewID
	c.Recall(d.Conflict, d.Operation)
	switch d.What {
	case VerbRetry:
		orders, err = c.Retry(d.Operation, engine.ActionRetry)
	case VerbAccept:
		orders, err = c.Retry(d.Operation, engine.ActionAccept)
	case VerbDone:
		orders, err = c.Done(d.Operation)
	case VerbDrop:
		orders, err = c.Drop(d.Operation)
	case VerbAdopt:
		orders, err = c.Adopt(d.Operation, d.Local)
	case VerbDismiss:
		orders, err = c.Dismiss(d.Conflict, engine.ActionDismiss)
	case VerbReopen:
		orders, err = c.Dismiss(d.Conflict, engine.ActionReopen)
	case VerbDropName:
		orders, err = c.DropName(d.By.User)
	case VerbPlace:
		orders, err = c.Place(d.Place)
	case VerbPause:
		orders, err = c.Pause(d.Pause)
	case VerbConfirm:
		orders, err = c.Confirm(d.By.Site, d.Operation)
	case VerbReject:
		orders, err = c.Reject(d.By.Site, d.Operation)
	case VerbCheck:
		orders, err = c.Check()
	case VerbResume:
		orders, err = c.Resume()
	case VerbPublish:
		refers := engine.Operation{Type: engine.TypeCreate, Body: d.Body}
		d.Publish.Operation.Whereabouts = r.env.Whereabouts(r.Kind, d.Publish.Within, &refers, d.Bound)
		if err = r.publish(d.Publish, d.Reply, nil); err == nil && d.Local != "" {
			if r.Mine.Seen = true; issue.Division(r.View, nil) != nil {
				r.Became(d.Publish.Operation.ID, engine.Outcome{State: engine.StatePending, Again: true, Adopt: d.Local}) // it is to show this part's share
			}
		}
		r.decided(d, d.Publish.Operation.ID, err)
		return
	case VerbKeep:
		r.asks = append(r.asks, &Ask{keep: d}) // it is its turn once nothing else is under way
		return
	}
	var id engine.OperationID
	if err == nil {
		id, err = r.carryOut(orders)
	}
	if err == nil && decided != nil {
		r.wentAway()
	}
	if what := traced[d.What]; err == nil && what != "" && !r.Blank() { // else there is no document to tell it
		r.write(c.Trace(what, d.By))
	}
	r.decided(d, id, err)
}

func (r *Replica) decided(d *Decide, made engine.OperationID, err error) {
	r.out.Decided = append(r.out.Decided, DecidedOf{d, made, err})
}

// Case is what is known here of what a person decides about.
func (r *Replica) Case() *decide.Case {
	return &decide.Case{View: r.View, Flights: &r.Flights, Tried: r.settling.tries > 0}
}

// carryOut does what a decision comes to, and names the operation that it has issued.
func (r *Replica) carryOut(o *decide.Orders) (issued engine.OperationID, err error) {
	for _, rival := range o.Claim {
		r.env.Claim(rival, true)
	}
	if o.Land {
		r.land()
	}
	if o.Retry {
		r.again = pace{}
	}
	if o.Local != nil {
		r.setLocal(*o.Local)
	}
	r.settle(o.Settle...)
	if o.Look {
		r.look.Soon(r.env.Now())
	}
	if o.Release {
		r.env.ReleaseDelete(r.Document)
	}
	if o.Issue != nil {
		issued = o.Issue.ID
		if _, err := r.issue(o.Issue); err != nil {
			return "", err
		}
	}
	r.Changed()
	return issued, r.carryOutOwn(o.Own)
}

// carryOutOwn does what a decision comes to about the client's request that is open.
func (r *Replica) carryOutOwn(o *decide.Own) error {
	switch {
	case o == nil:
	case o.Reply != nil:
		return r.publish(r.Own, *o.Reply, nil)
	case o.Dismissed != nil:
		r.dismissOwn(*o.Dismissed)
	default:
		r.settling = pace{}
		r.openWaits()
	}
	return nil
}

// DecidedOf is what came of a decision.
type DecidedOf struct {
	Decide    *Decide
	Operation engine.OperationID
	Err       error
}
