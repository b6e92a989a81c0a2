package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// Row describes the resource for the index: the state of each replica, of which the resource's is the worst. Conflicts are
// those of v, next is what this site would do next, working says that it has something under way, is to find out
// what came of a request, or is to look at what its application shows.
func Row(v *view.View, now time.Time, conflicts []engine.Conflict, next plan.Step, working bool) engine.ResourceRow {
	row := engine.ResourceRow{
		Document: v.Document, ID: v.About.Key, Service: v.About.Service, Kind: v.About.Kind,
		Collaboration: v.Placement().Collaboration(v.About.Collaboration), Local: cmp.Or(v.Mine.Local, v.Mine.Was), CreatedAt: v.CreatedAt, UpdatedAt: now, State: engine.StateConverged,
	}
	if v.About.Chooses() {
		row.Pending = working || compact.EpochEnding(v) || v.Me.Rejoins
		holders(v, &row, conflicts)
		return row
	}
	if v.Me.Bare {
		row.Local = "" // requests go to where all of it is
	}
	placement, exists := v.Placement().Sites, v.Exists()
	row.Sites = make(map[engine.SiteID]engine.ReplicaStatus, len(placement))
	for _, s := range placement {
		row.Sites[s] = replicaStatus(v, s, conflicts)
	}
	if exists {
		compare(v, row.Sites, conflicts)
	}
	spreadOut(v, row.Sites)
	behind, apart, reasons := reasons(v, &row, placement)
	for _, s := range v.With(view.PartLeaving) {
		row.Sites[s] = leavingStatus(v, s)
	}
	if v.Part(v.Self) == view.PartFormer {
		row.State, row.Reason = engine.StateLeft, "this site was removed from its placement"
		return row
	}
	switch {
	case exists && (v.Kind.Label != "" || len(v.Kind.Refs) > 0):
		fold := v.History.Whole(merge.Any)
		row.Label, row.Relations = fold.Label(v.Kind), relations(v, fold)
	case !exists:
		row.Relations = parts(v)
	}
	row.Pending = working || !v.Yields(v.Self) && (row.Sites[v.Self].Pending > 0 || next.Kind != plan.StepNothing) || compact.EpochEnding(v) || v.Me.Rejoins
	switch {
	case row.State == engine.StateConverged && v.Blank() && working: // a request that may make it is in flight
		row.State = engine.StateConverging
	case row.State == engine.StateConverged && !exists:
		row.State = engine.StateDeleted
	case row.State == engine.StateConverging && view.HeldBack(v) > 0:
		row.Reason = row.Sites[v.Self].Reason
	case row.State == engine.StateConverging && len(behind) > 0:
		row.Reason = strings.Join(append([]string{"waiting for " + strings.Join(behind, ", ")}, reasons...), "; ")
	case row.State == engine.StateConverging:
		row.Reason = strings.Join(apart, "; ")
	default:
		row.Reason = strings.Join(reasons, "; ")
	}
	goes(v, &row, placement)
	if why := Crowded(v); why != "" {
		row.State = row.State.Worse(engine.StateDegraded)
		row.Reason = strings.TrimSuffix(why+"; "+row.Reason, "; ")
	}
	for _, s := range placement { // requests without an answer, which no operation tells of: what a person is asked is a conflict
		if w := v.At(s).Wait(engine.WaitAnswer); w != nil {
			worsen(v, &row, s, engine.StateConverging, waitWords(w))
		}
	}
	if v.Mine.Lacking != "" {
		worsen(v, &row, v.Self, engine.StateDegraded, v.Mine.Lacking)
	}
	// What a deleted object was called is kept. Where nobody has any operation of the resource the object was not deleted: it is nobody's.
	if row.Local == "" && !exists && !v.Blank() && (row.State.Past() || row.GoneAt(v.Self)) && !v.Kind.Natural() {
		row.Local = v.Said[v.Self].Local
	}
	return row
}

