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

// Disputed lists the pairs that a refused correction with taken is put down to: the latest operation that is concurrent with
// an earlier one, with each of those. At least one of a pair is in taken: what the application shows already it has taken
// together. It is empty once these are known as facts: the application refuses that operation by itself.
func Disputed(h *merge.History, s Standing, taken []*engine.Operation) []engine.Fact {
	counting, _ := h.Effective(s.Shown().Or(taken...))
	asked := merge.Among(taken)
	for i, later := range slices.Backward(counting) {
		if later.Edit.Empty() {
			continue
		}
		var facts []engine.Fact
		for _, earlier := range counting[:i] {
			if !earlier.Edit.Empty() && h.Concurrent(earlier, later) && (asked(earlier) || asked(later)) {
				facts = append(facts, engine.Fact{Earlier: earlier.ID, Later: later.ID})
			}
		}
		heldWhole := func(f engine.Fact) bool { return f.Later == later.ID && h.Counts(f) }
		if len(facts) > 0 || slices.ContainsFunc(h.Facts(), heldWhole) {
			return facts
		}
	}
	return nil
}
