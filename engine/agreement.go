package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// quiet reports whether everything known is settled at site s and there is an object, so that what its application shows can
// be compared.
func (v *view) quiet(s SiteID) bool {
	if !v.holds(s) || v.replica(s).Local == "" || len(v.history.unexecuted(v.standingAt(s))) > 0 {
		return false
	}
	settled := v.settledAt(s)
	return !slices.ContainsFunc(v.history.ordered, func(o *Operation) bool { return !settled(o) })
}

// looked lists the sites that are quiet and have said what their application shows of the resource, sorted.
func (v *view) looked() []SiteID {
	var sites []SiteID
	for _, s := range v.placement().Sites {
		if v.replica(s).Observed != nil && v.quiet(s) {
			sites = append(sites, s)
		}
	}
	return sites
}

// agree reports whether the applications of sites show the same object.
func (v *view) agree(sites []SiteID) bool {
	for _, s := range sites {
		if o := v.replica(s).Observed; o.Unseen == UnseenGone || o.Apart || o.shows() != v.replica(sites[0]).Observed.shows() {
			return false
		}
	}
	return true
}

// agreesWith reports whether all other sites that have looked show what this one has seen now.
func (v *view) agreesWith(now *Observed) bool {
	return now.Unseen != UnseenGone && !now.Apart && !slices.ContainsFunc(v.looked(), func(s SiteID) bool {
		return s != v.self && v.replica(s).Observed.shows() != now.shows()
	})
}

// reference is the site of those that the others are compared with: its application shows what was set, and nobody has
// changed it there; of several, one that shows what most show.
func (v *view) reference(sites []SiteID) SiteID {
	alike := map[string]int{}
	for _, s := range sites {
		alike[v.replica(s).Observed.shows()]++
	}
	rank := func(s SiteID) int {
		o := v.replica(s).Observed
		r := alike[o.shows()]
		if o.Unseen != UnseenGone {
			r += len(sites) + 1
		}
		if o.Was == "" {
			r += 2 * (len(sites) + 1)
		}
		if len(o.Differs) == 0 {
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
	site   SiteID
	reason string
	// firm says that all concerned have looked twice. Before that it counts as under way, because an application may take a
	// moment to get where it was sent.
	firm bool
}

// deviations lists, sorted by site, where the applications differ or have lost the object. What one shows where a request is open may be
// what that has changed: it tells nothing before that is settled.
func (v *view) deviations() []deviation {
	looked := slices.DeleteFunc(v.looked(), func(s SiteID) bool { return v.replica(s).Open != nil })
	if len(looked) == 0 || v.agree(looked) || !v.exists() {
		return nil
	}
	var list []deviation
	reference := v.reference(looked)
	model := v.replica(reference).Observed
	for _, s := range looked {
		o := v.replica(s).Observed
		if alone := o.Unseen == UnseenGone || o.Apart; alone || o.shows() != model.shows() {
			list = append(list, deviation{s, v.drift(o, reference, s), o.Steady && (alone || o.Was != "" || model.Steady)})
		}
	}
	return list
}

// driftConflicts are the firm deviations, for a person to decide about.
func (v *view) driftConflicts() []Conflict {
	var list []Conflict
	for _, d := range v.deviations() {
		r := v.replica(d.site)
		if !d.firm {
			continue
		}
		c := Conflict{
			ID: conflictID(string(v.document), string(d.site), "drift"), Kind: ConflictDrift, Document: v.document, Resource: v.about.Key,
			Service: v.about.Service, KindName: v.about.Kind, Site: d.site, Since: r.Observed.Since, Reason: d.reason,
			Actions: []Action{ActionKeep, ActionDismiss},
		}
		if r.Contended != "" {
			c.Kind, c.Reason = ConflictContention, r.Contended
		}
		if decided := v.accepted(c.ID, c.Since); decided != nil {
			c.Accepted, c.Actions = decided, []Action{ActionKeep}
		}
		list = append(list, c)
	}
	return list
}

// compare adds to the states of the sites what their applications show: converged is a site that shows what the others do.
// What differs for good is among the conflicts.
func (v *view) compare(sites map[SiteID]ReplicaStatus, conflicts []Conflict) {
	put := func(s SiteID, state State, reason string) {
		st := sites[s]
		switch {
		case resourceRank[state] > resourceRank[st.State] || st.Reason == "":
			st.State, st.Reason = worstResource(st.State, state), reason
		case state == st.State:
			st.Reason += "; " + reason
		}
		sites[s] = st
	}
	for _, s := range v.placement().Sites {
		switch o := v.replica(s).Observed; {
		case !v.quiet(s):
		case o == nil:
			reason := "not looked at yet"
			if s == v.self && v.unseen != "" {
				reason += ": " + v.unseen
			}
			put(s, StateConverging, reason)
		case o.Unseen == UnseenOpaque:
			put(s, StateConverged, "not compared: its representation is not JSON")
		case o.Unseen == UnseenUnreadable:
			put(s, StateConverged, "not compared: the application does not let it be read")
		}
	}
	for _, d := range v.deviations() {
		if mayDiffer(conflicts, d.site) {
			continue
		}
		if !d.firm {
			put(d.site, StateConverging, d.reason+"; it is looked at again")
			continue
		}
		st := sites[d.site]
		st.Drifted = true
		sites[d.site] = st
	}
	v.compareFolds(v.looked(), sites)
}

// drift says in words how what a site shows is not what it should be.
func (v *view) drift(o *Observed, reference, s SiteID) string {
	how := "shows something else"
	switch {
	case o.Unseen == UnseenGone:
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
		how += fmt.Sprintf(", unlike %s", v.name(reference))
	}
	if o.Was != "" {
		how = "changed behind the agent: " + how
	}
	return how
}

// sameFacts reports whether two sites' applications follow from the same facts.
func sameFacts(a, b []Fact) bool {
	within := func(a, b []Fact) bool {
		return !slices.ContainsFunc(a, func(f Fact) bool { return !slices.Contains(b, f) })
	}
	return within(a, b) && within(b, a)
}

// compareFolds looks for our own defect: two sites that have settled the same operations and fold them differently.
func (v *view) compareFolds(looked []SiteID, sites map[SiteID]ReplicaStatus) {
	for _, s := range looked {
		for _, other := range looked {
			a, b := v.replica(s), v.replica(other)
			if a.Observed.Fold == b.Observed.Fold || !maps.Equal(a.Settled, b.Settled) || !sameFacts(a.Facts, b.Facts) {
				continue
			}
			st := sites[s]
			st.State, st.Mismatch = worstResource(st.State, StateDegraded), true
			st.Reason = fmt.Sprintf("the same operations amount to something else here than at %s: a defect of the agent, please report it", v.name(other))
			sites[s] = st
		}
	}
}
