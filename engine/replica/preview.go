package replica

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// What is asked of a replica between its steps. Nothing changes by it.

// Planned tells what this site does next for the resource. It is not ok where nothing is left to do. What comes after that is not looked at.
func (r *Replica) Planned() (p engine.Planned, ok bool) {
	if part := r.Part(r.Self); r.About.Chooses() || part != view.PartMember && part != view.PartLeaving {
		return p, false
	}
	step := plan.Next(r.History, r.standing())
	if step.Kind == plan.StepNothing {
		return p, false
	}
	p = engine.Planned{Resource: r.About.Key, Service: r.About.Service, Kind: r.About.Kind, Does: engine.DoesRun, Operations: ids(step.Operations)}
	switch {
	case step.Kind == plan.StepHold:
		p.Does = engine.DoesWait
	case step.Kind == plan.StepSkip || step.Kind == plan.StepVacuous || step.Kind == plan.StepRefuse:
		p.Does = engine.DoesSettle
	case step.Makes():
		p.Does = engine.DoesCreate
	case r.deletes(step):
		p.Does = engine.DoesDelete
	case step.Kind == plan.StepCorrect:
		p.Does = engine.DoesCorrect
		p.Set, p.Unset = tree.Sorted(step.Correction.Set), step.Correction.Unset
	}
	p.Waits = r.whyNotNow(step)
	return p, true
}

// whyNotNow says what keeps a step from being taken; empty: nothing does.
func (r *Replica) whyNotNow(step plan.Step) string {
	pause, aside := report.PauseOf(&r.Me), r.Me.Wait(engine.WaitAside)
	switch {
	case pause != nil:
		return pause.String()
	case aside != nil:
		return aside.Reason
	case r.Me.Rejoins:
		return "the disk of this site was set back, or it was away for too long: what it has is being found out"
	case r.Own.Open() && r.Own.Stage == flight.Asked:
		return r.Own.Question()
	case r.Own.Open():
		return r.Own.Unanswered()
	case r.Yields(r.Self):
		return "another resource of this name was created earlier and has the object here"
	}
	if len(step.Operations) > 0 {
		return r.whyNot(step, step.Operations[0])
	}
	if w := report.Waiting(r.View, r.Self); w != nil { // the object is made anew, of operations that are settled
		return w.Reason
	}
	return ""
}

// whyNot is whyNotNow for what keeps the first operation of a step.
func (r *Replica) whyNot(step plan.Step, first *engine.Operation) string {
	out, held := r.Mine.Outcomes[first.ID], r.Me.Wait(engine.WaitHeld)
	switch {
	case held != nil && held.Operation == first.ID:
		return report.Unconfirmed(r.Name(r.Self))
	case out.Blocks:
		return report.Explain(r.View, first, out)
	case out.State == engine.StatePending && out.Error != "":
		return out.Error
	case step.Kind == plan.StepHold && step.Reason != "":
		return r.whyHeld(step)
	case step.Kind == plan.StepHold:
		return "the create that it builds on has not been applied here"
	case r.Fetches[first.ID].Why != "":
		return r.Fetches[first.ID].Why
	}
	if w := report.Waiting(r.View, r.Self); w != nil {
		return w.Reason
	}
	t, _ := r.LastTry(first.ID)
	return t.Error
}

// NextTry is when this site goes on with an operation that waits here for its application or for another site; zero: as soon as it
// may. It does not wait where something else has to happen first, or where it is under way.
func (r *Replica) NextTry(id engine.OperationID) (at time.Time, waits bool) {
	open := r.OwnIs(id)
	switch o := r.History.Get(id); {
	case r.task != nil || open && r.Own.Stage == flight.Asked:
		return at, false
	case open:
		return r.settling.at, true
	case o == nil || r.Settled(r.Self, o) || r.Mine.Outcomes[id].Blocks || r.Own.Open() || r.Me.Wait(engine.WaitPaused) != nil:
		return at, false
	}
	return r.again.at, true
}
