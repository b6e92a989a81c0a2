package replica

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// own runs a request of this site's clients at this site's replica, with its caller's own credentials, and makes an operation of it.
type own struct {
	ask      *Ask
	flight   *flight.Flight
	before   merge.Fold
	local    engine.LocalID
	division *merge.Division
	creates  bool // it makes the resource, which is not there
	named    bool
	phase    ownPhase
	shown    []byte // what the application showed before; nil: not read
	unread   error
	reply    engine.Reply
	answered *Answered
}

type ownPhase int

const (
	ownLost  ownPhase = iota + 1 // whether the object that is to be there still is
	ownReads                     // what the application shows before
	ownSends                     // the request
	ownSees                      // what it shows after
)

func (t *own) begin(r *work) bool {
	if a := t.ask; r.History.Get(a.Operation) != nil {
		return t.arrived(r)
	}
	if t.ask.Restore == nil && t.ask.Request.Creates() && r.Exists() { // it would lack what had been set before, if the object has vanished
		switch {
		case r.Mine.Local == "" && r.Standing(r.Self).Unmade(r.History) && !r.Yields(r.Self):
			return t.refuse(r, issue.Lost(r.Kind))
		case r.Mine.Local == "":
		case t.ask.Request.Type == engine.TypeCreate || len(r.standing().Whole(r.History).Absolute) > 0:
			t.phase = ownLost
			return r.call(t.client(r.readCall(r.Mine.Local)))
		}
	}
	return t.prepare(r)
}

func (t *own) client(c *Call) *Call {
	c.Client = true
	return c
}

// arrived answers a request whose operation has come here in its document already, which sees to it that it runs here.
func (t *own) arrived(r *work) bool {
	o := r.History.Get(t.ask.Operation)
	a := engine.Answer{Status: http.StatusAccepted, Operation: o.ID, Resource: r.About.Key, Header: r.after(nil, o)}
	if r.Settled(r.Self, o) {
		if a.Status = report.OperationStatus(r.View, r.Self, o).Status; a.Status == 0 {
			a.Status = http.StatusOK
		}
	}
	r.give(t.ask, Given{Answer: a, Presented: true})
	return true
}

// refuse ends the task: nothing has happened.
func (t *own) refuse(r *work, err error) bool {
	t.free(r)
	r.give(t.ask, Given{Err: err})
	return true
}

func (t *own) free(r *work) {
	if t.named {
		r.env.FreeName(r.Kind, r.About.Key, r.Document)
		t.named = false
	}
}

// prepare finds out what the request changes, and whether it may.
func (t *own) prepare(r *work) bool {
	a, q := t.ask, &t.ask.Request
	standing := r.standing()
	if r.History.Len() >= engine.MaxOperations {
		return t.refuse(r, &engine.Refusal{Status: http.StatusInsufficientStorage, Type: "storage", Detail: fmt.Sprintf(
			"%s %s takes no more: %s; nothing has happened", r.Kind.Name, r.About.Key, report.Crowded(r.View))})
	}
	t.before = standing.Whole(r.History)
	if t.before.Exists {
		t.local = r.Mine.Local
	}
	if a.Creates {
		if done := t.creation(r); done {
			return true
		}
	} else if t.local == "" {
		return t.refuse(r, t.noObject(r))
	}
	op := engine.Operation{ID: a.Operation, Type: q.Type, Method: q.Method, Path: q.Path, Query: q.Query, Header: q.Header, Body: q.Body,
		Blob: a.Blob, User: q.User, Asker: q.Asker, Scope: q.Scope, Line: r.Line, Origin: r.Self, Epoch: r.Current().Number}
	if a.Blob != nil { // what is to be looked into stays with the request
		op.Body = nil
	}
	if t.creates {
		op.Type = engine.TypeCreate
	}
	if n := r.Kind.Named(q.Method, q.Path, q.Body); n != nil {
		op.Name = n.Name
	}
	t.flight = &flight.Flight{Operation: op, Line: r.Line, Epoch: op.Epoch, Creates: t.creates, Credentials: q.Credentials, Within: q.Within, Keys: a.Keys, After: a.After}
	if !t.creates {
		grows, err := issue.Growth(r.View, q)
		if err != nil {
			return t.refuse(r, err)
		}
		if len(grows) > 0 {
			t.flight.Grows, t.flight.Placing, t.flight.Forced = grows, engine.OperationID(r.env.NewID()), q.Forced
		}
	}
	return t.read(r, a.Restore != nil || t.local != "" && !t.creates && plan.NeedsBefore(r.Kind, &t.flight.Operation))
}

