package compact

import (
	"cmp"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// Stable is what every member has settled. An operation that is not known here comes after all of it: it was issued by a member
// after the status that is known of that one, all of whose changes up to then are here, so it has seen what that member had
// settled. Nil when too little is known.
func Stable(v *view.View) engine.Vector {
	members := v.Correspondents()
	vectors := make([]engine.Vector, 0, len(members)+1)
	vectors = append(vectors, v.History.Complete())
	for _, m := range members {
		st := v.At(m)
		if st.Settled == nil || v.Lacks(m) || m != v.Self && heldOf(v, st) {
			return nil
		}
		vectors = append(vectors, st.Settled)
	}
	return engine.Meet(vectors...)
}

// heldOf reports whether an operation that a site has issued and settled, by its status, is not complete here.
func heldOf(v *view.View, st *engine.Status) bool {
	for l, wrote := range st.Lines {
		if !v.Ends(l) && v.History.Last(l) < wrote.Issued && !holdsOwn(st, l) {
			return true
		}
	}
	return false
}

// History puts a checkpoint in the place of what every site has settled, once an eighth of most operations have come since the
// last one. Nothing may be left to do for any of them. What a site has refused stays as it is, and what follows it, so that a
// person can have it tried again; when there are more than most operations, only a note of it stays.
//
// Bodies are the operations with a large body that it stands for now; news says whether there is anything new. Row makes the
// rows of those that are not there any more and are still to be written: they are Folded.
func History(v *view.View, most int, row func(*engine.Operation) engine.OperationRow) (bodies []engine.OperationID, news bool) {
	if v.History.Len() < max(1, most/8) || v.History.Unfollowing() {
		return nil, false
	}
	stable := Stable(v)
	if stable == nil {
		return nil, false
	}
	refused, undone, going := refusals(v), undone(v), going(v)
	hold := func(o *engine.Operation) bool { return undone(o) || unfinished(v, o) || going[o.ID] }
	big, rows := large(v), touchedWithin(v, stable, row)
	if news = v.History.Compact(stable, refused, func(o *engine.Operation) bool { return refused(o) || hold(o) }); v.History.Len() > most {
		news = v.History.Compact(stable, refused, hold) || news
	}
	base := v.History.Base()
	for _, o := range big {
		if base.Has(o) {
			bodies = append(bodies, o.ID)
		}
	}
	if news {
		v.Folds = true
		keepRows(v, rows)
		v.Forget(func(id engine.OperationID) bool { return v.History.Get(id) != nil })
	}
	return bodies, news
}

// touchedWithin makes the rows of the operations within stable that are to be written again, or have a large body. Of one that a
// checkpoint stands for already a part may be here, which is gone with the next.
func touchedWithin(v *view.View, stable engine.Vector, row func(*engine.Operation) engine.OperationRow) map[*engine.Operation]engine.OperationRow {
	rows := map[*engine.Operation]engine.OperationRow{}
	for _, o := range v.History.Ordered() {
		based := v.History.Base().Has(o)
		if (based || stable.Has(o.Line, o.Number)) && (v.Touched[o.ID] || uncertain(v, o) || o.Blob != nil && !based) {
			rows[o] = row(o)
		}
	}
	return rows
}

// keepRows keeps the rows of operations that are not there any more: what has become of them is still to be written.
func keepRows(v *view.View, rows map[*engine.Operation]engine.OperationRow) {
	for o, row := range rows {
		if v.History.Get(o.ID) == nil {
			row.NeedsBlob = NeedsBlob(v, o)
			closes(&row)
			v.Folded = append(v.Folded, row)
		}
	}
	slices.SortFunc(v.Folded, func(a, b engine.OperationRow) int { return cmp.Compare(a.ID, b.ID) })
}

// Closed makes the rows of those operations of which something is left to do here: they are about to be dropped, and what stands for them tells nothing of
// each.
func Closed(v *view.View, row func(*engine.Operation) engine.OperationRow) (rows []engine.OperationRow) {
	for _, o := range v.History.Ordered() {
		if !v.Settled(v.Self, o) {
			one := row(o)
			closes(&one)
			rows = append(rows, one)
		}
	}
	return rows
}

// uncertain reports whether nobody knows of a site whether an operation has run there.
func uncertain(v *view.View, o *engine.Operation) bool {
	return slices.ContainsFunc(v.Correspondents(), func(s engine.SiteID) bool { return v.Outcomes(s)[o.ID].State == engine.StateUncertain })
}

// closes has the row of an operation that is not there any more ask nobody: no decision can be taken about it. All sites have settled it, and one that joins
// anew brings its object to what it has come to.
func closes(row *engine.OperationRow) {
	row.State = engine.StateSuperseded
	for s, st := range row.Sites {
		if st.State == engine.StatePending {
			st.State = engine.StateApplied
			row.Sites[s] = st
		}
		if st.State == engine.StateUncertain {
			st.State, st.Error = engine.StateSuperseded, "nobody has decided whether it ran, and all sites have gone on: "+st.Error
			row.Sites[s] = st
		}
		row.State = row.State.Worse(st.State)
	}
}

// undone tells of what this site has settled what its application has still to be brought to.
func undone(v *view.View) func(*engine.Operation) bool {
	if v.Part(v.Self) == view.PartFormer {
		return func(*engine.Operation) bool { return false }
	}
	return plan.Unfinished(v.History, v.Standing(v.Self))
}

// large lists the operations with a large body that no checkpoint stands for.
func large(v *view.View) []*engine.Operation {
	if !v.Large {
		return nil
	}
	base := v.History.Base()
	return slices.DeleteFunc(slices.Clone(v.History.Ordered()), func(o *engine.Operation) bool { return o.Blob == nil || base.Has(o) })
}

// unfinished reports whether an operation that is settled is to be applied once more at some site, or has made there what a person is to find.
func unfinished(v *view.View, o *engine.Operation) bool {
	return slices.ContainsFunc(v.Correspondents(), func(s engine.SiteID) bool {
		out := v.Outcomes(s)[o.ID]
		return out.Again || o.Type == engine.TypeCreate && out.State == engine.StateUncertain
	})
}

// going are the deletions that an application has accepted whose object is not known to be gone: a person may be asked about each.
func going(v *view.View) map[engine.OperationID]bool {
	ids := map[engine.OperationID]bool{}
	if g := v.Mine.Going; g.Accepted() {
		ids[g.By] = true
	}
	for _, s := range v.Correspondents() {
		if w := v.At(s).Wait(engine.WaitDeleting); w != nil {
			ids[w.Operation] = true
		}
	}
	return ids
}

// refusals tells which operations a site has not applied, or is to apply once more.
func refusals(v *view.View) func(*engine.Operation) bool {
	refused := map[engine.OperationID]bool{}
	for _, s := range v.Correspondents() {
		for id, out := range v.Outcomes(s) {
			if out.State == engine.StateRejected || out.State == engine.StateUncertain || out.Again {
				refused[id] = true
			}
		}
	}
	return func(o *engine.Operation) bool { return refused[o.ID] }
}
