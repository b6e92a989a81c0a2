package view

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
)

// Refers is what of a step may refer to what is to be here first; nil: nothing. What a client of this site has sent refers to what is here.
func Refers(v *View, step plan.Step) *engine.Operation {
	theirs := func(o *engine.Operation) bool { return o.Origin != v.Self }
	switch step.Kind {
	case plan.StepRun:
		if o := step.Operations[0]; theirs(o) && o.Type != engine.TypeDelete {
			return o
		}
	case plan.StepMake:
		o := *step.Make
		o.Whereabouts = v.History.Whereabouts(merge.Any)
		return &o
	case plan.StepCorrect:
		if step.Void || step.Correction.Empty() || len(v.History.All(theirs)) == 0 {
			return nil
		}
		o := engine.Operation{Type: engine.TypeMerge, Body: tree.Representation(step.Correction.Set), Whereabouts: v.History.Whereabouts(merge.Any)}
		if len(step.Operations) > 0 {
			o.ID = step.Operations[0].ID
		}
		return &o
	}
	return nil
}