// noObject says why there is nothing to change.
func (t *own) noObject(r *work) error {
	if r.Exists() && !r.Yields(r.Self) {
		return &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica", Detail: fmt.Sprintf(
			"%s has no replica of %s %q now; nothing has happened here", r.Name(r.Self), r.Kind.Name, r.About.Key)}
	}
	return &engine.Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %s was deleted", r.Kind.Name, r.About.Key)}
}

// creation prepares a request that makes the resource. It reports whether the task is over.
func (t *own) creation(r *work) bool {
	q := &t.ask.Request
	if r.Kind.Natural() {
		if !r.env.TakeName(r.Kind, r.About.Key, r.Document) { // it comes again when the name is free
			r.asks = append([]*Ask{t.ask}, r.asks...)
			r.nameWaits = true
			return true
		}
		t.named = true
		for _, c := range r.env.Rivals(r.Kind, r.About.Key, r.Document) {
			switch {
			case c.Going:
				return t.awaitsGone(r)
			case c.Object:
				return t.refuse(r, &engine.Refusal{Status: http.StatusConflict, Type: "exists",
					Detail: fmt.Sprintf("%s %s has just been created by somebody else; nothing has happened", r.Kind.Name, r.About.Key)})
			case c.Maybe:
				return t.refuse(r, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Detail: fmt.Sprintf(
					"an earlier request that may have made %s %s has had no certain answer yet; nothing has happened", r.Kind.Name, r.About.Key)})
			}
		}
	}
	switch {
	case r.Yields(r.Self):
		return t.refuse(r, &engine.Refusal{Status: http.StatusConflict, Type: "exists",
			Detail: fmt.Sprintf("another resource is called %s %s, and was created earlier; nothing has happened", r.Kind.Name, r.About.Key)})
	case t.local != "" && q.Type != engine.TypeCreate: // an earlier request has made it meanwhile
	default:
		t.creates = true
		t.local = r.env.Addressed(r.Kind, q.Target, q.Within)
	}
	return false
}

// read reads what the application shows before, where that is needed, and goes on.
func (t *own) read(r *work, needed bool) bool {
	if needed && t.shown == nil && t.unread == nil {
		t.phase = ownReads
		return r.call(t.client(r.readCall(t.local)))
	}
	return t.fix(r)
}

// fix computes what the operation sets, and sends it.
func (t *own) fix(r *work) bool {
	o, q, k := &t.flight.Operation, &t.ask.Request, r.Kind
	if q := t.ask.Restore; q != nil {
		lost, err := report.LostValue(r.View, q)
		if err == nil {
			err = issue.Restore(r.View, o, q.Path, lost, t.shown, t.unread)
		}
		if err != nil {
			return t.refuse(r, err)
		}
	}
	t.division = issue.Division(r.View, t.flight.Grows)
	t.division.Complete(o, t.before)
	refers := *o
	if o.Blob != nil {
		refers.Body = q.Body
	}
	o.Whereabouts = r.env.Whereabouts(k, q.Within, &refers, q.Bound)
	again, err := t.edit(r)
	switch {
	case again:
		return t.read(r, true)
	case err != nil:
		return t.refuse(r, err)
	}
	if err := t.inDoubt(r); err != nil {
		return t.refuse(r, err)
	}
	if t.unread != nil {
		return t.refuse(r, issue.Hidden(r.Kind, t.unread)) // later it may show it, and what o sets would never be known
	}
	if t.division != nil && o.Blob == nil {
		sent, err := t.division.Body(o, t.before)
		if err != nil {
			return t.refuse(r, err)
		}
		if string(sent) != string(o.Body) {
			t.flight.Sent = sent
		}
	}
	if err := issue.TooLarge(o); err != nil {
		return t.refuse(r, err)
	}
	if plan.NeedsBefore(k, o) {
		t.flight.Shown = t.shown
	}
	return t.send(r)
}

