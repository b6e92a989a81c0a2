package replica

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// Decide is what a person has decided.
type Decide struct {
	What Verb
	// Operation is for VerbRetry, VerbDone, VerbDrop and VerbAdopt, Local beside for VerbAdopt: empty is the identifier that the
	// resource has at every site.
	Operation engine.OperationID
	Local     engine.LocalID
	// Conflict is for VerbDismiss.
	Conflict engine.ConflictID
	// Place is for VerbPlace, Pause for VerbPause: nil ends one. Force is for VerbKeep, By for VerbConfirm.
	Place engine.PlaceRequest
	Pause *engine.Pause
	Force bool
	By    engine.SiteID
	User  string
	// Publish is for VerbPublish: a create whose object is there already.
	Publish *flight.Flight
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
)

// decide does what a person has decided, and answers when it is durable. What is about a request that is just being settled has to wait.
func (r *Replica) decide(d *Decide) {
	if t, settles := r.task.(*settle); settles && d.Operation == r.Own.Operation.ID {
		t.decided = append(t.decided, d)
		return
	}
	var id engine.OperationID
	var err error
	switch d.What {
	case VerbRetry:
		err = r.retry(d.Operation, engine.ActionRetry)
	case VerbAccept:
		err = r.retry(d.Operation, engine.ActionAccept)
	case VerbDone:
		err = r.done(d.Operation)
	case VerbDrop:
		err = r.drop(d.Operation)
	case VerbAdopt:
		err = r.adoptObject(d.Operation, d.Local)
	case VerbDismiss:
		err = r.dismiss(d.Conflict, d.User)
	case VerbDropName:
		err = r.dropName(d.User)
	case VerbPlace:
		id, err = r.place(d.Place)
	case VerbPause:
		err = r.pause(d.Pause)
	case VerbConfirm:
		err = r.confirm(d.By)
	case VerbCheck:
		err = r.check()
	case VerbPublish:
		if err = r.publish(d.Publish, d.Reply, nil); err == nil {
			id = d.Publish.Operation.ID
		}
	case VerbKeep:
		r.asks = append(r.asks, &Ask{keep: d}) // it is its turn once nothing else is under way
		return
	case VerbResume:
		r.Unsay(engine.WaitAside)
		r.again = pace{}
	}
	r.out.Decided = append(r.out.Decided, DecidedOf{d, id, err})
}

// DecidedOf is what came of a decision.
type DecidedOf struct {
	Decide    *Decide
	Operation engine.OperationID
	Err       error
}

// waitsFor returns an operation that waits for a person here to do something about it, with what became of it.
func (r *Replica) waitsFor(id engine.OperationID, what engine.Action) (*engine.Operation, engine.Outcome, error) {
	o := r.History.Get(id)
	if o == nil {
		return nil, engine.Outcome{}, engine.ErrSettled // at every site
	}
	out, ok := r.Mine.Outcomes[id]
	if !ok || !report.Decidable(r.View, o, out) {
		return nil, out, engine.ErrSettled
	}
	return o, out, report.Takes(o, out, what)
}

// decidable reports whether a person can decide about the client's request that is open: who is asked, or sees that this site has tried to
// settle it and could not.
func decidable(r *Replica) bool { return r.Own.Stage == flight.Asked || r.settling.tries > 0 }

// retry sends an uncertain or refused operation to this site's application again, or one that is let in.
func (r *Replica) retry(id engine.OperationID, as engine.Action) error {
	if r.Me.Wait(engine.WaitAside) != nil {
		r.Unsay(engine.WaitAside)
		return nil
	}
	if r.OwnIs(id) {
		if !decidable(r) {
			return engine.ErrSettled // it is under way
		}
		r.Own.Stage = flight.Again
		r.settling = pace{}
		r.openWaits()
		r.Changed()
		return nil
	}
	_, out, err := r.waitsFor(id, as)
	if err != nil {
		return err
	}
	for _, c := range r.env.Rivals(r.Kind, r.About.Key, r.Document) {
		if out.Cause == engine.ConflictRival && c.Object { // its object goes
			r.env.Claim(c.Document)
		}
	}
	r.Became(id, engine.Outcome{State: engine.StatePending, Again: out.Again || !out.Blocks, Let: as == engine.ActionAccept})
	r.begun(id)
	return nil
}

