package report

import (
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// Planned tells what this site does next for the resource. It is not ok where nothing is left to do. What comes after that is not looked at.
func Planned(v *view.View, f *flight.Flights) (p engine.Planned, ok bool) {
	if part := v.Part(v.Self); v.About.Chooses() || part != view.PartMember && part != view.PartLeaving {
		return p, false
	}
	step := plan.Next(v.History, flight.Standing(v, f))
	if step.Kind == plan.StepNothing {
		return p, false
	}
	var operations []engine.OperationID
	for _, o := range step.Operations {
		operations = append(operations, o.ID)
	}
	p = engine.Planned{Resource: v.About.Key, Service: v.About.Service, Kind: v.About.Kind, Does: engine.DoesRun, Operations: operations}
	switch {
	case step.Kind == plan.StepHold:
		p.Does = engine.DoesWait
	case step.Kind == plan.StepSkip || step.Kind == plan.StepVacuous || step.Kind == plan.StepRefuse:
		p.Does = engine.DoesSettle
	case step.Makes():
		p.Does = engine.DoesCreate
	case Deletes(v, step):
		p.Does = engine.DoesDelete
	case step.Kind == plan.StepCorrect:
		p.Does = engine.DoesCorrect
		p.Set, p.Unset = tree.Sorted(step.Correction.Set), step.Correction.Unset
	}
	p.Waits = whyNotNow(v, f, step)
	return p, true
}

// whyNotNow says what keeps a step from being taken; empty: nothing does.
func whyNotNow(v *view.View, f *flight.Flights, step plan.Step) string {
	pause, aside := PauseOf(&v.Me), v.Me.Wait(engine.WaitAside)
	switch {
	case pause != nil:
		return pause.String()
	case aside != nil:
		return aside.Reason
	case v.Me.Rejoins:
		return "the disk of this site was set back, or it was away for too long: what it has is being found out"
	case f.Own.Open() && f.Own.Stage == flight.Asked:
		return f.Own.Question()
	case f.Own.Open():
		return f.Own.Unanswered()
	case v.Yields(v.Self):
		return "another resource of this name was created earlier and has the object here"
	}
	if len(step.Operations) > 0 {
		return whyNot(v, step, step.Operations[0])
	}
	if w := Waiting(v, v.Self); w != nil { // the object is made anew, of operations that are settled
		return w.Reason
	}
	return ""
}

// whyNot is whyNotNow for what keeps the first operation of a step.
func whyNot(v *view.View, step plan.Step, first *engine.Operation) string {
	out, held := v.Mine.Outcomes[first.ID], v.Me.Wait(engine.WaitHeld)
	switch {
	case held != nil && held.Operation == first.ID:
		return Unconfirmed(v.Name(v.Self))
	case out.Blocks:
		return Explain(first, out)
	case out.State == engine.StatePending && out.Error != "":
		return out.Error
	case step.Kind == plan.StepHold && step.Reason != "":
		return Held(step)
	case step.Kind == plan.StepHold:
		return "the create that it builds on has not been applied here"
	case v.Fetches[first.ID].Why != "":
		return v.Fetches[first.ID].Why
	}
	if w := Waiting(v, v.Self); w != nil {
		return w.Reason
	}
	t, _ := v.LastTry(first.ID)
	return t.Error
}

// Deletes reports whether a step takes an object away from this site's application because another site has deleted it.
func Deletes(v *view.View, step plan.Step) bool {
	return step.Kind == plan.StepRun && step.Operations[0].Type == engine.TypeDelete && step.Operations[0].Origin != v.Self && v.Mine.Local != ""
}

// Held says in words why a step holds.
func Held(step plan.Step) string {
	o := step.Operations[1]
	if step.Reason == plan.HoldMixed {
		return fmt.Sprintf("the delete ends one of two creates of this name, and what was done for that one is still there; the object cannot be made "+
			"anew without it: %s has run on it and the catalog does not say what that sets (operation %s); set the object right and "+
			"say that this is done, or give it up here", o.Path, o.ID)
	}
	return fmt.Sprintf("the application has no object of it any more, and it cannot be made anew: %s has run on it and the catalog does not "+
		"say what that sets (operation %s); restore the object and say which it is, or give it up here", o.Path, o.ID)
}
