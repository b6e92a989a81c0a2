package compact

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// EpochEnding reports whether this site has a part in ending an epoch. While another resource has the name at a member, which
// settles nothing then, that waits for a person.
func EpochEnding(v *view.View) bool {
	p := v.Part(v.Self)
	return len(v.Epochs) > 1 && (p == view.PartMember || p == view.PartLeaving) && !slices.ContainsFunc(v.Correspondents(), v.Yields)
}

// EpochBegun reports whether every member is known to have the current epoch alone, so that nobody will need anything of
// the one before, nor anybody whom one of them adds.
func EpochBegun(v *view.View) bool {
	current := v.Current()
	return current.Number == 0 || !slices.ContainsFunc(v.Correspondents(), func(m engine.SiteID) bool {
		return m != v.Self && (!v.Reached(v.At(m)) || !v.At(m).Over)
	}) && len(v.Epochs) == 1
}

// EpochOver reports whether the epoch before the current one is over here: every member writes in the current one and has all that
// any has written before, the same in the end, and a checkpoint stands for it.
func EpochOver(v *view.View) bool {
	if len(v.Epochs) < 2 || v.History.Base() == nil || v.Refused > 0 || v.Stale || !v.Whole() || !view.Agreed(v) {
		return false
	}
	if slices.ContainsFunc(v.Correspondents(), v.History.HeldBack) {
		return false
	}
	base := v.History.Base()
	return !slices.ContainsFunc(v.History.Ordered(), func(o *engine.Operation) bool { return !base.Has(o) && o.Epoch < v.Current().Number })
}

// EpochLong reports whether the current epoch has grown so long that the next one is to be opened: by operations, by what sites say
// beside, or by what nobody needs any more of a resource that was deleted. Opening one costs a status of every member.
func EpochLong(v *view.View, most int) bool {
	current := v.Current()
	return current.Operations >= most || current.Changes() >= uint64(4*most+8*len(v.Correspondents())) ||
		current.Bytes >= endedBytes*most*len(v.Correspondents()) && !v.Exists()
}

// endedBytes is how large, for each member and for each operation that an epoch may have, the operations of a resource that
// was deleted may be to stay: 4 KiB a member by default.
const endedBytes = 16
