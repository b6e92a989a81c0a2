package replica

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
)

// Lacks says, for people, what the resource relies on and this site cannot reach; an empty Why: it lacks nothing.
type Lacks struct{ Why string }

func (*Lacks) input() {}

func (r *Replica) relies(in *Lacks) {
	if r.Mine.Lacking != in.Why {
		r.Mine.Lacking = in.Why
		r.Changed()
	}
}

// awaits returns why a step waits for what it refers to, empty when it does not, and the operation that does. What a client of this
// site has sent refers to what is here.
func (r *Replica) awaits(step plan.Step) (id engine.OperationID, why string) {
	theirs := func(o *engine.Operation) bool { return o.Origin != r.Self }
	switch step.Kind {
	case plan.StepRun:
		if o := step.Operations[0]; theirs(o) {
			return o.ID, r.env.Awaits(r.Kind, r.About.Key, o)
		}
	case plan.StepMake:
		o := *step.Make
		o.Whereabouts = r.History.Whereabouts(merge.Any)
		return o.ID, r.env.Awaits(r.Kind, r.About.Key, &o)
	case plan.StepCorrect:
		if step.Void || step.Correction.Empty() || len(r.History.All(theirs)) == 0 {
			break
		}
		o := engine.Operation{Type: engine.TypeMerge, Body: tree.Representation(step.Correction.Set), Whereabouts: r.History.Whereabouts(merge.Any)}
		if len(step.Operations) > 0 {
			o.ID = step.Operations[0].ID
		}
		return o.ID, r.env.Awaits(r.Kind, r.About.Key, &o)
	}
	return "", ""
}
