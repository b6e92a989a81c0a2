package replica

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// task is something that takes several calls. Each method goes on to the next call, or to the end; it reports whether the task is over.
type task interface {
	begin(r *Replica) (over bool)
	answer(r *Replica, in *Answered) (over bool)
}

// advance does what can be done now.
func (r *Replica) advance() {
	if r.behind {
		r.refuseAll(r.rejoining())
		return
	}
	if r.Stale {
		return
	}
	for r.task == nil {
		t := r.choose()
		if t == nil {
			return
		}
		r.task = t
		if t.begin(r) {
			r.task = nil
		}
	}
}

// choose names what is done next: what had no certain answer is settled first, then what has come from other sites is applied,
// then clients' requests run.
func (r *Replica) choose() task {
	now := r.env.Now()
	if w := r.Me.Wait(engine.WaitAside); w != nil {
		r.refuseAll(&engine.Refusal{Status: http.StatusServiceUnavailable, Type: "aside", Detail: w.Reason + "; nothing has happened"})
		return nil
	}
	if r.About.Chooses() {
		return nil
	}
	if r.Own.Open() && !r.Me.Rejoins { // else the others may know what became of it
		return r.settleOwn(now)
	}
	if t := r.work(now); t != nil {
		return t
	}
	if len(r.asks) > 0 && !r.nameWaits {
		a := r.asks[0]
		r.asks = r.asks[1:]
		if a.keep != nil {
			return &keep{decide: a.keep}
		}
		if err := r.refusesAsk(a); err != nil {
			r.give(a, Given{Err: err})
			return r.choose()
		}
		return &own{ask: a}
	}
	return nil
}

// settleOwn chooses what is done about a client's request that had no certain answer: nothing else goes out before.
func (r *Replica) settleOwn(now time.Time) task {
	switch {
	case r.Own.Stage == flight.Asked:
		r.refuseAll(unanswered(r.Own.Operation.ID))
		return nil
	case len(r.asks) == 0 && now.Before(r.settling.at):
		r.wake(r.settling.at)
		return nil
	}
	return &settle{}
}

// unanswered refuses a request because of an earlier one. It is not under that operation's identifier: whoever asks would take it
// for the one of this request.
func unanswered(earlier engine.OperationID) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Detail: fmt.Sprintf(
		"an earlier request for this resource has had no certain answer yet (operation %s); nothing has happened", earlier)}
}

// refusesAsk says why a client's request cannot run here, nil when it can.
func (r *Replica) refusesAsk(a *Ask) error {
	if part := r.Part(r.Self); part == view.PartNone || part == view.PartFormer {
		return &engine.Refusal{Status: http.StatusNotFound, Type: "not-replicated", Detail: fmt.Sprintf(
			"%s has no part in %s %q; nothing has happened here", r.Name(r.Self), r.Kind.Name, r.About.Key)}
	}
	if r.Me.Rejoins {
		return r.rejoining()
	}
	return nil
}

// work chooses what is done for operations that have come from other sites, and takes every step that needs no call.
func (r *Replica) work(now time.Time) task {
	part := r.Part(r.Self)
	if part == view.PartNone || part == view.PartFormer {
		return nil
	}
	if by := view.BegunBy(r.View); by != nil {
		if r.Me.Left != nil && !view.Regains(r.View, by) { // a comparison will tell
			return nil
		}
		r.begin(by)
	}
	view.Judge(r.View, r.env.Accepts(r.Kind, r.About.Collaboration), r.Sends)
	if part == view.PartLeaving && r.Me.Wait(engine.WaitPaused) != nil { // a removal ends a pause
		r.Unsay(engine.WaitPaused)
	}
	if r.Me.Wait(engine.WaitPaused) != nil {
		return nil
	}
	if (r.Resumed || r.Me.Rejoins) && !r.env.Met(r.Others()) {
		r.wake(now.Add(r.limits.RetryMin))
		return nil
	}
	if r.Me.Rejoins {
		return r.rejoin(now)
	}
	if r.Me.Number == 0 && r.partly { // the rest may tell that a lost run of this site has done it
		return nil
	}
	for {
		t, again := r.workOnce(now, part)
		if t != nil || !again {
			return t
		}
	}
}

