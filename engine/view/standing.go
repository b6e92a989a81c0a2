package view

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// Standing is what the application of a site has been brought to, as far as is known here.
func (v *View) Standing(site engine.SiteID) plan.Standing {
	st, settled, outcomes := v.At(site), v.SettledAt(site), v.Outcomes(site)
	if site == v.Self && st.Bare && v.Exists() {
		joined := st.Joined // the object is made before its content comes, and that before anything else
		inner := settled
		settled = func(o *engine.Operation) bool { return inner(o) || o.ID == joined }
	}
	local := v.LocalAt(site)
	s := plan.Standing{
		Settled: settled,
		Void:    func(o *engine.Operation) bool { return outcomes[o.ID].State == engine.StateSuperseded },
		Blocked: func(o *engine.Operation) bool { return outcomes[o.ID].Blocks },
		Ran:     func(o *engine.Operation) bool { return outcomes[o.ID].Ran },
		Refused: func(o *engine.Operation) bool {
			return outcomes[o.ID].State == engine.StateRejected && !outcomes[o.ID].Blocks
		},
		Undone: func(o *engine.Operation) bool {
			out := outcomes[o.ID]
			return o.Type == engine.TypeDelete && out.State == engine.StateRejected && !out.Blocks && !out.Dropped
		},
		Uncertain: func(o *engine.Operation) bool { return outcomes[o.ID].State == engine.StateUncertain },
		Executed:  func(f engine.Fact) bool { return slices.Contains(st.Executed, f) },
		Gone:      local == "",
		Lossy:     site == v.Self && v.Brings() || adopts(outcomes),
		Carried:   func(o *engine.Operation) bool { return outcomes[o.ID].Carried },
		Yields:    v.Yields(site),
	}
	s.Dropped = s.Gone && slices.ContainsFunc(v.History.Ordered(), func(o *engine.Operation) bool {
		return o.Type == engine.TypeCreate && s.Settled(o) && s.Refused(o)
	})
	return s
}

// adopts reports whether a person has said which object is to become the replica: that has what was done to it.
func adopts(outcomes map[engine.OperationID]engine.Outcome) bool {
	for _, out := range outcomes {
		if out.Adopt != "" {
			return true
		}
	}
	return false
}

// Yields reports whether another resource has this one's name at a site, as far as that site has said.
func (v *View) Yields(s engine.SiteID) bool {
	return v.At(s).Wait(engine.WaitName) != nil && v.Exists()
}

// Unmade reports whether the application of a site has no object, though everything that is settled there says that it exists
// and nobody has decided against it: it is to be made anew.
func (v *View) Unmade(site engine.SiteID) bool {
	if v.LocalAt(site) != "" {
		return false
	}
	st := v.Standing(site)
	return !st.Dropped && v.History.Exists(st.Shown().In)
}

// Quiet reports whether everything known is settled at a site and there is an object, so that what its application shows can
// be compared.
func (v *View) Quiet(s engine.SiteID) bool {
	if !v.Holds(s) || v.LocalAt(s) == "" || v.unexecuted(s) {
		return false
	}
	settled := v.SettledAt(s)
	return !slices.ContainsFunc(v.History.Ordered(), func(o *engine.Operation) bool { return !settled(o) })
}

// unexecuted reports whether a fact counts that a site's application does not follow yet.
func (v *View) unexecuted(s engine.SiteID) bool {
	facts := v.History.Facts()
	if len(facts) == 0 {
		return false
	}
	done := v.At(s).Executed
	return slices.ContainsFunc(facts, func(f engine.Fact) bool { return v.History.Counts(f) && !slices.Contains(done, f) })
}

// SettledPick selects what is settled at this site, with the facts that its application follows.
func (v *View) SettledPick() merge.Pick {
	st := v.Standing(v.Self)
	return merge.Pick{In: st.Settled, Fact: st.Executed}
}

// NeedsBlob reports whether some site may still need the body of an operation, as far as is known here: it has not settled it, or
// has refused it and a person may have it tried again.
func (v *View) NeedsBlob(o *engine.Operation) bool {
	if o.Blob == nil {
		return false
	}
	lives := slices.Contains(v.History.Living(merge.Any), o)
	for _, site := range v.Correspondents() {
		out := v.Outcomes(site)[o.ID]
		refused := (out.State == engine.StateRejected || out.State == engine.StateUncertain) && !out.Dropped && (out.Blocks || !v.History.Base().Has(o))
		if !v.Settled(site, o) || lives && refused {
			return true
		}
	}
	return false
}
