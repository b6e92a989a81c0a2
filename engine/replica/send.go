package replica

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// send sends an operation of another site as its caller sent it, or the create that makes the object anew.
type send struct {
	step  plan.Step
	o     *engine.Operation
	local engine.LocalID // of the object, or under which it is looked for
	key   string
	// careful says that a flight is declared first; maybe, that an earlier try may have been done.
	careful, sent, maybe bool
	declared, named      bool // this task has declared it, has the name
	phase                sendPhase
	reply                engine.Reply
	// match is the tag of what the application has shown, where it asks for one (428); asked says that it has.
	match string
	asked bool
}

type sendPhase int

const (
	sendLooks  sendPhase = iota + 1 // for an object under the chosen identifier
	sendFinds                       // for a marker
	sendTraces                      // for what the operation sets, as its origin has seen it
	sendWaits                       // for the application to come to an end with what it does by itself
	sendSends                       // the request
	sendReads                       // for the tag that the application asks for
	sendHolds                       // for the content, which was refused
	sendMeets                       // for what is in the way
	sendGone                        // for whether the object is still there
	sendAgain                       // for what a first try has left, since the second was refused
)

func (t *send) begin(r *work) bool {
	t.o = t.step.Sends()
	o, k := t.o, r.Kind
	if holdsUnknown(r, o) {
		return true
	}
	t.local = r.Mine.Local
	if t.step.Kind == plan.StepMake {
		t.local = ""
	}
	if o.Type == engine.TypeCreate && k.Natural() {
		if !r.env.TakeName(k, r.About.Key, r.Document) {
			r.nameWaits = true
			r.again.at = r.env.Now().Add(r.env.Backoff(1))
			r.wake(r.again.at)
			return true
		}
		t.named = true
		if t.local == "" && t.nameBusy(r) {
			return t.over(r)
		}
		t.local = r.env.Here(k, string(r.About.Key))
	}
	if at := r.Mine.Outcomes[o.ID].Adopt; at != "" && o.Type == engine.TypeCreate {
		t.over(r)
		r.task = &adopt{step: t.step, o: o, local: at}
		return r.task.begin(r)
	}
	looks := o.Type == engine.TypeCreate && k.Natural() && o.Method != "POST" && r.Mine.Local == ""
	t.careful = looks || !plan.Resendable(k, o) || t.step.Kind == plan.StepMake
	t.sent = r.Sends(o.ID)
	t.key = flight.KeyFor(r.View, &r.Flights, o, t.step)
	switch {
	case t.sent && o.Type == engine.TypePatch && t.careful: // what it sets may be set again, the patch may not
		t.over(r)
		r.task = &correct{step: plan.SetAgain(r.History, r.standing(), o), operation: o}
		return r.task.begin(r)
	case looks && (!t.sent || r.Sent.Looking):
		if !t.sent && r.Dirty { // what has come and what follows of it are one commit
			t.declare(r, true)
		}
		return t.lookFor(r)
	case t.sent && !plan.Resendable(k, o), !t.sent && r.Resumed && issue.Marks(r.Kind, o):
		return t.lookFor(r)
	}
	if k.Settles != nil && len(k.Settles.In) > 0 && t.local != "" && o.Type != engine.TypeCreate && o.Type != engine.TypeDelete {
		t.phase = sendWaits
		return r.call(r.readCall(t.local))
	}
	return t.dispatch(r)
}

// holdsUnknown holds an operation that is to be done with the rights of who asked, where nobody knows who did, and the rules have been others
// when it was taken in.
func holdsUnknown(r *work, o *engine.Operation) bool {
	who, as := view.WithRightsOf(r.View, o)
	if who != nil || as == engine.AsAgent {
		return false
	}
	r.fail(o, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictNotAccepted,
		Error: fmt.Sprintf("%s does this with the rights of who asked, and nobody knows who did", r.Name(r.Self))})
	return true
}

// declare has it on disk that the request goes out; looking: if nothing is there.
func (t *send) declare(r *work, looking bool) {
	t.declared, r.Sent = true, flight.Of(t.step, t.o, t.key, r.env.Now())
	r.Sent.Looking = looking
	r.out.Flies = true
}

// over ends the task: the name is free again.
func (t *send) over(r *work) bool {
	if t.named {
		r.env.FreeName(r.Kind, r.About.Key, r.Document)
		t.named = false
	}
	return true
}

