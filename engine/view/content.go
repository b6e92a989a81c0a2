package view

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// CarriedBy lists the operations whose effect has come with content that was copied from where some are settled. It is not whole when that
// site lacked something that this one's replica begins with.
func CarriedBy(v *View, settled engine.Vector) (carried []*engine.Operation, whole bool) {
	living, large := v.History.Living(merge.Any), map[string]*engine.Operation{} // the last large bytes of each path that have come
	there := func(o *engine.Operation) bool { return o.In(settled) }
	for _, o := range living {
		if o.Blob != nil && plan.ContentOf(v.Kind, o) != nil && there(o) {
			large[o.Path] = o
		}
	}
	for _, o := range living {
		switch l := large[o.Path]; {
		case o.Type == engine.TypeAbsolute && l != nil && engine.Compare(o, l) <= 0:
			if there(o) && !v.Settled(v.Self, o) { // nobody may have its body any more, and what was before is not put over it
				carried = append(carried, o)
			}
		case o.Type != engine.TypeAction || o.Edit != nil:
		case v.Settled(v.Self, o) && !there(o):
			return nil, false
		case there(o) && !v.Settled(v.Self, o):
			carried = append(carried, o)
		}
	}
	return carried, true
}

// WithoutBody is what becomes here of an operation whose body no site has any more. It counts as applied where somebody has accepted
// that when this site was added, and waits where the content is still to be copied, or where a site that was removed may still tell.
// Else it is refused, so that a person sees it.
func WithoutBody(v *View, o *engine.Operation) (out engine.Outcome, may bool) {
	joined := v.History.Get(v.Me.Joined)
	if joined != nil && joined.Place != nil && joined.Place.Forced && len(v.Kind.Content) == 0 && v.History.Before(o, joined) {
		return engine.Outcome{State: engine.StateApplied, Carried: true, Error: "no site had its body any more when this one was added"}, true
	}
	unheard := func(site engine.SiteID) bool { return !v.Holds(site) || joined != nil && !v.Settled(site, joined) }
	if v.Me.Bare || slices.ContainsFunc(v.Others(), unheard) {
		return engine.Outcome{}, false
	}
	return engine.Outcome{State: engine.StateRejected, Error: "no site has its body any more", Blocks: o.Type == engine.TypeCreate}, true
}

// Wanted lists the operations whose large bodies are needed here sooner or later: they are fetched while other sites are sure to have them.
func Wanted(v *View, has func(engine.BlobRef) bool) (wanted []*engine.Operation) {
	if !v.Large {
		return nil
	}
	for _, o := range v.History.Living(merge.Any) {
		if o.Blob != nil && !v.Settled(v.Self, o) && !v.Mine.Outcomes[o.ID].Carried && !has(*o.Blob) {
			wanted = append(wanted, o)
		}
	}
	return wanted
}
