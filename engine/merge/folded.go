package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// folded are the last folds of a history. What a fold begins with depends on nothing but the operations that count first, so
// one that begins with the same is made from it. A site asks again and again for two, of what its application shows and of all
// that is known, and both grow at the end.
type folded struct {
	made [2]begun
	next int // which of them gives way where none was of use
}

// begun is a fold of operations, in order. Neither is changed any more.
type begun struct {
	ops  []*engine.Operation
	fold Fold
}

// foldOf applies the operations that count, in order. The fold is shared.
func (h *History) foldOf(counting []*engine.Operation) Fold {
	slot, n := h.folded.longest(counting)
	var f Fold
	switch {
	case slot < 0:
		f, slot = newFold(h.kind), h.folded.next
	case n == len(counting):
		return h.folded.made[slot].fold
	default:
		f = h.folded.made[slot].fold.clone()
	}
	ordered := h.base.ordersUntil(h.kind, counting)
	for i, o := range counting[n:] {
		f.Exists = f.Exists || o.Type == engine.TypeCreate
		f.apply(h.base, o)
		if n+i+1 == ordered {
			f.rearrange(h.base.Order)
		}
	}
	slices.SortFunc(f.Superseded, compareSuperseded)
	h.folded.made[slot] = begun{slices.Clip(counting), f}
	h.folded.next = (slot + 1) % len(h.folded.made)
	return f
}

// longest finds the fold of the most operations that counting begins with; negative for none.
func (k *folded) longest(counting []*engine.Operation) (slot, n int) {
	slot = -1
	for i, b := range k.made {
		if len(b.ops) > n && len(b.ops) <= len(counting) && slices.Equal(b.ops, counting[:len(b.ops)]) {
			slot, n = i, len(b.ops)
		}
	}
	return slot, n
}
