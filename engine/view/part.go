package view

import (
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// Part is what a site has to do with a resource, as far as is known here.
type Part int

const (
	PartNone    Part = iota // nothing, and it never had
	PartMember              // it belongs to the placement
	PartLeaving             // it was removed, and has not said that it has left, or what it had accepted is still to come
	PartFormer              // it has left
)

// Part tells what a site has to do with the resource.
func (v *View) Part(s engine.SiteID) Part {
	switch {
	case v.Placement().Has(s):
		return PartMember
	case !v.Writes(s) || v.expected[s]:
		return PartNone
	case v.newestOf(s).Left != nil && !v.Lacks(s) && HasAll(v, v.newestOf(s).Settled):
		return PartFormer
	}
	return PartLeaving
}

// With lists the sites that have one of these parts, sorted.
func (v *View) With(parts ...Part) []engine.SiteID {
	if v.settled() && !slices.Contains(parts, PartMember) {
		return nil
	}
	var ids []engine.SiteID
	for s := range v.writers {
		if slices.Contains(parts, v.Part(s)) {
			ids = append(ids, s)
		}
	}
	slices.Sort(ids)
	return ids
}

// Correspondents are the sites that changes and statuses of the resource are for, this one included: the members, and those
// that were removed and may have something left to say.
func (v *View) Correspondents() []engine.SiteID {
	if v.settled() {
		return v.Placement().Sites
	}
	return slices.DeleteFunc(v.With(PartMember, PartLeaving), func(s engine.SiteID) bool { return v.overdue[s] })
}

// Others are the correspondents but this site. The list belongs to the view.
func (v *View) Others() []engine.SiteID {
	placed, settled := v.Placement(), v.settled()
	if settled && v.others.of == placed {
		return v.others.list
	}
	list := slices.DeleteFunc(slices.Clone(v.Correspondents()), func(s engine.SiteID) bool { return s == v.Self })
	if settled {
		v.others = others{placed, list}
	}
	return list
}

// others are those of a placement that nobody has left.
type others struct {
	of   *merge.Placement
	list []engine.SiteID
}

// nothing is what is known of a site that has said nothing.
var nothing engine.Status

// At is a site's status as it stands. That of an added site begins with what was settled where it was added. What a former
// site has said before it left counts for nothing once it belongs to the placement again. The status belongs to the view.
func (v *View) At(s engine.SiteID) *engine.Status {
	st := v.newestOf(s)
	if st.Left != nil && v.Holds(s) {
		return &nothing // it has not begun anew, as far as is known here
	}
	return st
}

// newestOf is the newest status of a site.
func (v *View) newestOf(s engine.SiteID) *engine.Status {
	if s == v.Self {
		return &v.Me
	}
	if h, ok := v.Statuses.of[s]; ok {
		return h.status
	}
	return &nothing
}

// Begins returns the operation that has added this site to the placement and that it has not begun with yet; nil: none.
func BegunBy(v *View) *engine.Operation {
	p := v.Placement()
	if !p.Has(v.Self) {
		return nil
	}
	by := p.Added[v.Self]
	switch {
	case v.Me.Left != nil && by == nil: // its removal has turned out to be void
		return v.History.Get(v.Me.Left.By)
	case v.Me.Left != nil:
		return by
	case v.Me.Joined != "" || slices.Contains(v.About.Placement, v.Self):
		return nil
	}
	return by
}

// Misses reports whether this site had left, and may not begin again with the operation that has added it (nil: none has): the others may have
// dropped what it lacks, since they took it for one that had left. It may where it has all of the epoch before the current one, or where a
// member that knows of that operation has both epochs still, and waits for this site from then on.
func Misses(v *View, by *engine.Operation) bool {
	return by != nil && v.Me.Left != nil && !v.Whole() && !slices.ContainsFunc(v.Others(), func(s engine.SiteID) bool {
		st := v.At(s)
		return st.Epoch == v.Current().Number && !st.Over && by.In(st.Settled)
	})
}

// Brings reports whether what undeclared actions have done comes to this site, which was added, in another way than by the
// actions, or somebody has accepted that it does not.
func brings(v *View) bool {
	o := v.History.Get(v.Me.Joined)
	return o != nil && (len(v.Kind.Content) > 0 || o.Place != nil && o.Place.Forced)
}

// Holders lists the other sites that have the object with all that belongs to it.
func HoldersOf(v *View) []engine.SiteID {
	var ids []engine.SiteID
	for _, id := range v.Others() {
		if st := v.At(id); st.Object && !st.Bare {
			ids = append(ids, id)
		}
	}
	return ids
}

// Lapse takes out of what is waited for the sites that were removed so long ago that nothing waits for them any more. It
// reports whether there are new ones, and after what time there will be more; zero: never.
func (v *View) Lapse(now time.Time, patience time.Duration) (news bool, again time.Duration) {
	if v.settled() {
		return false, 0
	}
	for _, s := range v.With(PartLeaving) {
		if s == v.Self || v.overdue[s] {
			continue
		}
		by := v.Placement().Removed[s]
		if by == nil { // it has settled its removal, and a checkpoint stands for that
			v.overdue[s], news = true, true
			continue
		}
		if left := engine.Time(by.Time).Add(patience).Sub(now); left <= 0 {
			v.overdue[s], news = true, true
		} else if again == 0 || left < again {
			again = left
		}
	}
	if news {
		v.TouchAll()
	}
	return news, again
}

// NothingBefore reports whether this site, which was removed, has nothing left to do before its removal: what comes after that in the
// order is not for it, and what waits for a person waits in vain.
func NothingBefore(v *View, next plan.Step) bool {
	if next.Kind == plan.StepNothing || next.Kind == plan.StepHold || len(next.Operations) == 0 { // an object that has vanished is not made anew any more
		return true
	}
	by := v.Placement().Removed[v.Self]
	return by == nil || engine.Compare(next.Operations[0], by) >= 0
}