// edit computes what the operation sets. Again: what the application shows has to be read first.
func (t *own) edit(r *work) (again bool, err error) {
	o := t.flight.Operation
	if o.Body == nil {
		o.Body = t.ask.Request.Body
	}
	err = issue.Edit(r.Kind, &o, t.before, func() ([]byte, error) {
		switch {
		case t.shown != nil:
			return t.shown, nil
		case t.unread != nil:
			return nil, t.unread
		}
		return nil, issue.ErrUnread
	})
	if errors.Is(err, issue.ErrUnread) {
		return true, nil
	}
	t.flight.Operation.Type, t.flight.Operation.Edit = o.Type, o.Edit
	return false, err
}

// send sends the request; it is on disk by then.
func (t *own) send(r *work) bool {
	o := &t.flight.Operation
	t.flight.Stage, t.flight.Since = flight.Declared, r.env.Now().UnixMicro()
	t.flight.Early = t.flight.Sure(r.Kind, issue.Marks(r.Kind, t.flight.Body()))
	t.flight.Key = flight.FirstKey(r.View, o)
	if !t.creates {
		t.flight.Key = flight.KeyTo(r.View, o, r.Mine.Made)
	}
	r.Own = t.flight
	r.Changed()
	t.phase = ownSends
	return r.call(t.client(r.sendCall(t.flight.Body(), t.local, t.flight.Key, t.flight.Credentials)))
}

func (t *own) answer(r *work, in *Answered) bool {
	switch t.phase {
	case ownLost:
		if in.Err != nil || in.Reply.Status >= 500 {
			return t.refuse(r, issue.Hidden(r.Kind, errors.New(plan.Tell(in.Reply, in.Err))))
		}
		if in.Reply.Gone() {
			if drift.Ends(r.View) { // whether it has ended is seen in a while
				r.look.Soon(r.env.Now())
				return t.refuse(r, issue.Ending(r.Kind))
			}
			r.vanished(r.Mine.Local)
			if t.ask.Again() {
				return t.refuse(r, issue.Lost(r.Kind))
			}
			r.asks = append([]*Ask{t.ask}, r.asks...) // the object is made anew first, then it is its turn
			return true
		}
		return t.prepare(r)
	case ownReads:
		switch {
		case in.Err == nil && in.Reply.Gone() && t.ask.Restore == nil && !r.Mine.Seen: // it may show later what it has made; before that nothing would tell whether it ran
			t.free(r)
			r.look.Soon(r.env.Now())
			r.give(t.ask, Given{Answer: in.Reply.Answer()})
			return true
		case in.Err == nil && in.Reply.Status == 200:
			t.shown = in.Presented.Body
		case in.Err == nil && in.Reply.Status < 500: // it shows nothing, and never will
			t.shown = []byte{}
		default:
			t.unread = errors.New(plan.Tell(in.Reply, in.Err))
		}
		return t.fix(r)
	case ownSends:
		return t.heard(r, in)
	}
	return t.see(r, in)
}

