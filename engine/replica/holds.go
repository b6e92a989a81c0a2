package replica

import (
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// holds reports whether something keeps a step from being taken now, and says what.
func (r *work) holds(now time.Time, standing plan.Standing, step plan.Step) bool {
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
	if g := r.Mine.Going; g.Accepted() && r.Kind.Natural() && step.Makes() {
		r.Halt(&engine.Wait{Since: g.Since, Reason: "the object that was deleted is not gone yet"})
		return true // it is looked at
	}
	if r.holdDeletion(now, step) {
		return true
	}
	if o := view.Refers(r.View, step); o != nil {
		shared := func() bool { is, _ := r.env.Container(r.Kind, engine.LocalID(r.About.Key)); return is }
		if why := r.env.Awaits(r.Kind, r.About.Key, o); why != "" && (!drift.ContainerLost(r.View, o, now) || !r.env.Met(r.Others()) || shared()) {
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
		return !r.enter(step.For(r.Self))
	}
	return false
}

// enter reports whether a request for an operation of a site may go to the application now; what halts it is said.
func (r *work) enter(of engine.SiteID) bool {
	if !r.env.Admit(r.Kind, r.Document, of) {
		r.Halt(r.env.Halted(r.Kind))
		return false
	}
	return true
}

// sees lets a deletion go on that would have taken along what its deleter had not seen, once there is nothing of that any more.
func (r *work) sees() {
	for id, out := range r.Mine.Outcomes {
		if o := r.History.Get(id); o != nil && out.Cause == engine.ConflictUnseen && r.env.Awaits(r.Kind, r.About.Key, o) == "" {
			r.Became(id, engine.Outcome{State: engine.StatePending, Again: out.Again})
		}
	}
}

// holdDeletion reports whether a step has to wait for a person, because it is one late deletion too many, or takes along what
// its deleter had not seen.
func (r *work) holdDeletion(now time.Time, step plan.Step) bool {
	if !report.Deletes(r.View, step) {
		return false
	}
	o := step.Operations[0]
	if w := r.Me.Wait(engine.WaitConfirmed); w != nil && w.Operation == o.ID {
		return false
	}
	if why := r.env.Awaits(r.Kind, r.About.Key, o); why != "" && o.Origin != r.Self {
		r.Became(o.ID, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictUnseen, Error: why})
		return true
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
func (r *work) wantBody(step plan.Step, o *engine.Operation) {
	if r.unavailable[o.ID] && r.doWithout(o) {
		return
	}
	if step.Kind == plan.StepRun && r.Settled(r.Self, o) { // it was passed over, and counts after all
		r.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true})
	}
	r.out.Fetch = append(r.out.Fetch, o)
}
