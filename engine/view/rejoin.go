package view

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// Skips reports whether a checkpoint that an epoch begins with stands for all epochs that are here, or for one of which this site lacks something and
// which others have ended: it had left meanwhile, or its disk was set back. What is here of an epoch that ends with what a lost run has written may be
// another.
func Skips(v *View, epoch uint64) bool {
	return !v.Blank() && (epoch > v.Current().Number || epoch > v.Epochs[0].Number &&
		(v.Me.Rejoins || v.History.HeldBefore(v.Current().Number) || lacksOfEnding(v) || Misses(v, BegunBy(v))))
}

// lacksOfEnding reports whether a site has written something, by what it says, that is not here, in another epoch than the current one.
func lacksOfEnding(v *View) bool {
	ending := v.Epochs[0]
	return slices.ContainsFunc(v.LacksAny(), func(s engine.SiteID) bool {
		st := v.At(s)
		if st.Epoch > v.Current().Number {
			return true
		}
		for l, wrote := range st.Lines {
			there := wrote.Final
			if st.Epoch == ending.Number {
				there = wrote.Changes
			}
			if !v.Ends(l) && ending.Tip(l).Number < there {
				return true
			}
		}
		return false
	})
}

// Lost reports whether another site has settled what this one has written, and that is not here: its disk was set back.
func Lost(v *View, settled engine.Vector) bool {
	for l, n := range settled {
		if l.Site() == v.Self && !v.Ends(l) && n > v.History.Issued(l) {
			return !v.Blank()
		}
	}
	return false
}

// TooLate reports whether what is here builds on what the others have let go of, so that nothing brings it together any more: most of them say
// of themselves that they have, in statuses that nobody else can write. One member alone makes nobody let go of what is here, but for a site that
// has left, and whose last word was that the others have all of it.
func TooLate(v *View, epoch uint64) bool {
	all, without := 0, 0
	for _, s := range v.Others() {
		st := v.At(s)
		if st.Rejoins || v.Forker(s) {
			continue
		}
		if all++; st.Epoch > epoch || st.Epoch == epoch && st.Over {
			without++
		}
	}
	return 2*without > all || v.Me.Left != nil
}

// Told reports whether another member has told what the resource is: all that it has settled is here. Where all others join anew themselves nobody
// has anything to tell, and each goes on with what it has. Of a resource of which nothing is here, not even who else has it, somebody has to tell.
func Told(v *View) bool {
	others := v.Others()
	alone := !v.Blank() || len(others) > 0
	for _, s := range others {
		st := v.At(s)
		if st.Rejoins {
			continue
		}
		alone = false
		lacking := v.Lacks(s)
		if lacking && st.Epoch == v.Current().Number+1 { // nobody may have written in it yet: this site begins it once it has joined
			lacking = lacks(v, st, &Epoch{}, v.Current())
		}
		if st.Number > 0 && !lacking && HasAll(v, st.Settled) {
			return true
		}
	}
	return alone
}

// Barred reports whether another site has settled what cannot be taken in here, since the checkpoint that this site's documents begin with says
// that everything later has seen what it stands for: a lost run of this site had told the other of what had not.
func Barred(v *View) bool {
	return v.History.Unfollowing() && !v.Folds && slices.ContainsFunc(v.Others(), func(s engine.SiteID) bool {
		return !v.At(s).Rejoins && !HasAll(v, v.At(s).Settled)
	})
}