// holders makes the row tell of a name who holds it. What nobody holds is free: there is nothing of that name.
func holders(v *view.View, row *engine.ResourceRow, conflicts []engine.Conflict) {
	row.State, row.Sites = engine.StateDeleted, map[engine.SiteID]engine.ReplicaStatus{}
	for site, h := range v.Holding() {
		row.State, row.Sites[site] = engine.StateConverged, engine.ReplicaStatus{Local: h.Local, State: engine.StateConverged}
	}
	for i := range conflicts {
		if c := &conflicts[i]; c.Open() {
			worsen(v, row, c.Site, c.State(), c.Reason)
		}
	}
}

// reasons collects for people why the sites are in their states, and makes the row's state the worst of them.
func reasons(v *view.View, row *engine.ResourceRow, placement []engine.SiteID) (behind, apart, reasons []string) {
	for _, s := range placement {
		st, site := row.Sites[s], v.At(s)
		if st.State == engine.StateConverged || st.State == engine.StateConverging {
			switch {
			case site.Rejoins:
				st.Reason = "its disk was set back, or it was away for too long: what it has is being found out"
			case st.Paused != nil:
				st.Reason = st.Paused.String()
			case st.Held:
				st.Reason = Unconfirmed(v.Name(s))
			}
			row.Sites[s] = st
		}
		switch {
		case st.State == engine.StateConverging && (st.Pending > 0 || st.Unmade):
			behind = append(behind, string(v.Name(s)))
		case st.State == engine.StateConverging:
			apart = append(apart, fmt.Sprintf("%s: %s", v.Name(s), st.Reason))
		}
		mismatch := st.Pending > 0 && site.Wait(engine.WaitMismatch) != nil
		if st.Reason != "" && (st.State != engine.StateConverging || st.Paused != nil || st.Held || mismatch) {
			reasons = append(reasons, fmt.Sprintf("%s: %s", v.Name(s), st.Reason))
		}
		row.State = row.State.Worse(st.State)
	}
	return behind, apart, reasons
}

// goes makes the row say where a deletion was accepted and the object is not known to be gone.
func goes(v *view.View, row *engine.ResourceRow, placement []engine.SiteID) {
	for _, s := range placement {
		why := ""
		if w := v.At(s).Wait(engine.WaitDeleting); w != nil {
			why = waitWords(w)
		} else if g := v.Mine.Going; s == v.Self && g.Accepted() && v.Mine.Local == "" {
			why = fmt.Sprintf("the application has accepted the deletion (%s); whether the object is gone is being looked at", plan.Code(g.Status))
		}
		if why == "" {
			continue
		}
		if row.State == engine.StateDeleted {
			row.State = engine.StateDeleting
		}
		worsen(v, row, s, engine.StateDeleting, why)
	}
}

// worsen makes the row say that its resource is, for one site, in a state that is no better than the one named.
func worsen(v *view.View, row *engine.ResourceRow, site engine.SiteID, state engine.State, why string) {
	if st := row.Sites[site]; st.State.Rank() < state.Rank() {
		st.State, st.Reason = state, why
		row.Sites[site] = st
	}
	why = fmt.Sprintf("%s: %s", v.Name(site), why)
	if row.State.Rank() < state.Rank() {
		row.State, row.Reason = state, why
	} else {
		row.Reason = strings.TrimPrefix(row.Reason+"; "+why, "; ")
	}
}

func waitWords(w *engine.Wait) string {
	return fmt.Sprintf("%s (since %s)", w.Reason, engine.Time(w.Since).Format("2006-01-02 15:04:05 UTC"))
}

// Unconfirmed is what people read of a deletion that is held at a site.
func Unconfirmed(at engine.SiteName) string {
	return fmt.Sprintf("deleted while %s was away, together with many others: it waits until somebody lets it run, or rejects it", at)
}

// PauseOf is what a site says of a pause; nil: its replica is not paused.
func PauseOf(st *engine.Status) *engine.Pause {
	w := st.Wait(engine.WaitPaused)
	if w == nil {
		return nil
	}
	return &engine.Pause{By: w.By, At: engine.Time(w.Since), Reason: w.Reason}
}

