package view

import "github.com/skerry/skerry/engine"

// Refuses says why this site does not let another one do something to resources of a kind; empty: it does.
type Refuses func(from engine.SiteID, act engine.Act) string

// Judge holds the operations of other sites that this site does not accept, as its rules are now: they wait for a person here, or for other
// rules, and are never sent to the application. It lets those go on that it accepts by now. Sent reports whether an operation is on its way
// to the application already. Refuses is nil where everything is accepted.
func Judge(v *View, refuses Refuses, sent func(engine.OperationID) bool) {
	if refuses == nil && len(v.Mine.Outcomes) == 0 {
		return
	}
	for _, o := range v.History.Ordered() {
		out := v.Mine.Outcomes[o.ID]
		held := out.Cause == engine.ConflictNotAccepted && out.Blocks
		if o.Origin == v.Self || v.settles(o) || out.Blocks && !held || out.Ran || sent(o.ID) {
			continue
		}
		why := ""
		if act := doneBy(v, o); act != "" && refuses != nil && !out.Let {
			why = refuses(o.Origin, act)
		}
		switch {
		case why != "" && (!held || out.Error != why):
			v.Became(o.ID, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictNotAccepted, Error: why, Again: out.Again})
		case why == "" && held:
			v.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: out.Again})
		}
	}
}

// doneBy is what an operation of another site would do to this site's application; empty: nothing. A placement makes an object where it adds
// this site, and changes a share of what is divided.
func doneBy(v *View, o *engine.Operation) engine.Act {
	switch {
	case o.Type == engine.TypePlace && o.ID == v.Me.Joined:
		return engine.ActCreate
	case o.Type == engine.TypePlace && len(v.Kind.Divide) == 0, o.Type == engine.TypeDelete && v.Mine.Local == "":
		return ""
	}
	return o.Type.Act()
}
