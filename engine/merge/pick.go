package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// Pick selects operations of a history.
type Pick func(*engine.Operation) bool

// Any selects every operation.
func Any(*engine.Operation) bool { return true }

// Or selects ops as well.
func (p Pick) Or(ops ...*engine.Operation) Pick {
	if len(ops) == 0 {
		return p
	}
	return func(o *engine.Operation) bool { return p(o) || slices.Contains(ops, o) }
}

// But selects what p does without ops.
func (p Pick) But(ops ...*engine.Operation) Pick {
	if len(ops) == 0 {
		return p
	}
	without := Among(ops)
	return func(o *engine.Operation) bool { return p(o) && !without(o) }
}

// few is how long a list may be that is looked through.
const few = 8

// Among returns what selects the operations of a list.
func Among(ops []*engine.Operation) func(*engine.Operation) bool {
	if len(ops) <= few {
		return func(o *engine.Operation) bool { return slices.Contains(ops, o) }
	}
	set := make(map[*engine.Operation]bool, len(ops))
	for _, o := range ops {
		set[o] = true
	}
	return func(o *engine.Operation) bool { return set[o] }
}

// Within returns what selects the operations of a list that is in order.
func Within(ordered []*engine.Operation) func(*engine.Operation) bool {
	return func(o *engine.Operation) bool {
		_, found := slices.BinarySearchFunc(ordered, o, engine.Compare)
		return found
	}
}

// All returns the operations of the history for which in is true, in order. The slice is the caller's.
func (h *History) All(in func(*engine.Operation) bool) []*engine.Operation {
	var list []*engine.Operation
	for _, o := range h.ordered {
		if in(o) {
			list = append(list, o)
		}
	}
	return list
}
