package engine

import (
	"cmp"
	"encoding/json"
	"maps"
	"time"
)

// status returns what is known of o at site s.
func (v *view) status(s SiteID, o *Operation) OperationStatus {
	out, told := v.outcomes[s][o.ID]
	if told && (out.State != StatePending || v.settled(s, o)) {
		return OperationStatus{State: out.State, Status: out.Status, At: out.At, Error: out.Error}
	}
	if v.settled(s, o) && v.placement().Void[o.ID] {
		return OperationStatus{State: StateSuperseded, At: v.replicas[s].At, Error: "it would have left no site"}
	}
	if v.settled(s, o) {
		return OperationStatus{State: StateApplied, At: v.replicas[s].At}
	}
	st := OperationStatus{State: StatePending, Error: out.Error, At: out.At}
	if f := v.fetches[o.ID]; f.why != "" && s == v.self {
		st.Error, st.Fetched = f.why, f.bytes
	}
	w := v.waitsAt(s)
	if w != nil {
		st.Error, st.At = w.Reason, w.Since
	}
	if a := v.attempts[o.ID]; a != nil && s == v.self {
		last := a.last()
		st.Status, st.At, st.Error = last.Status, last.At, cmp.Or(last.Error, st.Error)
	}
	if w != nil && w.State == QueuePaused {
		st.State = StatePaused
	}
	switch r := v.replica(s); {
	case r.Held.waits() && r.Held.Operation == o.ID:
		st.State, st.Error, st.At = StateHeld, unconfirmed(v.name(s)), r.Held.At
	case r.Paused != nil:
		st.State, st.Error, st.At = StatePaused, r.Paused.String(), r.Paused.At
	}
	return st
}

// wait sets why this site does not try what is pending, and reports whether that is something else than before.
func (v *view) wait(w *Waiting) bool {
	if v.waits == w || v.waits != nil && w != nil && *v.waits == *w {
		return false
	}
	v.waits = w
	settled := v.settledAt(v.self)
	for _, o := range v.history.ordered {
		if !settled(o) {
			v.touched[o.ID] = true
		}
	}
	return true
}

// waitsAt is why a site does not try what is pending there, as far as is known here; nil: it does.
func (v *view) waitsAt(s SiteID) *Waiting {
	if s == v.self && v.waits != nil {
		return v.waits
	}
	return v.replicas[s].Waits
}

var stateRank = map[State]int{
	StateSuperseded: 0, StateApplied: 1, StatePending: 2, StatePaused: 3, StateHeld: 4, StateRejected: 5, StateUncertain: 6,
}

// worst returns the state that is farthest from applied.
func worst(sites map[SiteID]OperationStatus) State {
	w := StateSuperseded
	for _, s := range sites {
		if stateRank[s.State] > stateRank[w] {
			w = s.State
		}
	}
	return w
}

// operationRow describes o for the index.
func (v *view) operationRow(o *Operation) OperationRow {
	row := OperationRow{
		ID: o.ID, Document: v.document, Resource: v.about.Key, Type: o.Type, Service: v.about.Service,
		Kind: v.about.Kind, Method: o.Method, Path: shownPath(o.Path, string(v.about.Key)), Scope: o.Scope,
		Origin: o.Origin, User: o.User, IssuedAt: time.UnixMicro(o.Time), Parents: v.history.Parents(o),
		Sites: map[SiteID]OperationStatus{},
	}
	row.Body, row.Change = hide(v.kind, o)
	row.Blob = o.Blob
	if v.part(v.self) == partFormer {
		row.Sites, row.State = v.knownAtLeaving(o)
		return row
	}
	row.NeedsBlob = v.needsBlob(o)
	for _, s := range v.correspondents() {
		row.Sites[s] = v.status(s, o)
	}
	row.State = worst(row.Sites)
	return row
}

// knownAtLeaving is what a site that has left knows of an operation: where it was settled then. What has become of it elsewhere
// since is not told to it.
func (v *view) knownAtLeaving(o *Operation) (map[SiteID]OperationStatus, State) {
	known := map[SiteID]OperationStatus{}
	for s := range v.writers {
		if st := v.status(s, o); v.settled(s, o) && st.State != StatePending {
			known[s] = st
		}
	}
	if len(known) == 0 {
		return known, StateLeft
	}
	return known, worst(known)
}

// Hidden stands where a sensitive value is not shown.
const Hidden = "(hidden)"

// hide returns the body and the change of o without the values of sensitive fields.
func hide(k *Kind, o *Operation) ([]byte, json.RawMessage) {
	if len(k.Sensitive) == 0 {
		if o.Change.Empty() {
			return o.Body, nil
		}
		return o.Body, compactStruct(o.Change)
	}
	var change json.RawMessage
	if !o.Change.Empty() {
		c := *o.Change
		c.Set, c.Add = maps.Clone(c.Set), maps.Clone(c.Add)
		maps.DeleteFunc(c.Add, func(p Pointer, _ Increment) bool { return k.Hides(p) })
		for p := range c.Set {
			if k.Hides(p) {
				c.Set[p] = compact(Hidden)
			}
		}
		change = compactStruct(c)
	}
	if len(o.Body) == 0 {
		return nil, change
	}
	tree, err := parseJSON(o.Body)
	if _, isObject := tree.(map[string]any); err != nil || !isObject {
		return []byte(Hidden), change // no way to tell what in it is sensitive
	}
	for _, p := range k.Sensitive {
		overwrite(tree, p.Tokens(), Hidden)
	}
	return compact(tree), change
}
