package flight

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// Standing is what this site's application has been brought to.
func Standing(v *view.View, f *Flights) plan.Standing {
	st := v.Standing(v.Self)
	settled := st.Settled
	st.Doubtful = func(o *engine.Operation) bool {
		sent := f.Sends(o.ID)
		out := v.Mine.Outcomes[o.ID]
		refused := out.State == engine.StateRejected && (out.Cause == "" || out.Cause == engine.ConflictNotAccepted) // for certain
		// No flight tells whether it was sent with its key; or a person has said which object it has made.
		left := f.Resumed && v.Kind.HonoursKey && o.Method == "POST" && !settled(o) && !refused
		return sent || left || out.Adopt != ""
	}
	if f.Resumed || len(f.Doubts) > 0 {
		st.Unsure = func(o *engine.Operation) bool { return f.Resumed || f.Doubts[o.ID] }
	}
	st.Apart = f.Apart
	return st
}

// Unfinished returns the step of this site that had no certain answer: it is settled as it was sent, before more is done, also where
// something has come that goes before it in the order. Where an object that was to be made is there by now a client has made it, who
// found the name free.
func (f *Flights) Unfinished(v *view.View, st plan.Standing) (step plan.Step, open, over bool) {
	if !f.Sent.Open() || st.Yields {
		return step, false, false
	}
	o := f.Sent.Operation
	if o.Type != engine.TypeCreate {
		sent := v.History.Get(o.ID)
		return plan.Step{Kind: plan.StepRun, Operations: []*engine.Operation{sent}}, sent != nil && !st.Settled(sent) && !st.Blocked(sent) && !view.IsVoid(v, sent), false
	}
	switch {
	case !st.Gone:
		return step, false, true
	case st.Blocked(&o):
		return plan.Step{Kind: plan.StepHold, Operations: []*engine.Operation{&o}}, true, false
	case f.Sent.Making == nil:
		create := v.History.Get(o.ID)
		return plan.Step{Kind: plan.StepRun, Operations: []*engine.Operation{create}}, create != nil && !st.Settled(create), false
	}
	of := func(ids []engine.OperationID) []*engine.Operation {
		var ops []*engine.Operation
		for _, id := range ids {
			if o := v.History.Get(id); o != nil { // else all sites have settled it, and it is in the checkpoint
				ops = append(ops, o)
			}
		}
		return ops
	}
	m := f.Sent.Making
	return plan.Step{Kind: plan.StepMake, Make: &o, Operations: of(m.Operations), Again: of(m.Again), Voided: of(m.Voided)}, true, false
}

// MayShow tells which operations the application here shows, or may show.
func MayShow(v *view.View, f *Flights) func(*engine.Operation) bool {
	st := Standing(v, f)
	return func(o *engine.Operation) bool {
		return st.Shows(o) || f.Sent != nil && f.Sent.Operation.ID == o.ID || f.Doubts[o.ID]
	}
}