// lookFor finds out whether a create that may have been sent before has made something.
func (t *send) lookFor(r *work) bool {
	switch {
	case issue.Marks(r.Kind, t.o):
		t.phase = sendFinds
		return r.call(&Call{Kind: CallFind, Call: engine.Call{Kind: r.Kind}, Request: t.key})
	case t.o.Type != engine.TypeCreate && merge.Effect(r.Kind, t.o) != nil && !t.o.Edit.Empty() && t.local != "":
		t.phase = sendTraces
		return r.call(r.readCall(t.local))
	case t.o.Type != engine.TypeCreate || !r.Kind.Natural():
		r.fail(t.o, engine.Outcome{State: engine.StateUncertain, Blocks: true, Error: "the agent stopped before the answer came"})
		return t.over(r)
	}
	t.phase = sendLooks
	return r.call(r.readCall(t.local))
}

// dispatch sends the request.
func (t *send) dispatch(r *work) bool {
	o, k := t.o, r.Kind
	if t.careful && (!t.sent && !t.declared || issue.Marks(r.Kind, o) || t.phase == sendTraces) { // again for what is looked for: it counts when the request went out last
		t.declare(r, false)
	}
	doubted := r.Doubts[o.ID] || r.Resumed
	t.maybe = doubted && (t.sent || !t.careful)
	r.Doubt(t.step.Operations...)
	r.Doubt(o)
	at := t.local
	if o.Type == engine.TypeCreate && k.Within != "" && !k.Natural() {
		container, _ := k.Split(string(r.About.Key))
		at = r.env.Addressed(k, "", container)
	}
	t.phase = sendSends
	call := r.sendCall(o, at, t.key, nil)
	call.Call.As, _ = view.WithRightsOf(r.View, o)
	call.Call.Header = plan.Matching(o.Header, t.match)
	return r.call(call)
}

// sendCall sends an operation to the application.
func (r *work) sendCall(o *engine.Operation, local engine.LocalID, key string, credentials *engine.Credentials) *Call {
	c := &Call{Kind: CallSend, Present: true, Call: engine.Call{
		Kind: r.Kind, Method: o.Method, Path: o.Path, Local: local, Query: o.Query, Header: o.Header, Body: o.Body, Key: key, Credentials: credentials,
	}, Blob: o.Blob}
	if body, ok := issue.Marked(r.Kind, o, key); ok {
		c.Call.Body = body
	}
	return c
}

func (t *send) answer(r *work, in *Answered) bool {
	switch t.phase {
	case sendLooks:
		if in.Err == nil && in.Reply.Gone() {
			return t.notThere(r)
		}
		return t.compare(r, in)
	case sendFinds:
		return t.found(r, flight.ByMarker(in.List, in.Err, r.env.Now().Sub(t.since(r)) < r.limits.CallTimeout), in.Err)
	case sendTraces:
		if in.Err == nil && in.Reply.Gone() { // it is made anew with what counts, or shown later
			return t.gone(r, in)
		}
		trace := plan.TraceHere(r.History, r.standing(), t.o, in.Presented.Body)
		return t.found(r, flight.ByTrace(trace, in.Reply, in.Err, r.Sent.UnderWay(r.env.Now(), r.limits.CallTimeout)), in.Err)
	case sendWaits:
		if err := plan.Unsettled(r.Kind, in.Presented.Body); in.Err == nil && in.Reply.Status == 200 && err != nil {
			r.tryAgain(t.o, engine.Reply{}, err)
			return t.over(r)
		}
		return t.dispatch(r)
	case sendSends:
		return t.heard(r, in)
	case sendReads:
		if t.match = plan.Tag(in.Reply); in.Err == nil && in.Reply.Status == http.StatusOK && t.match != "" {
			return t.dispatch(r)
		}
		return t.refused(r)
	case sendHolds:
		return t.holds(r, in)
	case sendMeets:
		if in.Err == nil && in.Reply.Gone() {
			if a := r.Mine.Tries[t.o.ID]; a == nil || a.Count < flight.LaterTries { // it may show later what an earlier try has made
				return t.again(r, t.reply, nil)
			}
			r.fail(t.o, engine.Outcome{State: engine.StateRejected, Status: t.reply.Status, Blocks: true, Error: plan.Tell(t.reply, nil)})
			return t.over(r)
		}
		return t.compare(r, in)
	case sendGone:
		return t.gone(r, in)
	}
	return t.refusedAgain(r, in)
}

