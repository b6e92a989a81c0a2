package view

import (
	"encoding/json"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// Sides tells of a conflict about an operation what whoever issued that saw (base) and what all that is known amounts to at this
// site (wanted), by path, and which paths the conflict is about, sorted.
func (v *View) Sides(id engine.OperationID) (base, wanted map[engine.Pointer]json.RawMessage, paths []engine.Pointer) {
	wanted = v.History.Fold(merge.Everything).Paths()
	o := v.History.Get(id)
	if o == nil { // what it has set, if it has run, is what differs from all others
		return wanted, wanted, tree.Sorted(wanted)
	}
	base = v.History.Fold(merge.Pick{In: func(p *engine.Operation) bool { return v.History.Before(p, o) }}).Paths()
	if o.Type == engine.TypeCreate || o.Edit == nil { // of what else an opaque request sets nobody knows
		return base, wanted, tree.Sorted(wanted)
	}
	set := map[engine.Pointer]bool{}
	for p := range o.Edit.Set {
		set[p] = true
	}
	for p := range o.Edit.Add {
		set[p] = true
	}
	for _, p := range o.Edit.Unset {
		set[p] = true
	}
	return base, wanted, tree.Sorted(set)
}

// LastShown is what a site's part of a cross resource showed last, nil for nothing. Where the site has settled something since it
// looked, what is divided is its share of that: how a part is divided needs no look.
func (v *View) LastShown(s engine.SiteID) json.RawMessage {
	st := v.At(s)
	if st.Summary == nil || st.Shown != nil {
		return st.Summary
	}
	at := v.Standing(s)
	settled := merge.Pick{In: func(o *engine.Operation) bool { return at.Shows(o) && !at.Refused(o) }, Fact: at.Executed}
	return v.History.ShareAt(s, settled, st.Summary)
}