// heard takes in the answer to the request.
func (t *own) heard(r *work, in *Answered) bool {
	o, reply := &t.flight.Operation, in.Reply
	t.reply, t.answered = reply, in
	t.flight.Attempt++
	t.flight.Answered = in.Err == nil
	switch plan.Judge(o.Type, reply, in.Err) {
	case plan.Done:
		if h := r.env.Halted(r.Kind); h != nil {
			r.env.Report(r.Kind, r.Document, reply, nil, true)
		}
		return t.done(r)
	case plan.Unknown:
		return t.unknown(r, fmt.Sprintf("the application's service %s gave no certain answer (%s)", r.Kind.Service, plan.Tell(reply, in.Err)), plan.Tell(reply, in.Err), in.Err)
	}
	r.Own = nil // nothing has happened
	r.out.Settles = true
	r.Changed()
	t.free(r)
	if t.local != "" && reply.Gone() && in.Err == nil {
		r.look.Soon(r.env.Now())
	}
	if in.Err != nil {
		r.give(t.ask, Given{Err: &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: in.Err, Detail: fmt.Sprintf(
			"the application's service %s at %s cannot be reached; nothing has happened", r.Kind.Service, r.Name(r.Self))}})
		return true
	}
	r.give(t.ask, Given{Answer: reply.Answer()})
	return true
}

// unknown leaves it to settle to find out what came of the request.
func (t *own) unknown(r *work, detail, why string, err error) bool {
	o := &t.flight.Operation
	t.flight.Stage, t.flight.Why, t.flight.Early = flight.Unknown, why, false
	r.Own = t.flight
	r.settling.tries = 0
	r.settling.at = r.env.Now().Add(r.limits.RetryMin)
	r.wake(r.settling.at)
	r.openWaits()
	r.Changed()
	t.free(r)
	r.give(t.ask, Given{Err: &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Operation: o.ID, Err: err,
		Detail: detail + "; the operation will be settled"}})
	return true
}

// done goes on after the application has done it: what it has set may have to be seen.
func (t *own) done(r *work) bool {
	if !t.creates && plan.NeedsAfter(r.Kind, &t.flight.Operation) {
		t.phase = ownSees
		return r.call(t.client(r.readCall(t.local)))
	}
	return t.publish(r, nil)
}

// see goes on with what the application shows after the request.
func (t *own) see(r *work, in *Answered) bool {
	shows, err := seen(in)
	if err != nil {
		t.flight.Reply = &flight.Landed{Status: t.reply.Status, Body: t.reply.Body, Local: t.reply.Local}
		return t.unknown(r, "the application has done it, and this site could not see what it has set", "see what it has done: "+err.Error(), err)
	}
	return t.publish(r, shows)
}

// seen is what a read has shown, nothing where there is no object.
func seen(in *Answered) ([]byte, error) {
	switch {
	case in.Err != nil:
		return nil, in.Err
	case in.Reply.Status == 200:
		return in.Presented.Body, nil
	case in.Reply.Gone():
		return nil, nil
	}
	return nil, fmt.Errorf("it answered %s", plan.Code(in.Reply.Status))
}

// publish makes the operation one that other sites get, and answers.
func (t *own) publish(r *work, shows []byte) bool {
	f := t.flight
	if err := r.publish(f, t.reply, shows); err != nil {
		return t.unknown(r, "the application has done it, and "+err.Error(), err.Error(), err)
	}
	t.free(r)
	answer := t.reply.Answer()
	answer.Operation, answer.Resource = f.Operation.ID, r.About.Key
	answer.Header = r.after(answer.Header, r.History.Get(f.Operation.ID))
	given := Given{Answer: answer, Early: f.Early}
	if d, o, before := t.division, f.Operation, t.before; d != nil {
		given.Finish = func(a engine.Answer) engine.Answer {
			if o.Edit != nil {
				a.Body = d.Present(&o, before, a.Body)
			}
			return a
		}
	}
	r.give(t.ask, given)
	if t.answered != nil && r.Own == nil {
		r.saw(t.answered)
	}
	return true
}

// after tells in the header of an answer what its client is to send back to see at other sites what o has done.
func (r *work) after(h http.Header, o *engine.Operation) http.Header {
	if h = h.Clone(); h == nil {
		h = http.Header{}
	}
	h.Set(engine.HeaderAfter, engine.MakeAfter(r.Document, o, r.Placement().Sites).String())
	return h
}