// notThere goes on after nothing was found of what an earlier try may have made.
func (t *send) notThere(r *work) bool {
	if t.sent && (t.step.Kind == plan.StepMake || view.IsVoid(r.View, t.o)) { // what is to be made now may be something else, or nothing
		r.land()
		return t.over(r)
	}
	if r.Sent != nil {
		r.Sent.Looking = false
	}
	return t.dispatch(r)
}

// found goes on after a look for what an earlier try has done. What may be under way still counts as not done only after as long as an answer may take.
func (t *send) found(r *work, f flight.Finding, err error) bool {
	switch {
	case errors.Is(err, engine.ErrUntellable) && !t.sent:
		return t.dispatch(r)
	case f.Fate == flight.Untold:
		r.fail(t.o, engine.Outcome{State: engine.StateUncertain, Blocks: true, Error: f.Why})
	case f.Fate == flight.Happened:
		t.succeed(r, f.Reply, f.Reply.Local)
	case f.Fate == flight.Absent:
		return t.notThere(r)
	case err != nil:
		r.tryAgain(t.o, engine.Reply{}, err)
	default:
		r.tryAgain(t.o, engine.Reply{}, errors.New("the application does not show what was to be done; it may be under way still"))
		r.again.at = t.since(r).Add(r.limits.CallTimeout) // before that, nothing new can come of it but that it is there
		r.wake(r.again.at)
	}
	return t.over(r)
}

// since is when it was sent last.
func (t *send) since(r *work) (at time.Time) {
	if t.sent {
		at = engine.Time(r.Sent.Since)
	}
	return at
}

// compare decides about a create whose identifier is taken: an object that shows what the operation sets is the operation's own
// work; any other belongs to somebody else and is never overwritten.
func (t *send) compare(r *work, in *Answered) bool {
	switch {
	case in.Err != nil || in.Reply.Status != 200:
		if t.declared && t.phase == sendLooks { // it has not gone out
			r.land()
		}
		r.tryAgain(t.o, in.Reply, in.Err)
	case plan.Shows(r.Kind, in.Presented.Body, t.o.Edit):
		t.succeed(r, engine.Reply{Status: 200, Local: t.local}, t.local)
	default:
		r.fail(t.o, engine.Outcome{State: engine.StateRejected, Status: 409, Blocks: true, Cause: engine.ConflictExists, Error: existsAlready})
	}
	return t.over(r)
}

const existsAlready = "the application has an object of this identifier already, and no shared resource owns that"

// heard takes in the answer to the request.
func (t *send) heard(r *work, in *Answered) bool {
	o, k, reply := t.o, r.Kind, plan.Answer(in.Reply, in.Err)
	alone, became := r.env.Report(k, r.Document, reply, in.Err, true), plan.Judge(o.Type, reply, in.Err)
	t.reply = reply
	if became == plan.Conflict || became == plan.Refused {
		if part := plan.ContentOf(k, o); part != nil && t.local != "" { // the application may have it already, from whomever
			t.phase = sendHolds
			return r.call(&Call{Kind: CallHolds, Call: engine.Call{Kind: k, Local: t.local}, Content: part, Want: plan.Wanted(o)})
		}
	}
	return t.judge(r, in, became, alone)
}

// holds goes on after the application was asked which content it has.
func (t *send) holds(r *work, in *Answered) bool {
	switch {
	case in.Err != nil:
		r.later(t.o, t.reply, nil, false)
		return t.over(r)
	case in.Same:
		t.succeed(r, t.reply, t.local)
		return t.over(r)
	}
	return t.judge(r, &Answered{Reply: t.reply}, plan.Judge(t.o.Type, t.reply, nil), false)
}

