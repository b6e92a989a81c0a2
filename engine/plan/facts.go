package plan

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// unexecuted lists the facts that count and that this site's application does not show yet.
func unexecuted(h *merge.History, s Standing) []engine.Fact {
	if s.Executed == nil {
		return nil
	}
	return slices.DeleteFunc(h.Facts(), func(f engine.Fact) bool { return s.Executed(f) || !h.Counts(f) })
}

// executeFacts brings the application to what it is to show now that some pairs of operations count as the later alone.
func executeFacts(h *merge.History, s Standing, facts []engine.Fact) Step {
	before := s.Fold(h)
	step := Step{Kind: StepVacuous, Facts: facts}
	if !before.Exists {
		return step
	}
	after, again := s.target(h, s.Shown(), before)
	step.Again = again
	if difference := s.difference(before, after); !difference.Empty() {
		step.Kind, step.Correction, step.Operations = StepCorrect, difference, []*engine.Operation{h.Get(facts[0].Later)}
		if !s.Settled(step.Operations[0]) {
			step.Operations[0] = h.Get(facts[0].Earlier)
		}
	}
	return step
}
