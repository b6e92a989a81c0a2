package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/engine/view"
)

// OperationRow describes an operation for the index.
func OperationRow(v *view.View, o *engine.Operation) engine.OperationRow {
	row := engine.OperationRow{
		ID: o.ID, Document: v.Document, Resource: v.About.Key, Type: o.Type, Service: v.About.Service,
		Kind: v.About.Kind, Method: o.Method, Path: ShownPath(o.Path, string(v.About.Key)), Scope: o.Scope,
		Origin: o.Origin, User: o.User, IssuedAt: engine.Time(o.Time), Parents: v.History.Parents(o),
		Blob: o.Blob,
	}
	if row.Body, row.Change = Hide(v.Kind, o); o.Place != nil && o.Place.Parts != nil {
		row.Change = asJSON(o.Place)
	}
	if v.Part(v.Self) == view.PartFormer {
		row.Sites, row.State = knownAtLeaving(v, o)
		return row
	}
	row.NeedsBlob = compact.NeedsBlob(v, o)
	sites := v.Correspondents()
	row.Sites = make(map[engine.SiteID]engine.OperationStatus, len(sites))
	row.State = engine.StateSuperseded
	for _, s := range sites {
		st := OperationStatus(v, s, o)
		row.Sites[s] = st
		row.State = row.State.Worse(st.State)
	}
	return row
}

// voidReason says why an operation counts nowhere.
const voidReason = "the site that has signed it has signed something else in its place: it counts at no site"

// VoidRow describes an operation of a forked line that does not count.
func VoidRow(v *view.View, o *engine.Operation) engine.OperationRow {
	row := OperationRow(v, o)
	row.State, row.NeedsBlob = engine.StateSuperseded, false
	for s, st := range row.Sites {
		row.Sites[s] = engine.OperationStatus{State: engine.StateSuperseded, At: st.At, Error: voidReason}
	}
	return row
}

// OperationStatus returns what is known of o at a site.
func OperationStatus(v *view.View, s engine.SiteID, o *engine.Operation) engine.OperationStatus {
	site, out := v.At(s), v.Outcomes(s)[o.ID]
	told, settled := out.State != "", v.Settled(s, o)
	var st engine.OperationStatus
	switch {
	case told && (out.State != engine.StatePending || settled):
		st = engine.OperationStatus{State: out.State, Status: out.Status, At: engine.Time(out.At), Error: out.Error}
	case settled && v.Placement().Void[o.ID]:
		st = engine.OperationStatus{State: engine.StateSuperseded, At: engine.Time(site.At), Error: "it would have left no site"}
	case settled:
		st = engine.OperationStatus{State: engine.StateApplied, At: engine.Time(site.At)}
	default:
		st = pendingStatus(v, s, o, site, out)
	}
	if a := v.Mine.Tries[o.ID]; s == v.Self && a != nil {
		tell(a, &st)
	}
	if s == v.Self && o.Origin != s && o.Type != engine.TypePlace {
		_, st.As = view.WithRightsOf(v, o)
	}
	return st
}

// pendingStatus is what is known of an operation at a site that has not settled it.
func pendingStatus(v *view.View, s engine.SiteID, o *engine.Operation, site *engine.Status, out engine.Outcome) engine.OperationStatus {
	st := engine.OperationStatus{State: engine.StatePending, Error: out.Error}
	if out.At != 0 {
		st.At = engine.Time(out.At)
	}
	w := Waiting(v, s)
	if w != nil {
		st.Error, st.At = w.Reason, engine.Time(w.Since)
		if w.Kind == engine.WaitDenied {
			st.State = engine.StatePaused
		}
	}
	if t, ok := v.LastTry(o.ID); ok && s == v.Self {
		st.Status, st.At = t.Status, engine.Time(t.At)
		if w == nil || w.Operation != o.ID { // else what it waits for says that, and what for
			st.Error = cmp.Or(t.Error, st.Error)
		}
	}
	if f := v.Fetches[o.ID]; f.Why != "" && s == v.Self {
		st.Error, st.Fetched = f.Why, f.Bytes
	}
	if held := site.Wait(engine.WaitHeld); held != nil && held.Operation == o.ID {
		st.State, st.Error, st.At = engine.StateHeld, Unconfirmed(v.Name(s)), engine.Time(held.Since)
	} else if p := PauseOf(site); p != nil {
		st.State, st.Error, st.At = engine.StatePaused, p.String(), p.At
	}
	return st
}