// workOnce takes one step, or chooses the task that takes it. It reports whether to go on.
func (r *Replica) workOnce(now time.Time, part view.Part) (t task, again bool) {
	if t, waits := r.keepName(); waits {
		return t, false
	}
	if now.Before(r.again.at) {
		r.wake(r.again.at)
		return nil, false
	}
	if r.Me.Bare && r.Mine.Local != "" && r.Exists() {
		if r.Mine.Outcomes[r.Me.Joined].Blocks || !r.enter() {
			return nil, false
		}
		return &content{}, false
	}
	standing := r.standing()
	step, unfinished, over := r.Unfinished(r.View, standing)
	if over {
		r.land()
	}
	if !unfinished {
		step = plan.Next(r.History, standing)
	}
	if part == view.PartLeaving && view.NothingBefore(r.View, step) {
		r.leave()
		return nil, false
	}
	if r.holds(now, standing, step) {
		return nil, false
	}
	var first *engine.Operation
	if len(step.Operations) > 0 {
		first = step.Operations[0]
	}
	switch step.Kind {
	case plan.StepNothing:
		r.nothingLeft()
		return nil, false
	case plan.StepHold:
		if step.Reason != "" && !r.Mine.Outcomes[first.ID].Blocks {
			r.Became(first.ID, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictUndeclared, Error: report.Held(step)})
		}
		return nil, false
	case plan.StepRefuse:
		r.Became(first.ID, engine.Outcome{State: engine.StateRejected, Dropped: true, Error: "this site has no replica: its create was dropped"})
		r.settle(first)
	case plan.StepSkip:
		r.Became(first.ID, engine.Outcome{State: engine.StateSuperseded})
		r.ends(first)
		r.settle(first)
	case plan.StepVacuous:
		r.stepDone(step, step.Operations, r.Mine.Local, engine.Reply{})
	case plan.StepRun, plan.StepMake:
		return &send{step: step}, false
	case plan.StepCorrect:
		return &correct{step: step, operation: first}, false
	}
	return nil, true
}

// begin makes this site's replica that of an added site: it begins with what the operation had seen that has added it.
func (r *Replica) begin(by *engine.Operation) {
	made := r.Mine.Made
	if r.Me.Left != nil { // what is done now is done to another object than what was done before
		made++
	}
	r.SayOnly(engine.Status{Settled: by.Before(), Joined: by.ID, Bare: len(r.Kind.Content) > 0})
	r.Anew(made)
	r.TouchAll()
	r.Changed()
}

// holds reports whether something keeps a step from being taken now, and says what.
func (r *Replica) holds(now time.Time, standing plan.Standing, step plan.Step) bool {
	if step.Kind == plan.StepNothing || step.Kind == plan.StepHold {
		return false
	}
	if plan.Late(r.History, standing, step) {
		if why := r.env.Mismatch(r.Kind, r.Correspondents()); why != "" {
			r.Halt(&engine.Wait{Kind: engine.WaitMismatch, Since: now.UnixMicro(), Reason: why})
			r.wake(now.Add(r.limits.LookEvery))
			return true
		}
	}
	for _, o := range step.Operations {
		if ahead := engine.Time(o.Time).Sub(engine.Time(r.Now)); ahead > r.env.Ahead() && o.Origin != r.Self {
			r.Halt(&engine.Wait{Kind: engine.WaitClock, Since: now.UnixMicro(), Operation: o.ID, Reason: fmt.Sprintf(
				"the clock of %s was %s ahead when it issued %s; it waits until its time has come", r.Name(o.Origin), ahead.Round(time.Minute), o.Type)})
			r.wake(now.Add(ahead - r.env.Ahead()))
			return true
		}
	}
	if !r.Kind.Natural() && step.Makes() && !r.env.Met(r.Others()) {
		r.wake(now.Add(r.limits.RetryMin))
		return true
	}
	if r.holdDeletion(now, step) {
		return true
	}
	if o := refers(r.View, step); o != nil {
		if why := r.env.Awaits(r.Kind, r.About.Key, o); why != "" {
			r.Halt(&engine.Wait{Kind: engine.WaitReference, Since: now.UnixMicro(), Operation: o.ID, Reason: why})
			r.again.tries++
			r.wake(now.Add(r.env.Backoff(r.again.tries)))
			return true
		}
	}
	o := step.Sends()
	if o != nil && o.Blob != nil && !r.env.HasBlob(*o.Blob) {
		r.wantBody(step, o)
		return true
	}
	if step.Kind == plan.StepRun || step.Kind == plan.StepCorrect || step.Kind == plan.StepMake {
		return !r.enter()
	}
	return false
}

