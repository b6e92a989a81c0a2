package plan

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// missed tells of an operation whether it was passed over here as void and counts after all, since something else is known.
// Bytes that a later operation has put anew are missed only where they take the effect of something else, a delete where
// what had taken it away does so no more.
func missed(h *merge.History, s Standing, counting []*engine.Operation) func(*engine.Operation) bool {
	counts, last, takes, void := merge.Within(counting), lastAbsolute(counting), takes(h, s), s.Void
	return func(o *engine.Operation) bool {
		switch {
		case o.Copy, !void(o):
			return false
		case o.Type == engine.TypeDelete:
			return !h.Base().Has(o) && !h.Reversed(o, merge.Any)
		}
		return counts(o) && (o.Type != engine.TypeAbsolute || last[o.Path] == o || takes(o))
	}
}

// takes tells of an operation that no checkpoint stands for whether something that the application shows, and that counts,
// loses its effect once it is shown, too.
func takes(h *merge.History, s Standing) func(*engine.Operation) bool {
	if !h.Contests() { // as a rule
		return func(*engine.Operation) bool { return false }
	}
	return taking(h, s)
}

func taking(h *merge.History, s Standing) func(*engine.Operation) bool {
	var shown []*engine.Operation
	loses := func(o, to *engine.Operation) bool { return !h.Base().Reduces(o) && h.Loses(o, to) != "" }
	return func(o *engine.Operation) bool {
		if h.Base().Reduces(o) {
			return false
		}
		if shown == nil {
			shown, _ = h.Effective(s.Shown())
		}
		later, _ := slices.BinarySearchFunc(shown, o, engine.Compare)
		return slices.ContainsFunc(shown[:later], func(x *engine.Operation) bool { return loses(x, o) }) &&
			!slices.ContainsFunc(shown[later:], func(w *engine.Operation) bool { return loses(o, w) })
	}
}

// reversedHere lists the deletes that the application has done and that something has taken away.
func reversedHere(h *merge.History, s Standing) []*engine.Operation {
	return slices.DeleteFunc(Reversed(h), func(o *engine.Operation) bool { return !s.Shows(o) })
}

// Reversed lists the deletes that something has taken away.
func Reversed(h *merge.History) []*engine.Operation {
	return h.All(func(o *engine.Operation) bool {
		return o.Type == engine.TypeDelete && !o.Copy && h.Reversed(o, merge.Any)
	})
}

// Unfinished tells of what is settled which operations the application has still to be brought to: those that were passed over
// and count after all, and deletes that something has taken away. No checkpoint may stand for them.
func Unfinished(h *merge.History, s Standing) func(*engine.Operation) bool {
	counting, _ := h.Effective(merge.Any)
	missed, reversed := missed(h, s, counting), merge.Among(reversedHere(h, s))
	return func(o *engine.Operation) bool { return reversed(o) || missed(o) }
}

// undelete brings the application to what it is to show now that some deletes that it has done are void, those of one user after those of another.
func undelete(h *merge.History, s Standing, void []*engine.Operation) Step {
	first := void[0]
	void = slices.DeleteFunc(void, func(o *engine.Operation) bool { return !s.together(first, o) })
	before := s.Fold(h)
	after, again := s.target(h, merge.Pick(s.Shows).But(void...), before)
	step := Step{Kind: StepVacuous, Operations: void, Voided: void, Again: again}
	switch {
	case before.Exists && after.Exists:
		if difference := s.difference(before, after); !difference.Empty() {
			step.Kind, step.Correction = StepCorrect, difference
		}
	case after.Exists && !s.Dropped && h.Exists(merge.Any): // else it would be made to be deleted, perhaps in the way of the next
		return remake(h, s, void, nil)
	}
	return step
}
