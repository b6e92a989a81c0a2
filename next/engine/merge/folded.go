package merge

import (
	"cmp"
	"slices"

	"github.com/skerry/skerry/next/engine"
)

// folded are the last folds of a history: what a fold begins with depends on nothing but the operations that count first, so
// one that begins with the same is made from it. A site asks again and again for two, of what its application shows and of all
// that is known, and both grow at the end.
type folded struct {
	made [2]begun
	next int // which of them gives way where none was of use
	// step is how many operations a fold goes beyond one that is kept before it takes the place of that; 0: foldStep.
	step int
}

// begun is a fold of operations, in order.
type begun struct {
	ops  []*engine.Operation
	fold Fold
}

// foldStep spares most of what folding again takes, without a copy for every operation.
const foldStep = 32

// begin returns a fold, the caller's own, of the first n of counting, and where the fold of all of them belongs.
func (k *folded) begin(h *History, counting []*engine.Operation) (f Fold, n, slot int) {
	slot = -1
	for i, b := range k.made {
		if len(b.ops) > n && len(b.ops) <= len(counting) && slices.Equal(b.ops, counting[:len(b.ops)]) {
			n, slot = len(b.ops), i
		}
	}
	if slot < 0 {
		return newFold(h.kind), 0, k.next
	}
	return k.made[slot].fold.clone(), n, slot
}

// keep takes the fold f of counting, which began with n of them, in the place of another one, if that will spare something.
func (k *folded) keep(f Fold, counting []*engine.Operation, n, slot int) {
	if len(counting)-n < cmp.Or(k.step, foldStep) {
		return
	}
	k.made[slot] = begun{slices.Clip(counting), f.clone()}
	k.next = (slot + 1) % len(k.made)
}

// reset forgets them: the history stands on something else.
func (k *folded) reset() { *k = folded{step: k.step} }