// enter reports whether a request may go to the application now; what halts it is said.
func (r *Replica) enter() bool {
	if !r.env.Admit(r.Kind, r.Document) {
		r.Halt(r.env.Halted(r.Kind))
		return false
	}
	return true
}

// nothingLeft ends what is remembered of what was left to do.
func (r *Replica) nothingLeft() {
	if r.Sent.Open() {
		r.land() // it does not count any more
	}
	if r.Resumed {
		r.Resumed = false
		r.Changed() // what waited for that, such as the end of an epoch, goes on
	}
	clear(r.Doubts)
	r.Halt(nil)
}

// holdDeletion reports whether a step has to wait for a person, because it is one late deletion too many.
func (r *Replica) holdDeletion(now time.Time, step plan.Step) bool {
	if !report.Deletes(r.View, step) {
		return false
	}
	o := step.Operations[0]
	if w := r.Me.Wait(engine.WaitConfirmed); w != nil && w.Operation == o.ID {
		return false
	}
	if w := r.Me.Wait(engine.WaitHeld); w != nil && w.Operation == o.ID {
		r.env.HoldDelete(r.Document)
		return true
	}
	if r.env.LetDelete(o) {
		return false
	}
	r.env.HoldDelete(r.Document)
	r.Unsay(engine.WaitHeld, engine.WaitConfirmed)
	r.Say(engine.Wait{Kind: engine.WaitHeld, Since: now.UnixMicro(), Operation: o.ID})
	return true
}

// wantBody has the body of an operation fetched, or goes on without it where nobody has it any more.
func (r *Replica) wantBody(step plan.Step, o *engine.Operation) {
	if r.unavailable[o.ID] && r.doWithout(o) {
		return
	}
	if step.Kind == plan.StepRun && r.Settled(r.Self, o) { // it was passed over, and counts after all
		r.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true})
	}
	r.out.Fetch = append(r.out.Fetch, o)
}

// stepDone records that a step is done that settles ops.
func (r *Replica) stepDone(step plan.Step, ops []*engine.Operation, local engine.LocalID, reply engine.Reply) {
	for _, o := range step.Again { // what an action sets is set on the new object; it is not run again
		r.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true, Ran: o.Type == engine.TypeAction})
	}
	for _, o := range step.Voided {
		r.Became(o.ID, engine.Outcome{State: engine.StateSuperseded})
	}
	if len(step.Facts) > 0 {
		r.Me.Shown = nil
		r.Me.Executed = append(slices.Clip(r.Me.Executed), step.Facts...)
		r.Changed()
	}
	if step.Kind == plan.StepMake {
		r.Mine.Made++
		r.Me.Shown = nil
	}
	r.setLocal(local)
	applied := slices.DeleteFunc(slices.Clone(ops), func(o *engine.Operation) bool { return slices.Contains(step.Voided, o) })
	r.Applied(applied, reply.Status)
	r.ends(ops...)
	r.settle(ops...)
	r.goes()
}

// ends says that nothing of some operations is in flight any more.
func (r *Replica) ends(ops ...*engine.Operation) {
	if r.Sent == nil {
		return
	}
	for _, o := range ops {
		if r.Sent.Operation.ID == o.ID {
			r.land()
			return
		}
	}
}

// land ends the request of this site's that is in flight.
func (r *Replica) land() {
	if r.Sent != nil {
		r.Sent = nil
		r.out.Settles = true
		r.Changed()
	}
}

// fail settles an operation that did not succeed here, unless the outcome blocks: then it waits for a person.
func (r *Replica) fail(o *engine.Operation, out engine.Outcome) {
	if out.Status != 0 || out.State == engine.StateUncertain {
		r.Tried(o.ID, out.Status, out.Error)
	}
	out.Again = out.Blocks && r.Me.Settled.Has(o.Line, o.Number) // it was done with once, and is not any more
	r.Became(o.ID, out)
	r.ends(o)
	if !out.Blocks {
		r.settle(o)
	}
	if out.State != engine.StateUncertain {
		r.Certain(o)
	}
	r.goes()
}