// begun ends what is in flight of an operation about which a person has decided, and has what is left tried at once.
func (r *Replica) begun(id engine.OperationID) {
	if r.Sends(id) {
		r.land()
	}
	r.again = pace{}
	r.Changed()
}

// done says that this site's application has what an uncertain or refused operation sets.
func (r *Replica) done(id engine.OperationID) error {
	if r.OwnIs(id) {
		switch {
		case !decidable(r):
			return engine.ErrSettled
		case r.Own.Creates && !r.Kind.Natural():
			return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: fmt.Sprintf(
				"the identifier of the %s that it made is not known; drop the operation, delete what it made and issue it again", r.Kind.Name)}
		}
		reply := engine.Reply{Status: http.StatusOK}
		if r.Own.Creates {
			reply.Local = r.env.Here(r.Kind, string(r.About.Key))
		}
		if n := merge.Effect(r.Kind, &r.Own.Operation); n != nil { // what it has set is still to be seen
			r.Own.Reply, r.Own.Stage, r.settling.at = &flight.Landed{Status: reply.Status}, flight.Unknown, time.Time{}
			r.Changed()
			return nil
		}
		return r.publish(r.Own, reply, nil)
	}
	o, out, err := r.waitsFor(id, engine.ActionDone)
	if err != nil {
		return err
	}
	if out.Blocks && (plan.Leaves(r.History, r.standing(), o) || o.Type == engine.TypeAction && r.unsettledBefore(o) != nil) {
		r.Became(id, engine.Outcome{State: engine.StatePending, Ran: true, Again: out.Again})
		r.begun(id)
		return nil
	}
	local := r.Mine.Local
	if o.Type == engine.TypeCreate && local == "" {
		if !r.Kind.Natural() {
			return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: fmt.Sprintf(
				"the identifier of the %s that it made here is not known; delete it at this site and retry", r.Kind.Name)}
		}
		local = r.env.Here(r.Kind, string(r.About.Key))
	}
	if with := r.standing().Shown().Or(o); o.Type == engine.TypeDelete && !r.History.Whole(with).Exists {
		local = ""
	}
	r.Became(id, engine.Outcome{State: engine.StateApplied})
	r.begun(id)
	r.setLocal(local)
	r.settle(o)
	return nil
}

// drop says that an uncertain or refused operation is not to be applied at this site, which differs from the others then.
func (r *Replica) drop(id engine.OperationID) error {
	if r.OwnIs(id) {
		if !decidable(r) {
			return engine.ErrSettled
		}
		r.dismissOwn(engine.OperationStatus{State: engine.StateRejected, At: r.env.Now(), Error: "dropped by an operator"})
		return nil
	}
	o, out, err := r.waitsFor(id, engine.ActionDrop)
	if err != nil {
		return err
	}
	if p := r.unsettledBefore(o); p != nil {
		return &engine.Refusal{Status: http.StatusConflict, Type: "settle", Operation: id,
			Detail: fmt.Sprintf("operation %s comes before it and is not settled here: decide what becomes of that first", p.ID)}
	}
	r.Became(id, engine.Outcome{State: engine.StateRejected, Status: out.Status, Dropped: true, Error: report.DroppedBecause(out)})
	r.begun(id)
	r.settle(o)
	return nil
}

// unsettledBefore returns what the origin of o has issued before it and is not settled here; nil: nothing. What is settled is counted
// by origin, so none is settled before those.
func (r *Replica) unsettledBefore(o *engine.Operation) *engine.Operation {
	settled, ordered := r.SettledAt(r.Self), r.History.Ordered()
	i := slices.IndexFunc(ordered, func(p *engine.Operation) bool { return p.Line == o.Line && p.Number < o.Number && !settled(p) })
	if i < 0 {
		return nil
	}
	return ordered[i]
}

