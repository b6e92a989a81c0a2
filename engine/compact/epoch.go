package compact

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// EpochEnding reports whether this site has a part in ending an epoch. While another resource has the name at a member, which
// settles nothing then, that waits for a person; where no operation is known, for one.
func EpochEnding(v *view.View) bool {
	p := v.Part(v.Self)
	return len(v.Epochs) > 1 && !v.Blank() && (p == view.PartMember || p == view.PartLeaving) && !slices.ContainsFunc(v.Correspondents(), v.Yields)
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
	base := v.History.Base()
	if base == nil || !agreed(v) {
		return false
	}
	return !slices.ContainsFunc(v.History.Ordered(), func(o *engine.Operation) bool { return !base.Has(o) && o.Epoch < v.Current().Number })
}

// EpochLong reports whether the current epoch has grown so long that the next one is to be opened: by operations, by what sites say
// beside, or by what nobody needs any more of a resource that was deleted. Opening one costs a status of every member.
func EpochLong(v *view.View, most int) bool {
	current := v.Current()
	return current.Operations >= most || current.Changes() >= uint64(4*most+8*len(v.Correspondents())) ||
		current.Bytes >= endedBytes*most*len(v.Correspondents()) && !v.Exists()
}

// epochLost reports whether an operation is held back at its own site as well: that was set back, and maybe nobody has any more what it builds on.
// The end of the epoch tells.
func epochLost(v *view.View) bool {
	return v.History.Held() > 0 && slices.ContainsFunc(v.Correspondents(), func(m engine.SiteID) bool {
		st := v.At(m)
		if v.Lacks(m) || !v.History.HeldBack(m) {
			return false
		}
		for l := range st.Lines {
			if !v.Ends(l) && holdsOwn(st, l) {
				return true
			}
		}
		return false
	})
}

// holdsOwn reports whether a site holds back what it has issued itself in a line: its disk was set back.
func holdsOwn(st *engine.Status, l engine.Line) bool {
	return !st.Rejoins && st.Lines[l].Issued > st.Settled[l]
}

// agreed reports whether all members have the same in the epoch before the current one, and nothing of it can be added here any more.
func agreed(v *view.View) bool {
	return len(v.Epochs) > 1 && v.Refused == 0 && !v.Stale && !(v.Folds && v.History.Unfollowing()) && v.Whole() && view.Agreed(v)
}

// forgo gives up what is held back of the epoch before the current one, once all members have the same there, and returns how much that is. Nobody
// has what it builds on: that was on a disk that was set back.
func forgo(v *view.View) (gone int) {
	if v.History.Held() == 0 || !agreed(v) {
		return 0
	}
	if gone = v.History.Forgo(v.Current().Number); gone > 0 {
		v.Changed()
	}
	return gone
}

// endedBytes is how large, for each member and for each operation that an epoch may have, the operations of a resource that
// was deleted may be to stay: 4 KiB a member by default.
const endedBytes = 16
