package view

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// Standing is what the application of a site has been brought to, as far as is known here.
func (v *View) Standing(site engine.SiteID) plan.Standing {
	st, settled, outcomes := v.At(site), v.SettledAt(site).Has, v.Outcomes(site)
	if site == v.Self && st.Bare && v.Exists() {
		joined := st.Joined // the object is made before its content comes, and that before anything else
		inner := settled
		settled = func(o *engine.Operation) bool { return inner(o) || o.ID == joined }
	}
	local := v.LocalAt(site)
	s := plan.Standing{
		Settled: settled, Void: none, Blocked: none, Refused: none,
		Gone:   local == "",
		Lossy:  site == v.Self && brings(v) || adopts(outcomes),
		Yields: v.Yields(site),
	}
	if len(outcomes) > 0 { // as a rule there is nothing to tell
		tell(v, &s, outcomes)
	}
	if site == v.Self {
		for _, u := range v.Mine.Undo {
			o := u.Operation
			o.Line, o.Origin = u.Line, u.Line.Site() // which the encoding leaves out
			s.Undo = append(s.Undo, &o)
		}
	}
	if v.rules != nil && site == v.Self {
		s.Alike = func(a, b *engine.Operation) bool { return Alike(v, a, b) }
	}
	s.Dropped = s.Gone && (st.Ended > 0 || slices.ContainsFunc(v.History.Ordered(), func(o *engine.Operation) bool {
		return o.Type == engine.TypeCreate && s.Settled(o) && s.Refused(o)
	}))
	return s
}

func none(*engine.Operation) bool { return false }

// tell has a standing go by what a site has said of single operations.
func tell(v *View, s *plan.Standing, outcomes map[engine.OperationID]engine.Outcome) {
	s.Void = func(o *engine.Operation) bool { return outcomes[o.ID].State == engine.StateSuperseded }
	s.Blocked = func(o *engine.Operation) bool {
		out := outcomes[o.ID]
		over := out.Cause == engine.ConflictUndeclared && o.Type == engine.TypeDelete && !v.Exists() // nothing is to remain any more
		return out.Blocks && !over
	}
	s.Ran = func(o *engine.Operation) bool { return outcomes[o.ID].Ran }
	s.Refused = func(o *engine.Operation) bool {
		return outcomes[o.ID].State == engine.StateRejected && !outcomes[o.ID].Blocks
	}
	s.Stays = func(o *engine.Operation) bool {
		out := outcomes[o.ID]
		return o.Type == engine.TypeDelete && out.State == engine.StateRejected && !out.Blocks && out.Dropped
	}
	s.Uncertain = func(o *engine.Operation) bool { return outcomes[o.ID].State == engine.StateUncertain }
	s.Carried = func(o *engine.Operation) bool { return outcomes[o.ID].Carried }
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

// Quiet reports whether everything known is settled at a site and there is an object, so that what its application shows can
// be compared.
func (v *View) Quiet(s engine.SiteID) bool {
	if !v.Holds(s) || v.LocalAt(s) == "" {
		return false
	}
	settled := v.SettledAt(s)
	return !slices.ContainsFunc(v.History.Ordered(), func(o *engine.Operation) bool { return !settled.Has(o) })
}

// IsVoid reports whether nothing is to come of an operation any more, as far as this site knows.
func IsVoid(v *View, o *engine.Operation) bool {
	return !merge.Among(v.History.Living(merge.Any))(o)
}

// MadeGood lists the operations that were refused here and whose effect is there now, by what by tells.
func MadeGood(v *View, by func(*engine.Operation) bool) []*engine.Operation {
	var ops []*engine.Operation
	for _, o := range v.History.Ordered() {
		if out := v.Mine.Outcomes[o.ID]; out.State == engine.StateRejected && !out.Blocks && o.Edit != nil && by(o) {
			ops = append(ops, o)
		}
	}
	return ops
}

// KeptBy tells which operations a keep among ops has made good: those that its site had settled.
func KeptBy(v *View, ops []*engine.Operation) func(*engine.Operation) bool {
	return func(o *engine.Operation) bool {
		return slices.ContainsFunc(ops, func(by *engine.Operation) bool { return by.Keep && v.History.Before(o, by) })
	}
}