func (t *send) judge(r *work, in *Answered, became plan.Verdict, alone bool) bool {
	o, reply := t.o, in.Reply
	if reply.Status == http.StatusPreconditionRequired && in.Err == nil && t.local != "" && !t.asked {
		t.asked, t.phase = true, sendReads
		return r.call(r.readCall(t.local))
	}
	last, tried := r.LastTry(o.ID)
	contested := tried && report.Contested(last.Status) // the one before did not fit what is there, too
	switch became {
	case plan.Done:
		t.succeed(r, reply, t.local)
		r.saw(in)
		return t.over(r)
	case plan.Unknown:
		t.unknown(r, reply, in.Err, alone)
		return t.over(r)
	case plan.Unsent, plan.Later, plan.Denied:
		if !t.maybe {
			r.Certain(t.step.Operations...)
			r.Certain(o)
		}
		t.withdraw(r)
		r.later(o, reply, in.Err, alone)
		return t.over(r)
	case plan.Conflict:
		switch {
		case o.Type == engine.TypeCreate:
			return t.meet(r)
		case !o.Edit.Empty() && o.Type != engine.TypeAction: // it is read again, and what o sets is set in that
			t.withdraw(r)
			t.over(r)
			r.task = &correct{step: plan.Step{Kind: plan.StepCorrect, Operations: []*engine.Operation{o}, Correction: o.Edit}, operation: o}
			return r.task.begin(r)
		case !contested:
			return t.again(r, reply, nil)
		}
	}
	if o.Type != engine.TypeCreate && reply.Gone() {
		t.phase = sendGone
		return r.call(r.readCall(t.local))
	}
	return t.refused(r)
}

// refused goes on where the application does not want the operation.
func (t *send) refused(r *work) bool {
	o := t.o
	if o.Type == engine.TypeCreate && (t.reply.Gone() || t.reply.Closed) && t.awaitsContainer(r) {
		r.Halt(&engine.Wait{Kind: engine.WaitReference, Since: r.env.Now().UnixMicro(), Operation: o.ID, Reason: plan.Lacks(t.reply)})
		return t.again(r, t.reply, nil)
	}
	if o.Type == engine.TypeDelete && r.Attempts(o.ID) < flight.PatientTries { // what depends on the object may be going as well
		return t.again(r, t.reply, nil)
	}
	if t.maybe && !r.Kind.HonoursKey { // one that honours its key would have given its first answer again
		if !o.Edit.Empty() && t.local != "" || o.Type == engine.TypeDelete {
			t.phase = sendAgain
			return r.call(r.readCall(cmp.Or(t.local, r.env.Here(r.Kind, string(r.About.Key)))))
		}
		r.fail(o, engine.Outcome{State: engine.StateUncertain, Status: t.reply.Status, Blocks: true,
			Error: "an earlier try may have run, and another was refused: " + plan.Tell(t.reply, nil)})
		return t.over(r)
	}
	// A create that was refused leaves nothing that later operations could change: they wait for a person.
	r.fail(o, engine.Outcome{State: engine.StateRejected, Status: t.reply.Status, Error: plan.Tell(t.reply, nil), Blocks: o.Type == engine.TypeCreate})
	return t.over(r)
}

// refusedAgain decides about what was refused though an earlier try of it may have been done: what the application shows tells.
func (t *send) refusedAgain(r *work, in *Answered) bool {
	switch {
	case in.Err != nil || in.Reply.Status >= 500:
		r.tryAgain(t.o, in.Reply, in.Err)
	case t.o.Type == engine.TypeDelete && in.Reply.Gone(), in.Reply.Status == 200 && t.o.Type != engine.TypeDelete && plan.Shows(r.Kind, in.Presented.Body, t.o.Edit):
		t.succeed(r, t.reply, t.local)
	default:
		r.fail(t.o, engine.Outcome{State: engine.StateRejected, Status: t.reply.Status, Error: plan.Tell(t.reply, nil), Blocks: t.o.Type == engine.TypeCreate})
	}
	return t.over(r)
}

// unknown goes on where it is not certain whether the application has done it.
func (t *send) unknown(r *work, reply engine.Reply, err error, alone bool) {
	o, k := t.o, r.Kind
	if r.Sent == nil && o.Type == engine.TypeCreate { // no delete may pass it over
		r.Sent = &flight.Flight{Operation: *o, Line: o.Line, Epoch: o.Epoch, Key: t.key, Since: r.env.Now().UnixMicro()}
	}
	if r.Sent != nil {
		r.Sent.Stage, r.Sent.Why = flight.Unknown, plan.Tell(reply, err)
		r.Changed()
	}
	// The next try looks for the object first, or sets the values, where the request is not to be repeated.
	if !alone && (plan.Resendable(k, o) || o.Type == engine.TypeCreate && (k.Natural() || issue.Marks(r.Kind, o)) || o.Type == engine.TypePatch) {
		r.later(o, reply, err, alone)
		return
	}
	r.fail(o, engine.Outcome{State: engine.StateUncertain, Status: reply.Status, Error: plan.Tell(reply, err), Blocks: true})
}

