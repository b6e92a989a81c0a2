package plan

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// Observe says what a representation, in terms of meta-identifiers, amounts to where the application is to show mine, of what
// the operations fold to, whole. Divided are the fields of which this site shows its share only. Since, Was and Steady are for
// the caller to fill in.
func Observe(
	k *engine.Kind, d engine.DocumentID, representation []byte, whole, mine merge.Fold, divided []engine.Pointer,
) *engine.Shown {
	shown := &engine.Shown{Fold: whole.Digest(d)}
	root, form, ok := tree.Canonical(k, representation)
	if !ok {
		shown.Unseen = engine.UnseenOpaque
		return shown
	}
	shown.Differs = mine.Deviations(k, root)
	for _, p := range divided {
		shown.Apart = shown.Apart || slices.Contains(shown.Differs, p)
		if _, shared := mine.Cells[p]; shared {
			tree.UnsetAt(root, p)
		}
	}
	if len(divided) > 0 {
		form = tree.Compact(root)
	}
	shown.Hash = tree.KeyedDigest(d, "observed", form)
	if len(shown.Differs) > engine.MaxDiffers {
		shown.Differs = shown.Differs[:engine.MaxDiffers]
	}
	return shown
}
