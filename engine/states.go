package engine

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// row describes the resource for the index: the state of each replica, of which the resource's is the worst. Conflicts are
// those of v.
func (v *view) row(now time.Time, conflicts []Conflict) ResourceRow {
	row := ResourceRow{
		Document: v.document, ID: v.about.Key, Service: v.about.Service, Kind: v.about.Kind,
		Collaboration: v.about.Collaboration, Local: v.local(), CreatedAt: v.createdAt, UpdatedAt: now, State: StateConverged,
		Sites: map[SiteID]ReplicaStatus{},
	}
	if v.replica(v.self).Bare {
		row.Local = "" // requests go to where all of it is
	}
	placement := v.placement().Sites
	exists := v.exists()
	for _, s := range placement {
		row.Sites[s] = v.replicaStatus(s, conflicts)
	}
	if exists {
		v.compare(row.Sites, conflicts)
	}
	v.spreadOut(row.Sites)
	var behind, apart, reasons []string
	for _, s := range placement {
		st := row.Sites[s]
		if st.State == StateConverged || st.State == StateConverging {
			switch {
			case v.replicas[s].Lost != nil:
				st.Reason = "restored from a backup: what was done since is being looked for"
			case st.Paused != nil:
				st.Reason = st.Paused.String()
			case st.Held:
				st.Reason = unconfirmed(v.name(s))
			}
			row.Sites[s] = st
		}
		why := fmt.Sprintf("%s: %s", v.name(s), st.Reason)
		switch {
		case st.State == StateConverging && (st.Pending > 0 || st.Unmade):
			behind = append(behind, string(v.name(s)))
		case st.State == StateConverging:
			apart = append(apart, why)
		}
		w := v.waitsAt(s)
		differ := st.Pending > 0 && w != nil && w.State == QueueMismatch
		if st.Reason != "" && (st.State != StateConverging || st.Paused != nil || st.Held || differ) {
			reasons = append(reasons, why)
		}
		row.State = worstResource(row.State, st.State)
	}
	for _, s := range v.with(partLeaving) {
		row.Sites[s] = v.leavingStatus(s)
	}
	if v.part(v.self) == partFormer {
		row.State, row.Reason = StateLeft, "this site was removed from its placement"
		return row
	}
	if exists && (v.kind.Label != "" || len(v.kind.Refs) > 0) {
		fold := FoldOf(v.history, anyOperation)
		row.Label, row.Relations = fold.label(v.kind), v.relations(fold)
	}
	row.Pending = !v.yielded(v.self) && (row.Sites[v.self].Pending > 0 || v.replicas[v.self].Lost != nil || Next(v.history, v.standing()).Kind != StepNothing)
	switch {
	case row.State == StateConverged && !exists:
		row.State = StateDeleted
	case row.State == StateConverging && v.heldBack() > 0:
		row.Reason = row.Sites[v.self].Reason
	case row.State == StateConverging && len(behind) > 0:
		row.Reason = strings.Join(append([]string{"waiting for " + strings.Join(behind, ", ")}, reasons...), "; ")
	case row.State == StateConverging:
		row.Reason = strings.Join(apart, "; ")
	default:
		row.Reason = strings.Join(reasons, "; ")
	}
	if why := v.crowded(); why != "" {
		row.State = worstResource(row.State, StateDegraded)
		row.Reason = strings.TrimSuffix(why+"; "+row.Reason, "; ")
	}
	return row
}

// heldBack counts the operations that this site knows of and cannot take in.
func (v *view) heldBack() int { return v.history.Held() + v.refused }

// replicaStatus tells how far site s has come with the operations that are known here.
func (v *view) replicaStatus(s SiteID, conflicts []Conflict) ReplicaStatus {
	st := ReplicaStatus{Local: v.replica(s).Local, State: StateConverged, Paused: v.replica(s).Paused, Unmade: v.unmade(s) || v.yielded(s), Held: v.replica(s).Held.waits(),
		Applied: v.compacted(s)}
	settled := v.settledAt(s)
	for _, o := range v.history.ordered {
		if settled(o) {
			st.Applied++
		}
	}
	for _, c := range conflicts {
		switch {
		case c.Site != s:
		case c.Open() && resourceRank[c.state()] >= resourceRank[st.State]:
			st.State, st.Reason = c.state(), c.Reason
		case !c.Open() && st.State == StateConverged:
			st.Reason = c.accepted(v.name)
		}
	}
	total := len(v.history.ordered) + v.heldBack()
	if base := v.history.base; base != nil {
		total += base.Count
	}
	st.Pending = total - st.Applied
	if st.Unmade && len(v.replica(s).Repairs) > 0 {
		st.Drifted = true
	}
	if st.Unmade && st.State == StateConverged {
		st.State, st.Reason = StateConverging, "the application has no object of it: it is to be made anew"
	}
	if st.Pending == 0 || st.State != StateConverged {
		return st
	}
	st.State, st.Reason = StateConverging, fmt.Sprintf("%d of %d operations not applied", st.Pending, total)
	if s == v.self {
		st.Reason = cmp.Or(v.lastError(), st.Reason)
	}
	if w := v.waitsAt(s); w != nil {
		st.Reason = w.Reason
		if w.State == QueuePaused {
			st.State = StateDegraded
		}
	}
	if held := v.heldBack(); held > 0 {
		st.Reason = fmt.Sprintf("%d operations are held back: what they build on is not here, or the catalog has no such operation", held)
	}
	return st
}

// lastError says why this site has not applied what is pending, when it has tried.
func (v *view) lastError() string {
	settled := v.settledAt(v.self)
	for _, o := range v.history.ordered {
		if why := v.fetches[o.ID].why; why != "" && !settled(o) {
			return fmt.Sprintf("%s %s", o.Type, why)
		}
		if a := v.attempts[o.ID]; a != nil && a.last().Error != "" && !settled(o) {
			return fmt.Sprintf("%s tried %d times: %s", o.Type, a.count, a.last().Error)
		}
	}
	return ""
}

var resourceRank = map[State]int{StateConverged: 0, StateConverging: 1, StateDegraded: 2, StateConflict: 3}

func worstResource(a, b State) State {
	if resourceRank[b] > resourceRank[a] {
		return b
	}
	return a
}