var errUntold = errors.New("the answer does not tell the new resource's identifier; check the catalog")

// publish makes an operation of a client's request that the application has done: it is settled here, and other sites get it. Shows
// is what the application shows after it, where that was to be seen.
func (r *work) publish(f *flight.Flight, reply engine.Reply, shows []byte) error {
	o := f.Operation
	local := r.Mine.Local
	if f.Creates {
		if local = reply.Local; local == "" && r.Kind.Natural() {
			local = r.env.Here(r.Kind, string(r.About.Key))
		}
		if local == "" {
			return errUntold
		}
		issue.Found(r.Kind, &o, reply.Status)
		if len(r.Me.Settled) > 0 { // a person may have had it sent again after the rest was settled
			putAgain(r)
		}
	} else if plan.NeedsAfter(r.Kind, &o) || merge.Effect(r.Kind, &o) != nil {
		issue.Witness(r.View, &o, f.Grows, r.standing().Whole(r.History), f.Shown, shows)
	}
	settled := []*engine.Operation{}
	o.Time = max(o.Time, f.After)
	var entries []engine.Entry
	if p := r.grow(f, &o); p != nil {
		entries, settled = append(entries, issue.Entry(p)), append(settled, p)
		r.write(entries...)
		r.sharedAnew(p)
	}
	issue.Stamp(r.View, &o)
	r.write(issue.Entry(&o))
	now := r.History.At(r.Line, o.Number) // another site may have run it as well, under the same identifier
	if now == nil {
		return fmt.Errorf("operation %s: %w", o.ID, engine.ErrRefused)
	}
	settled = append(settled, now)
	r.Tried(o.ID, reply.Status, "")
	if o.Type == engine.TypeDelete {
		drift.Leave(r.View, local, o.ID, reply, r.env.Now())
		local = ""
	}
	r.Own = nil
	r.out.Settles = true
	r.UnsayOf(o.ID, engine.WaitAnswer, engine.WaitPerson)
	r.setLocal(local)
	r.settle(settled...)
	view.MovedUp(r.View, r.History.Get(o.ID))
	if d := issue.Division(r.View, nil); o.Type == engine.TypeAction && d.Divides(now) && len(d.Stated(now)) == 0 { // it has run on this part alone: what it sets is to be shared
		r.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true, Ran: true})
	}
	reply.Header = r.after(reply.Header, now)
	r.out.Answers = append(r.out.Answers, flight.Remember(f.Keys, r.Kind, reply, o.ID, r.About.Key, r.env.Now())...)
	return nil
}

// grow makes the placement operation that goes before an operation whose scope has named more sites; nil: there is none.
func (r *work) grow(f *flight.Flight, o *engine.Operation) *engine.Operation {
	add := slices.DeleteFunc(slices.Clone(f.Grows), r.Holds)
	if len(add) == 0 {
		return nil
	}
	p := issue.Placing(f.Placing, &engine.PlacementChange{Add: add, Forced: f.Forced}, o.User)
	p.Asker, p.Scope = o.Asker, o.Scope
	issue.Stamp(r.View, p)
	o.Time = max(o.Time, p.Time+1)
	return p
}

// inDoubt refuses a request that would take back what an action of another site may have set, of which there was no certain answer.
// Nor is a number begun that such an action may have added to.
func (t *own) inDoubt(r *work) error {
	step := plan.Step{Kind: plan.StepRun, Operations: []*engine.Operation{plan.Foreseen(r.Kind, &t.flight.Operation, t.before)}}
	if a := plan.InTheWay(r.History, r.standing(), step); a != nil {
		return issue.Unanswered(a.ID)
	}
	return nil
}

// Again reports whether the request has been put off once already.
func (a *Ask) Again() bool {
	again := a.putOff
	a.putOff = true
	return again
}
