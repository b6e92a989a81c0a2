package replica

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// advance does what can be done now.
func (r *Replica) advance() {
	if r.behind {
		r.leaveOff()
		return
	}
	if r.Stale {
		return
	}
	for r.task == nil {
		r.answerArrived()
		t := r.choose()
		if t == nil {
			return
		}
		r.task = t
		if t.begin(&r.work) {
			r.task = nil
		}
	}
}

// answerArrived answers the requests that wait and whose operations have come in their documents meanwhile, once they are settled: after that a
// checkpoint may stand for them, and nothing here would tell that they have run.
func (r *work) answerArrived() {
	r.asks = slices.DeleteFunc(r.asks, func(a *Ask) bool {
		o := r.History.Get(a.Operation)
		return o != nil && r.Settled(r.Self, o) && (&own{ask: a}).arrived(r)
	})
}

// choose names what is done next: what had no certain answer is settled first, then what has come from other sites is applied,
// then clients' requests run.
func (r *Replica) choose() task {
	now := r.env.Now()
	if r.env.Sends(r.Document) {
		return nil
	}
	if w := r.Me.Wait(engine.WaitAside); w != nil {
		r.refuseAll(&engine.Refusal{Status: http.StatusServiceUnavailable, Type: "aside", Detail: w.Reason + "; nothing has happened"})
		return nil
	}
	if r.About.Chooses() {
		return nil
	}
	if r.Own != nil && r.RanElsewhere(r.History.Get(r.Own.Operation.ID)) {
		r.UnsayOf(r.Sent.Operation.ID, engine.WaitAnswer, engine.WaitPerson)
		r.Changed()
	}
	if r.Own.Open() && !r.Me.Rejoins { // else the others may know what became of it
		if r.Resumed && !r.env.Met(r.Others()) { // or may tell that this site was set back
			r.wake(now.Add(r.limits.RetryMin))
			return nil
		}
		return r.settleOwn(now)
	}
	if t := r.apply(now); t != nil {
		return t
	}
	if len(r.asks) > 0 && !r.nameWaits && !now.Before(r.asksAt) {
		a := r.asks[0]
		r.asks = r.asks[1:]
		if a.keep != nil {
			return &keep{decide: a.keep}
		}
		if err := r.refusesAsks(); err != nil {
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
		r.refuseAll(issue.Unanswered(r.Own.Operation.ID))
		return nil
	case len(r.asks) == 0 && now.Before(r.settling.at):
		r.wake(r.settling.at)
		return nil
	}
	return &settle{}
}

// refusesAsks says why a client's request cannot run here, nil when it can.
func (r *Replica) refusesAsks() error {
	if part := r.Part(r.Self); part == view.PartNone || part == view.PartFormer {
		return &engine.Refusal{Status: http.StatusNotFound, Type: "not-replicated", Detail: fmt.Sprintf(
			"%s has no part in %s %q; nothing has happened here", r.Name(r.Self), r.Kind.Name, r.About.Key)}
	}
	if r.Me.Rejoins {
		return r.rejoining()
	}
	return nil
}

// apply chooses what is done for operations that have come from other sites, and takes every step that needs no call.
func (r *Replica) apply(now time.Time) task {
	part := r.Part(r.Self)
	if part == view.PartNone || part == view.PartFormer {
		return nil
	}
	if by := view.BegunBy(r.View); by != nil {
		if view.Misses(r.View, by) { // a comparison will tell
			return nil
		}
		r.begin(by)
	}
	view.Judge(r.View, r.env.Accepts(r.View), r.Sends)
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
	if r.Me.Number == 0 && now.Before(r.partly) { // the rest may tell that a lost run of this site has done it
		r.wake(r.partly)
		return nil
	}
	for {
		t, again := r.applyOnce(now, part)
		if t != nil || !again {
			return t
		}
	}
}

// applyOnce takes one step, or chooses the task that takes it. It reports whether to go on.
func (r *Replica) applyOnce(now time.Time, part view.Part) (t task, again bool) {
	if t, waits := r.keepName(); waits {
		return t, false
	}
	r.sees()
	if now.Before(r.again.at) {
		r.wake(r.again.at)
		return nil, false
	}
	if r.Me.Bare && r.Mine.Local != "" && r.Exists() {
		if r.Mine.Outcomes[r.Me.Joined].Blocks || !r.enter(r.Self) {
			return nil, false
		}
		return &content{}, false
	}
	for _, o := range r.History.Copied() { // one that has run as its copy is done with in its own place, too
		if o.In(r.Me.Settled) && r.Me.Settled[o.Line] == o.Number-1 {
			r.settle(o)
		}
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
		r.Became(first.ID, report.NoReplica(r.View))
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

// nothingLeft ends what is remembered of what was left to do.
func (r *Replica) nothingLeft() {
	r.Apart = false
	if r.Sent.Open() {
		r.land() // it does not count any more
	}
	if r.Resumed {
		r.Resumed = false
		r.Changed() // what waited for that, such as the end of an epoch, goes on
	}
	clear(r.Doubts)
	r.Halt(nil)
	if drift.Over(r.View) {
		if _, err := r.issue(issue.Over(r.Kind, engine.OperationID(r.env.NewID()))); err != nil {
			r.note("a resource that has ended everywhere is not deleted", err)
		}
	}
}