// replicaStatus tells how far site s has come with the operations that are known here.
func replicaStatus(v *view.View, s engine.SiteID, conflicts []engine.Conflict) engine.ReplicaStatus {
	site := v.At(s)
	st := engine.ReplicaStatus{Local: v.LocalAt(s), State: engine.StateConverged, Paused: PauseOf(site),
		Unmade: v.LocalAt(s) == "" && v.Standing(s).Unmade(v.History) || v.Yields(s), Held: site.Wait(engine.WaitHeld) != nil, Applied: compacted(v, s)}
	settled, base := v.SettledAt(s), v.History.Base()
	total := view.HeldBack(v)
	if base != nil {
		total += int(base.Count)
	}
	for _, o := range v.History.Ordered() {
		total++
		if settled.Has(o) {
			st.Applied++
		}
	}
	for i := range conflicts {
		c := &conflicts[i]
		switch {
		case c.Site != s:
		case c.Open() && c.State().Rank() >= st.State.Rank():
			st.State, st.Reason = c.State(), c.Reason
		case !c.Open() && st.State == engine.StateConverged:
			st.Reason = acceptedWords(v, c)
		}
	}
	st.Pending = total - st.Applied
	if site.Ended > 0 && st.Local == "" && v.Exists() && st.State == engine.StateConverged {
		st.State, st.Reason = engine.StateConverging, "its object has ended by itself, and is not made anew"
	}
	if st.Unmade && len(site.Repairs) > 0 {
		st.Drifted = true
	}
	if st.Unmade && st.State == engine.StateConverged {
		st.State, st.Reason = engine.StateConverging, "the application has no object of it: it is to be made anew"
	}
	if st.Pending == 0 || st.State != engine.StateConverged {
		return st
	}
	st.State, st.Reason = engine.StateConverging, fmt.Sprintf("%d of %d operations not applied", st.Pending, total)
	if s == v.Self {
		st.Reason = cmp.Or(lastError(v), st.Reason)
	}
	if w := Waiting(v, s); w != nil {
		st.Reason = w.Reason
		if w.Kind == engine.WaitDenied {
			st.State = engine.StateDegraded
		}
	}
	if held := view.HeldBack(v); held > 0 {
		st.Reason = fmt.Sprintf("%d operations are held back: what they build on is not here, or the catalog has no such operation", held)
	}
	return st
}

// Waiting is why a site does not try what is pending there, nil: it does.
func Waiting(v *view.View, s engine.SiteID) *engine.Wait {
	if s == v.Self {
		return v.Halted()
	}
	return view.HaltedOf(v.At(s))
}

// lastError says why this site has not applied what is pending, when it has tried.
func lastError(v *view.View) string {
	settled := v.SettledAt(v.Self)
	for _, o := range v.History.Ordered() {
		if settled.Has(o) {
			continue
		}
		if f := v.Fetches[o.ID]; f.Why != "" {
			return fmt.Sprintf("%s %s", o.Type, f.Why)
		}
		if why := v.Mine.Outcomes[o.ID].Error; why != "" {
			return fmt.Sprintf("%s %s", o.Type, why)
		}
		if t, ok := v.LastTry(o.ID); ok && t.Error != "" {
			return fmt.Sprintf("%s tried %d times: %s", o.Type, v.Mine.Tries[o.ID].Count, t.Error)
		}
	}
	return ""
}

