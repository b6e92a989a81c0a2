package report

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// looked are the sites that are quiet and have said what their application shows of the resource, sorted, with that.
func looked(v *view.View) iter.Seq2[engine.SiteID, *engine.Shown] {
	return func(yield func(engine.SiteID, *engine.Shown) bool) {
		for s, o := range shown(v) {
			if v.Quiet(s) && !yield(s, o) {
				return
			}
		}
	}
}

// shown are those that have said so, quiet or not.
func shown(v *view.View) iter.Seq2[engine.SiteID, *engine.Shown] {
	return func(yield func(engine.SiteID, *engine.Shown) bool) {
		for _, s := range v.Placement().Sites {
			if o := v.At(s).Shown; o != nil && !yield(s, o) {
				return
			}
		}
	}
}

// Agree reports whether the applications of all sites that have looked show the same object.
func Agree(v *view.View) bool { return alike(looked(v)) }

// alike is Agree for some of the sites.
func alike(sites iter.Seq2[engine.SiteID, *engine.Shown]) bool {
	var first *engine.Shown
	for _, o := range sites {
		if first == nil {
			first = o
		}
		if o.Unseen == engine.UnseenGone || o.Apart || o.What() != first.What() {
			return false
		}
	}
	return true
}

// AgreesWith reports whether all other sites that have looked show what this one has seen now.
func AgreesWith(v *view.View, now *engine.Shown) bool {
	if now.Unseen == engine.UnseenGone || now.Apart {
		return false
	}
	for s, o := range looked(v) {
		if s != v.Self && o.What() != now.What() {
			return false
		}
	}
	return true
}

// Told reports whether all members have said that nothing of what is known is left to do for them, and what their applications show.
func Told(v *view.View) bool {
	complete := v.History.Complete()
	return !slices.ContainsFunc(v.Correspondents(), func(s engine.SiteID) bool {
		st := v.At(s)
		return st.Shown == nil && v.Exists() || !st.Settled.Contains(complete)
	})
}

// reference is the site of those that the others are compared with: its application shows the object, with what was set, and nobody has changed
// it there; of several, one that shows what most show.
func reference(v *view.View, sites []engine.SiteID) engine.SiteID {
	same := map[string]int{}
	for _, s := range sites {
		same[v.At(s).Shown.What()]++
	}
	rank := func(s engine.SiteID) int {
		o := v.At(s).Shown
		r := same[o.What()]
		if o.Was == "" {
			r += len(sites) + 1
		}
		if len(o.Differs) == 0 {
			r += 2 * (len(sites) + 1)
		}
		if o.Unseen != engine.UnseenGone {
			r += 4 * (len(sites) + 1)
		}
		return r
	}
	best := sites[0]
	for _, s := range sites[1:] {
		if rank(s) > rank(best) {
			best = s
		}
	}
	return best
}

// deviation is a site whose application does not show what it is to show, though nothing is left to do there.
type deviation struct {
	site   engine.SiteID
	reason string
	// firm says that all concerned have looked twice. Before that it counts as under way, because an application may take a
	// moment to get where it was sent.
	firm bool
}

// deviations lists, sorted by site, where the applications differ or have lost the object. What one shows where a request is
// open may be what that has changed: it tells nothing before that is settled.
func deviations(v *view.View) []deviation {
	if alike(shown(v)) {
		return nil
	}
	told := func(yield func(engine.SiteID, *engine.Shown) bool) {
		for s, o := range looked(v) {
			if st := v.At(s); st.Wait(engine.WaitAnswer) == nil && st.Wait(engine.WaitPerson) == nil && !yield(s, o) {
				return
			}
		}
	}
	if alike(told) || !v.Exists() {
		return nil
	}
	var sites []engine.SiteID
	for s := range told {
		sites = append(sites, s)
	}
	var list []deviation
	reference := reference(v, sites)
	model := v.At(reference).Shown
	for _, s := range sites {
		o := v.At(s).Shown
		if alone := o.Unseen == engine.UnseenGone || o.Apart; alone || o.What() != model.What() {
			list = append(list, deviation{s, drift(v, o, reference, s), o.Steady && (alone || o.Was != "" || model.Steady)})
		}
	}
	return list
}

