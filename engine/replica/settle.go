package replica

import (
	"cmp"
	"errors"
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

// settle finds out what came of a client's request that had no certain answer: by looking where that tells, by sending it again
// where that is safe, else a person is asked.
type settle struct {
	local  engine.LocalID
	named  bool
	person bool // who has said that it is to be sent again: that counts for one try
	phase  settlePhase
	reply  engine.Reply
}

type settlePhase int

const (
	settleFinds settlePhase = iota + 1 // for a marker
	settleLooks                        // for what a create has made, or for a declared effect
	settleSends
	settleSees  // what it has set
	settleAgain // for what a first try has left, since the second was refused
)

func (t *settle) begin(r *work) bool {
	f := r.Own
	o := &f.Operation
	t.person = f.Stage == flight.Again
	t.local = r.Mine.Local
	if f.Creates {
		t.local = r.env.Addressed(r.Kind, "", f.Within)
		if r.Kind.Natural() {
			t.local = r.env.Here(r.Kind, string(r.About.Key))
		}
	}
	if f.Reply != nil { // it has run; what it has set is to be seen
		t.reply = engine.Reply{Status: f.Reply.Status, Body: f.Reply.Body, Local: f.Reply.Local}
		return t.done(r)
	}
	if f.Creates && t.taken(r) { // whoever has made that has found the name free
		t.reply = engine.Reply{Status: http.StatusConflict}
		return t.dismiss(r, "another resource of this name has been made meanwhile")
	}
	if t.person || plan.Resendable(r.Kind, o) {
		return t.send(r)
	}
	switch _, marks := issue.Marked(r.Kind, f.Body(), flight.FirstKey(r.View, o)); {
	case marks:
		t.phase = settleFinds
		return r.call(&Call{Kind: CallFind, Call: engine.Call{Kind: r.Kind}, Request: flight.FirstKey(r.View, o)})
	case o.Type == engine.TypeCreate && r.Kind.Natural(), !f.Creates && (f.Shown != nil || !plan.NeedsBefore(r.Kind, o)) && merge.Effect(r.Kind, o) != nil:
		t.phase = settleLooks
		return r.call(r.readCall(t.local))
	}
	return t.ask(r, flight.Unseen)
}

// taken reports whether another resource of the name has an object here.
func (t *settle) taken(r *work) bool {
	return r.Kind.Natural() && slices.ContainsFunc(r.env.Rivals(r.Kind, r.About.Key, r.Document), func(c view.Claim) bool { return c.Object })
}

// send sends the request once more, with its caller's own credentials.
func (t *settle) send(r *work) bool {
	f := r.Own
	if f.Creates && r.Kind.Natural() && !t.named {
		if t.named = r.env.TakeName(r.Kind, r.About.Key, r.Document); !t.named {
			return t.retry(r)
		}
	}
	if t.person {
		f.Stage = flight.Unknown
	}
	f.Since, f.Answered = r.env.Now().UnixMicro(), false
	r.Changed()
	t.phase = settleSends
	return r.call(r.sendCall(f.Body(), t.local, f.Key, f.Credentials))
}

func (t *settle) over(r *work) bool {
	if t.named {
		r.env.FreeName(r.Kind, r.About.Key, r.Document)
		t.named = false
	}
	return true
}

// retry has it tried again later. Clients do not wait for that.
func (t *settle) retry(r *work) bool {
	r.settling.tries++
	r.settling.at = r.env.Now().Add(r.env.Backoff(r.settling.tries))
	r.wake(r.settling.at)
	r.refuseAll(issue.Unanswered(r.Own.Operation.ID))
	r.openWaits()
	return t.over(r)
}

// ask leaves it to a person.
func (t *settle) ask(r *work, why string) bool {
	r.Own.Stage, r.Own.Why = flight.Asked, why
	r.openWaits()
	r.refuseAll(issue.Unanswered(r.Own.Operation.ID))
	r.Changed()
	return t.over(r)
}

func (t *settle) answer(r *work, in *Answered) bool {
	switch t.phase {
	case settleFinds:
		return t.found(r, flight.ByMarker(in.List, in.Err, r.Own.UnderWay(r.env.Now(), r.limits.CallTimeout)), nil)
	case settleLooks:
		return t.found(r, t.looked(r, in), in.Presented.Body)
	case settleSends:
		return t.heard(r, in)
	case settleSees:
		shows, err := seen(in)
		if err != nil {
			return t.retry(r)
		}
		return t.publish(r, shows)
	}
	return t.refusedAgain(r, in)
}

// found goes on with what a look has found out.
func (t *settle) found(r *work, f flight.Finding, shows []byte) bool {
	switch f.Fate {
	case flight.Happened:
		t.reply = f.Reply
		return t.publish(r, shows)
	case flight.Untold:
		return t.ask(r, f.Why)
	case flight.Absent:
		return t.send(r)
	}
	return t.retry(r)
}

// looked tells by what the application shows: of what a create has made, or of a declared effect.
func (t *settle) looked(r *work, in *Answered) flight.Finding {
	f := r.Own
	if f.Creates {
		shown := in.Presented
		if in.Reply.Status != http.StatusOK { // only what is shown is translated
			shown = in.Reply
		}
		return flight.ByName(r.Kind, f.Body().Body, r.History.Nothing(), t.local, shown, in.Err)
	}
	return f.ByEffect(r.Kind, in.Reply, in.Presented.Body, in.Err, f.UnderWay(r.env.Now(), r.limits.CallTimeout))
}

func (t *settle) heard(r *work, in *Answered) bool {
	f, reply := r.Own, plan.Answer(in.Reply, in.Err)
	f.Attempt++
	f.Answered = in.Err == nil
	t.reply = reply
	switch found := flight.Resent(r.Kind, &f.Operation, t.person, reply, in.Err); found.Fate {
	case flight.Happened:
		return t.done(r)
	case flight.Refused:
		t.phase = settleAgain
		return r.call(r.readCall(t.local))
	case flight.Dismissed:
		return t.dismiss(r, found.Why)
	case flight.Untold:
		return t.ask(r, found.Why)
	case flight.Unsent:
		if t.person && !plan.Resendable(r.Kind, &f.Operation) { // the try is still to come
			f.Stage = flight.Again
		}
	case flight.Later:
		if r.settling.tries >= flight.FewTries && flight.Failed(reply, in.Err) {
			t.phase = settleAgain
			return r.call(r.readCall(t.local))
		}
		if r.settling.tries >= flight.MostTries { // it was tried for five minutes
			return t.ask(r, plan.Tell(reply, in.Err))
		}
	}
	return t.retry(r)
}

func (t *settle) done(r *work) bool {
	if f := r.Own; !f.Creates && plan.NeedsAfter(r.Kind, &f.Operation) {
		t.phase = settleSees
		return r.call(r.readCall(t.local))
	}
	return t.publish(r, nil)
}

// refusedAgain decides about what was refused though an earlier try of it may have been done.
func (t *settle) refusedAgain(r *work, in *Answered) bool {
	mine, _ := issue.Division(r.View, r.Own.Grows).Mine(&r.Own.Operation, r.standing().Whole(r.History))
	switch found := r.Own.ByRefusal(r.Kind, mine.Edit, t.reply, in.Reply, in.Presented.Body, in.Err); {
	case found.Fate != flight.Happened && r.Own.Premature(t.reply, in.Reply) && r.settling.tries < flight.FewTries:
		return t.retry(r)
	case found.Fate == flight.Dismissed:
		return t.dismiss(r, found.Why)
	case found.Fate == flight.Happened && merge.Effect(r.Kind, &r.Own.Operation) == nil:
		t.reply = engine.Reply{Status: http.StatusOK, Local: t.local}
		return t.done(r)
	default:
		return t.found(r, found, in.Presented.Body)
	}
}

func (t *settle) publish(r *work, shows []byte) bool {
	switch err := r.publish(r.Own, t.reply, shows); {
	case errors.Is(err, errUntold) && r.settling.tries < flight.FewTries: // as after the first try: what stands between may have answered
		return t.retry(r)
	case err != nil:
		return t.ask(r, err.Error())
	}
	return t.over(r)
}

// dismiss ends a request of which nothing came.
func (t *settle) dismiss(r *work, why string) bool {
	r.dismissOwn(engine.OperationStatus{State: engine.StateRejected, Status: t.reply.Status, Error: why, At: r.env.Now()})
	return t.over(r)
}

// dismissOwn ends the client's request that is open, of which nothing came.
func (r *work) dismissOwn(st engine.OperationStatus) {
	f, status := r.Own, cmp.Or(st.Status, http.StatusConflict)
	r.out.Answers = append(r.out.Answers, flight.Remember(f.Keys, r.Kind, engine.Reply{Status: status, Body: []byte(st.Error)}, f.Operation.ID, "", r.env.Now())...)
	r.out.Rows = append(r.out.Rows, report.FlightRow(r.View, f, st))
	r.out.Events = append(r.out.Events, report.Event("operation."+string(st.State), string(f.Operation.ID), r.env.Now(), map[string]any{"operation": f.Operation.ID, "service": r.Kind.Service,
		"kind": r.Kind.Name, "type": f.Operation.Type, "site": r.Name(r.Self), "state": st.State, "status": st.Status, "error": st.Error}))
	r.UnsayOf(f.Operation.ID, engine.WaitAnswer, engine.WaitPerson)
	r.Own = nil
	r.out.Settles = true
	r.Changed()
}

// openWaits says that a client's request has had no certain answer: at once where a person is asked, else once it is no mere delay,
// and before any look can make a drift of what it may have changed.
func (r *work) openWaits() {
	f := r.Own
	if f == nil {
		return
	}
	st := engine.OperationStatus{State: engine.StatePending, At: r.env.Now(), Attempts: f.Attempt, Error: f.Why}
	kind, reason := engine.WaitAnswer, f.Unanswered()
	if f.Stage == flight.Asked {
		kind, reason, st.State = engine.WaitPerson, f.Question(), engine.StateUncertain
		r.Unsay(engine.WaitAnswer)
	} else {
		r.Unsay(engine.WaitPerson)
	}
	r.out.Rows = append(r.out.Rows, report.FlightRow(r.View, f, st))
	told := engine.Time(f.Since).Add(drift.Firm / 2 * r.limits.LookAfter)
	if kind == engine.WaitAnswer && r.env.Now().Before(told) {
		r.wake(told)
		return
	}
	r.Say(engine.Wait{Kind: kind, Since: f.Since, Reason: reason, Operation: f.Operation.ID})
}