// tell puts the attempts into what is shown of an operation here. That one request was enough, the state tells.
func tell(a *view.Tries, st *engine.OperationStatus) {
	st.Attempts = a.Count
	if len(a.Last) == 0 {
		return
	}
	last := a.Last[len(a.Last)-1]
	if a.Count > 1 || last.Error != "" {
		for _, t := range a.Last {
			st.Tries = append(st.Tries, engine.Attempt{At: engine.Time(t.At), Status: t.Status, Error: t.Error})
		}
	}
	if st.State == engine.StateApplied && st.Status == 0 {
		st.Status = last.Status
	}
}

// knownAtLeaving is what a site that has left knows of an operation: where it was settled then. What has become of it elsewhere
// since is not told to it.
func knownAtLeaving(v *view.View, o *engine.Operation) (map[engine.SiteID]engine.OperationStatus, engine.State) {
	known, state := map[engine.SiteID]engine.OperationStatus{}, engine.StateSuperseded
	for _, s := range v.Writers() {
		settled := v.Me.Settled
		if s != v.Self {
			settled = v.At(s).Settled
		}
		if !o.In(settled) {
			continue
		}
		st := engine.OperationStatus{State: engine.StateApplied, At: engine.Time(v.At(s).At)}
		known[s], state = st, state.Worse(st.State)
	}
	if len(known) == 0 {
		return known, engine.StateLeft
	}
	return known, state
}

// Hidden stands where a sensitive value is not shown.
const Hidden = "(hidden)"

// Hide returns the body and the edit of o, as JSON, without the values of sensitive fields.
func Hide(k *engine.Kind, o *engine.Operation) ([]byte, json.RawMessage) {
	var edit json.RawMessage
	if len(k.Sensitive) == 0 {
		if !o.Edit.Empty() {
			edit = asJSON(o.Edit)
		}
		return o.Body, edit
	}
	if !o.Edit.Empty() {
		e := *o.Edit
		e.Set, e.Add = maps.Clone(e.Set), maps.Clone(e.Add)
		maps.DeleteFunc(e.Add, func(p engine.Pointer, _ engine.Increment) bool { return k.Hides(p) })
		for p := range e.Set {
			if k.Hides(p) {
				e.Set[p] = tree.Compact(Hidden)
			}
		}
		edit = asJSON(&e)
	}
	if len(o.Body) == 0 {
		return nil, edit
	}
	t, err := tree.ParseJSON(o.Body)
	if _, object := t.(map[string]any); err != nil || !object {
		return []byte(Hidden), edit // no way to tell what in it is sensitive
	}
	for _, p := range k.Sensitive {
		tree.Overwrite(t, p, Hidden)
	}
	return tree.Compact(t), edit
}

func asJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a change: %v", err)) // it holds nothing but validated JSON
	}
	return b
}

// ShownPath is a path as people read it.
func ShownPath(path, id string) string {
	filled, _ := engine.FillPath(path, id, func(s string) string { return s })
	return filled
}

// ShownAs is the identifier in a request as people read it.
func ShownAs(r engine.Request) string {
	if r.Target == "" && r.Kind.Within != "" {
		return engine.Inside(r.Within, "")
	}
	return r.Target
}

// FlightRow describes a request that is in no document: it has run, or may have run, at this site alone.
func FlightRow(v *view.View, f *flight.Flight, st engine.OperationStatus) engine.OperationRow {
	o := f.Operation
	row := OperationRow(v, &o)
	row.IssuedAt = engine.Time(f.Since)
	row.State, row.Sites = st.State, map[engine.SiteID]engine.OperationStatus{v.Self: st}
	row.Parents = nil
	return row
}