// driftConflicts are the firm deviations, for a person to decide about.
func driftConflicts(v *view.View) []engine.Conflict {
	var list []engine.Conflict
	for _, d := range deviations(v) {
		st := v.At(d.site)
		if !d.firm {
			continue
		}
		c := newConflict(v, engine.ConflictDrift, d.site, st.Shown.Since, d.reason, "drift")
		c.Actions = []engine.Action{engine.ActionKeep, engine.ActionDismiss}
		if st.Contended != "" {
			c.Kind, c.Reason = engine.ConflictContention, st.Contended
		}
		if decided := v.Decisions.Accepted(c.ID, st.Shown.Since); decided != nil {
			c.Accepted, c.Actions = decided, []engine.Action{engine.ActionKeep, engine.ActionReopen}
		}
		list = append(list, c)
	}
	for _, s := range v.Placement().Sites { // what is left to do there waits for that, so that nothing is compared
		st, settled := v.At(s), v.SettledAt(s)
		i := slices.IndexFunc(v.History.Ordered(), func(o *engine.Operation) bool { return !settled.Has(o) })
		if st.Contended != "" && st.Object && i >= 0 && v.Exists() {
			c := newConflict(v, engine.ConflictContention, s, v.History.Ordered()[i].Time, st.Contended, "drift")
			c.Actions = []engine.Action{engine.ActionKeep}
			list = append(list, c)
		}
	}
	return list
}

// compare adds to the states of the sites what their applications show: converged is a site that shows what the others do. What
// differs for good is among the conflicts.
func compare(v *view.View, sites map[engine.SiteID]engine.ReplicaStatus, conflicts []engine.Conflict) {
	put := func(s engine.SiteID, state engine.State, reason string) {
		st := sites[s]
		switch {
		case state.Rank() > st.State.Rank() || st.Reason == "":
			st.State, st.Reason = st.State.Worse(state), reason
		case state == st.State:
			st.Reason += "; " + reason
		}
		sites[s] = st
	}
	for _, s := range v.Placement().Sites {
		switch o := v.At(s).Shown; {
		case o != nil && o.Unseen != engine.UnseenOpaque && o.Unseen != engine.UnseenUnreadable, !v.Quiet(s):
		case o == nil:
			reason := "not looked at yet"
			if s == v.Self && v.Mine.Unseen != "" {
				reason += ": " + v.Mine.Unseen
			}
			put(s, engine.StateConverging, reason)
		case o.Unseen == engine.UnseenOpaque:
			put(s, engine.StateConverged, "not compared: its representation is not JSON")
		case o.Unseen == engine.UnseenUnreadable:
			put(s, engine.StateConverged, "not compared: the application does not let it be read")
		}
	}
	for _, d := range deviations(v) {
		if MayDiffer(conflicts, d.site) {
			continue
		}
		if !d.firm {
			put(d.site, engine.StateConverging, d.reason+"; it is looked at again")
			continue
		}
		st := sites[d.site]
		st.Drifted = true
		sites[d.site] = st
	}
	if !oneFold(v) {
		var list []engine.SiteID
		for s := range looked(v) {
			list = append(list, s)
		}
		compareFolds(v, list, sites)
	}
}

// oneFold reports whether all that is settled anywhere amounts to the same, as far as sites have said.
func oneFold(v *view.View) bool {
	fold := ""
	for _, o := range shown(v) {
		if fold == "" {
			fold = o.Fold
		}
		if o.Fold != fold {
			return false
		}
	}
	return true
}

// drift says in words how what a site shows is not what it should be.
func drift(v *view.View, o *engine.Shown, reference, s engine.SiteID) string {
	how := "shows something else"
	switch {
	case o.Unseen == engine.UnseenGone && s == v.Self && !v.Mine.Seen:
		return "the application has not shown the object since it was made"
	case o.Unseen == engine.UnseenGone && !o.Steady: // another site does not tell whether it was ever there
		return "the application does not show the object, though no operation deleted it"
	case o.Unseen == engine.UnseenGone:
		return "the object is gone from the application, though no operation deleted it"
	case o.Unseen != "":
		how = "shows nothing that can be compared"
	case len(o.Differs) > 0:
		paths := make([]string, len(o.Differs))
		for i, p := range o.Differs {
			paths[i] = string(p)
		}
		how = "shows another " + strings.Join(paths, ", ") + " than was set"
	}
	if reference != s {
		how += fmt.Sprintf(", unlike %s", v.Name(reference))
	}
	if o.Was != "" {
		how = "changed behind the agent: " + how
	}
	return how
}

// compareFolds looks for our own defect: two sites that have settled the same operations, of the same changes, and fold them differently.
func compareFolds(v *view.View, looked []engine.SiteID, sites map[engine.SiteID]engine.ReplicaStatus) {
	for i, s := range looked {
		for _, other := range looked[i+1:] {
			a, b := v.At(s), v.At(other)
			if a.Shown.Fold == b.Shown.Fold || a.Shown.Of != b.Shown.Of || !maps.Equal(a.Settled, b.Settled) {
				continue
			}
			for _, pair := range [][2]engine.SiteID{{s, other}, {other, s}} {
				st := sites[pair[0]]
				st.State, st.Mismatch = st.State.Worse(engine.StateDegraded), true
				st.Reason = fmt.Sprintf("the same operations amount to something else here than at %s: a defect of the agent, please report it", v.Name(pair[1]))
				sites[pair[0]] = st
			}
		}
	}
}