// adoptObject makes an object that is at this site's application already the replica that a create could not make here.
func (r *Replica) adoptObject(id engine.OperationID, local engine.LocalID) error {
	o, out, err := r.waitsFor(id, engine.ActionAdopt)
	if err != nil {
		return err
	}
	if o.Type != engine.TypeCreate || !out.Blocks {
		return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id,
			Detail: "only a create that this site's application has refused, or may have done, can adopt an object"}
	}
	at := local
	if at == "" && r.Kind.Natural() {
		at = r.env.Here(r.Kind, string(r.About.Key))
	}
	if at == "" {
		return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "settle", Operation: id, Detail: fmt.Sprintf(
			"the application assigns the identifiers of its %ss: say which object to adopt", r.Kind.Name)}
	}
	if other := r.env.Meta(r.Kind, at); other != "" && other != r.About.Key {
		return &engine.Refusal{Status: http.StatusConflict, Type: "exists", Operation: id,
			Detail: fmt.Sprintf("%s %s is the replica of %s already", r.Kind.Name, at, other)}
	}
	r.Became(id, engine.Outcome{State: engine.StatePending, Adopt: at, Error: fmt.Sprintf("%s %s is to become its replica", r.Kind.Name, at)})
	r.begun(id)
	return nil
}

// dismiss tells all sites of the resource that a person accepts that one of them differs.
func (r *Replica) dismiss(id engine.ConflictID, user string) error {
	all := report.Conflicts(r.View)
	i := slices.IndexFunc(all, func(c engine.Conflict) bool { return c.ID == id && slices.Contains(c.Actions, engine.ActionDismiss) })
	if i < 0 { // it has been settled meanwhile
		return engine.ErrSettled
	}
	d := engine.Decision{Conflict: id, Action: engine.ActionDismiss, By: r.Self, User: user, At: r.env.Now().UnixMicro(), For: all[i].Since.UnixMicro()}
	r.write(engine.Entry{Map: engine.MapDecisions, Value: engine.Encode(&d)})
	return nil
}

// pause makes this site's replica take nothing of other sites; nil ends that. Requests of this site's own clients are served as before, and travel.
func (r *Replica) pause(p *engine.Pause) error {
	if p != nil && r.Part(r.Self) != view.PartMember {
		return &engine.Refusal{Status: http.StatusConflict, Type: "placement", Detail: fmt.Sprintf(
			"%s was removed from the placement of %s %s: there is nothing to pause", r.Name(r.Self), r.Kind.Name, r.About.Key)}
	}
	if p == nil {
		r.Unsay(engine.WaitPaused)
		return nil
	}
	r.Say(engine.Wait{Kind: engine.WaitPaused, Since: p.At.UnixMicro(), Reason: p.Reason, By: p.By})
	return nil
}

// confirm lets the deletion run that is held here, where the site by shares the resource.
func (r *Replica) confirm(by engine.SiteID) error {
	w := r.Me.Wait(engine.WaitHeld)
	if p := r.Part(by); w == nil || p != view.PartMember && p != view.PartLeaving {
		return engine.ErrSettled
	}
	id := w.Operation
	r.Unsay(engine.WaitHeld)
	r.Say(engine.Wait{Kind: engine.WaitConfirmed, Since: r.env.Now().UnixMicro(), Operation: id, By: r.Name(by)})
	r.env.ReleaseDelete(r.Document)
	r.again.at = time.Time{}
	return nil
}

// check has this site, and the others as soon as they hear of it, look at what their applications show.
func (r *Replica) check() error {
	if !r.Holds(r.Self) {
		return fmt.Errorf("have a resource looked at: %w: this site has no replica", engine.ErrNotFound)
	}
	r.Me.Asked = max(r.env.Now().UnixMicro(), r.Me.Asked+1)
	r.look.soon(r.env.Now())
	r.Changed()
	return nil
}

// Decisions lists what a person can decide about an operation at this site now: those of retry, done and drop that would not be
// answered with engine.ErrSettled, what is most likely wanted first.
func (r *Replica) Decisions(id engine.OperationID) []engine.Action {
	if r.OwnIs(id) {
		switch {
		case !decidable(r):
			return nil // it is under way
		case r.Own.Creates && !r.Kind.Natural():
			return []engine.Action{engine.ActionRetry, engine.ActionDrop}
		}
		return []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}
	}
	o, out, err := r.waitsFor(id, "")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(report.ConflictAbout(r.View, r.Self, o, out).Actions, func(a engine.Action) bool {
		return a != engine.ActionRetry && a != engine.ActionDone && a != engine.ActionDrop
	})
}