// leavingStatus describes the replica of a site that was removed and has not left.
func leavingStatus(v *view.View, s engine.SiteID) engine.ReplicaStatus {
	st := engine.ReplicaStatus{Local: v.LocalAt(s), State: engine.StateLeaving, Paused: PauseOf(v.At(s)),
		Reason: "it was removed, and what it has accepted is still to come"}
	by, settled := v.Placement().Removed[s], v.SettledAt(s)
	for _, o := range v.History.Ordered() {
		if settled.Has(o) {
			st.Applied++
		} else if by != nil && engine.Compare(o, by) <= 0 {
			st.Pending++
		}
	}
	switch {
	case st.Paused != nil:
		st.Reason = "it was removed, and leaves its replica as it is: " + st.Paused.String()
	case v.Overdue(s):
		st.Reason = "it was removed long ago and has not said that it has left: nothing waits for it any more"
	case s == v.Self:
		st.Reason = cmp.Or(lastError(v), "it was removed, and has something left to apply")
	}
	return st
}

// spreadOut adds to the states of the sites which part of a cross resource each holds, and its share of what is divided.
func spreadOut(v *view.View, sites map[engine.SiteID]engine.ReplicaStatus) {
	parts := v.Placement().Parts
	if parts == nil {
		return
	}
	for i, share := range Shares(v, len(parts)) {
		for _, s := range parts[i] {
			st := sites[s]
			st.Part, st.Share = i+1, share
			sites[s] = st
		}
	}
}

// Shares are those of so many parts of what is divided and clients have set, in the order of the parts.
func Shares(v *view.View, parts int) []map[engine.Pointer]json.RawMessage {
	whole := v.History.Whole(merge.Any)
	shares := make([]map[engine.Pointer]json.RawMessage, parts)
	for i := range shares {
		shares[i] = map[engine.Pointer]json.RawMessage{}
		for _, p := range v.Kind.Divide {
			if share, ok := tree.ShareOf(whole.Cells[p].Value, parts, i); ok {
				shares[i][p] = share
			}
		}
	}
	return shares
}

// relations are the references of the resource in fold, which is what all that is known of it amounts to.
func relations(v *view.View, fold merge.Fold) []engine.Relation {
	if len(v.Kind.Refs) == 0 {
		return nil
	}
	within, _ := v.Kind.Split(string(v.About.Key))
	list := tree.RelationsOf(v.Kind, within, fold.Representation())
	at := map[engine.Target][]engine.SiteID{}
	for _, f := range v.History.Whereabouts(merge.Any) {
		at[f.Target] = f.Sites
	}
	for i := range list {
		list[i].Found = at[list[i].Target]
	}
	return list
}

// parts are the references of a resource that is no more to what its application had made along with it, and has destroyed along.
func parts(v *view.View) []engine.Relation {
	composes := func(r engine.Ref) bool { return r.Relation == engine.RelationComposition }
	if !slices.ContainsFunc(v.Kind.Refs, composes) {
		return nil
	}
	was := v.History.Whole(func(o *engine.Operation) bool { return o.Type != engine.TypeDelete })
	return slices.DeleteFunc(relations(v, was), func(r engine.Relation) bool { return r.Type != engine.RelationComposition })
}

// Crowded says that a history has grown to half of what a resource may have, and which sites keep it from being folded away; it
// is empty before that.
func Crowded(v *view.View) string {
	n := v.History.Len()
	if n < engine.MaxOperations/2 {
		return ""
	}
	complete := v.History.Complete()
	behind := slices.DeleteFunc(slices.Clone(v.Correspondents()), func(s engine.SiteID) bool { return v.At(s).Settled.Contains(complete) })
	if len(behind) == 0 {
		return ""
	}
	return fmt.Sprintf("%d operations are not applied everywhere, at %d writes are refused: %s has to catch up, or to be taken out of the resource",
		n, engine.MaxOperations, namesOf(v, behind))
}

// compacted counts the operations that a site has settled and for which a checkpoint stands.
func compacted(v *view.View, s engine.SiteID) int {
	base := v.History.Base()
	if base == nil || !v.At(s).Settled.Contains(base.Seen) {
		return 0
	}
	return int(base.Count)
}

// namesOf lists sites for people.
func namesOf(v *view.View, ids []engine.SiteID) string {
	text := ""
	for i, id := range ids {
		if i > 0 {
			text += ", "
		}
		text += string(v.Name(id))
	}
	return text
}
