package view

import (
	"fmt"

	"github.com/skerry/skerry/engine"
)

// Rules say whether this site lets another one do something to resources of a kind, and with whose rights.
type Rules func(from engine.SiteID, act engine.Act) engine.Acceptance

// Judge holds the operations of other sites that this site does not accept, as its rules are now: they wait for a person here, or for other
// rules, and are never sent to the application. It lets those go on that it accepts by now. Sent reports whether an operation is on its way
// to the application already. Rules are nil where everything is accepted, as the agent.
func Judge(v *View, rules Rules, sent func(engine.OperationID) bool) {
	v.rules = rules
	if rules == nil && len(v.Mine.Outcomes) == 0 {
		return
	}
	for _, o := range v.History.Ordered() {
		out := v.Mine.Outcomes[o.ID]
		if v.History.Get(o.ID) != o && !o.Copy { // what was said about another one of that identifier is not said about it
			out.Let, out.Ran = false, false
		}
		held := out.Cause == engine.ConflictNotAccepted && out.Blocks
		if o.Origin == v.Self || v.settles(o) || out.Blocks && !held || out.Ran || sent(o.ID) {
			continue
		}
		why := ""
		if act := doneBy(v, o); act != "" && rules != nil && !out.Let {
			why = refuses(v, o, act)
		}
		switch {
		case why != "" && (!held || out.Error != why):
			v.Became(o.ID, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictNotAccepted, Error: why, Again: out.Again})
		case why == "" && held:
			v.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: out.Again})
		}
	}
}

// refuses says why an operation is not accepted; empty: it is.
func refuses(v *View, o *engine.Operation, act engine.Act) string {
	a := v.rules(o.Origin, act)
	if !a.Accepted {
		return a.Reason
	}
	if who, as := WithRightsOf(v, o); as == engine.AsUser && who == nil {
		return fmt.Sprintf("%s does what %s asks for with the rights of who asked there, and nobody knows who did: %s", v.Name(v.Self), v.Name(o.Origin), a.Reason)
	}
	return ""
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

// WithRightsOf tells with whose rights an operation is done here: the agent's, or those of who asked; who is nil for the agent, and where
// nobody knows. What was there before this site was added is done here for whoever has added it. Without anybody who is known, what a person
// here has let in is done with the agent's rights, by that person's word.
func WithRightsOf(v *View, o *engine.Operation) (who *engine.Asker, as engine.As) {
	if v.rules == nil {
		return nil, engine.AsAgent
	}
	let := v.Mine.Outcomes[o.ID].Let
	act := o.Type.Act()
	if by := v.History.Get(v.Me.Joined); by != nil && (by == o || by.Saw(o.Line, o.Number)) {
		o, act, let = by, engine.ActCreate, let || v.Mine.Outcomes[by.ID].Let
	}
	if o.Origin == v.Self || v.rules(o.Origin, act).As != engine.AsUser || o.Asker == nil && let {
		return nil, engine.AsAgent
	}
	return o.Asker, engine.AsUser
}

// Alike reports whether two operations are done here with the same rights, so that one request may do both.
func Alike(v *View, a, b *engine.Operation) bool {
	one, as := WithRightsOf(v, a)
	other, like := WithRightsOf(v, b)
	return as == like && one.Same(other)
}

// WithRightsOfAll tells with whose rights all that is known of the resource is done here; false: no single one's, or those of nobody who is
// known.
func WithRightsOfAll(v *View) (who *engine.Asker, one bool) {
	if v.rules == nil {
		return nil, true
	}
	if base := v.History.Base(); base != nil && base.Count > 0 { // nobody knows who asked for what it stands for
		for _, s := range v.Correspondents() {
			if s != v.Self && v.rules(s, engine.ActChange).As == engine.AsUser {
				return nil, false
			}
		}
	}
	var first *engine.Operation
	for _, o := range v.History.Ordered() {
		if first == nil {
			first = o
		}
		if w, as := WithRightsOf(v, o); !Alike(v, first, o) || w == nil && as == engine.AsUser {
			return nil, false
		}
	}
	if first == nil {
		return nil, true
	}
	who, _ = WithRightsOf(v, first)
	return who, true
}