// withdraw ends the flight of an operation that certainly has not run, unless an earlier try may have.
func (t *send) withdraw(r *work) {
	if t.careful && !(t.sent && plan.Resendable(r.Kind, t.o)) {
		r.land()
	} else if r.Sent != nil && r.Sent.Stage == flight.Declared {
		r.Sent.Stage = flight.Unknown
	}
}

// again has it tried again later.
func (t *send) again(r *work, reply engine.Reply, err error) bool {
	t.withdraw(r)
	r.tryAgain(t.o, reply, err)
	return t.over(r)
}

// meet decides about a create whose identifier the application says is taken.
func (t *send) meet(r *work) bool {
	if !r.Kind.Natural() {
		r.fail(t.o, engine.Outcome{State: engine.StateRejected, Status: t.reply.Status, Blocks: true, Cause: engine.ConflictExists,
			Error: "the application has something of this kind already, and no shared resource owns that: " + plan.Tell(t.reply, nil)})
		return t.over(r)
	}
	t.phase = sendMeets
	return r.call(r.readCall(t.local))
}

// awaitsContainer reports whether a create that the application has answered with 404 is to be sent again: its container is still
// to be made here, or may still be heard of, or it is not the application that has answered. So is one whose container is being deleted.
func (t *send) awaitsContainer(r *work) bool {
	if r.Kind.Within != "" {
		if here, without := r.env.Container(r.Kind, engine.LocalID(r.About.Key)); here || without {
			return here
		}
	}
	return r.Attempts(t.o.ID) < flight.PatientTries
}

// gone finds out whether an answer of 404 to a change means that the object is gone, and has it made anew then.
func (t *send) gone(r *work, in *Answered) bool {
	switch {
	case in.Err != nil || in.Reply.Status >= 500 || in.Reply.Gone() && !r.believes():
		return t.again(r, in.Reply, in.Err)
	case !in.Reply.Gone() && (!r.Mine.Seen || r.Mine.GoneSince != 0): // it has just been shown
		r.look.Shown(r.View)
		return t.again(r, t.reply, nil)
	case !in.Reply.Gone():
		return t.refused(r)
	}
	if r.vanished(r.Mine.Local) {
		r.land() // it certainly has not run
		return t.over(r)
	}
	return t.refused(r)
}

// succeed records that the operation was applied here, and with StepMake all that the new object shows.
func (t *send) succeed(r *work, reply engine.Reply, local engine.LocalID) {
	o, step := t.o, t.step
	switch o.Type {
	case engine.TypeCreate:
		if local = cmp.Or(reply.Local, local); local == "" {
			r.fail(o, engine.Outcome{State: engine.StateUncertain, Status: reply.Status, Blocks: true,
				Error: fmt.Sprintf("the answer does not tell the new %s's identifier at %q; check the catalog", r.Kind.Name, r.Kind.ID.At)})
			return
		}
	case engine.TypeDelete:
		drift.Leave(r.View, r.Mine.Local, o.ID, reply, r.env.Now())
		local = ""
	default:
		local = r.Mine.Local
	}
	r.attempt(o, reply, nil)
	settled := step.Operations[:min(1, len(step.Operations))]
	if step.Kind == plan.StepMake {
		settled = append(append([]*engine.Operation{}, step.Operations...), view.MadeGood(r.View, merge.Among(r.History.Living(merge.Any)))...)
		if create := r.History.Get(o.ID); create != nil && !among(settled)(create) { // it may have waited for a person
			settled = append(settled, create)
		}
	}
	if step.Late {
		again := o.In(r.Me.Settled) // it had been passed over, or is applied once more
		for _, p := range step.Again {
			r.Became(p.ID, engine.Outcome{State: engine.StatePending, Again: true, Ran: p.Type == engine.TypeAction})
		}
		r.Became(o.ID, engine.Outcome{State: engine.StatePending, Status: reply.Status, Ran: true, Again: again})
		r.land()
		r.Certain(settled...)
		r.goes()
		return
	}
	r.land()
	r.stepDone(step, settled, local, reply)
}
