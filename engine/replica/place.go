package replica

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// sharedAnew notes, with a placement operation of this site's own, that its share may be another one from then on.
func (r *Replica) sharedAnew(place *engine.Operation) {
	if r.About.Collaboration == engine.Cross && len(r.Kind.Divide) > 0 {
		r.Became(place.ID, engine.Outcome{State: engine.StatePending, Again: true})
	}
}

// nothingBefore reports whether this site, which was removed, has nothing left to do before its removal: what comes after that in the
// order is not for it, and what waits for a person waits in vain.
func (r *Replica) nothingBefore(next plan.Step) bool {
	if next.Kind == plan.StepNothing || next.Kind == plan.StepHold || len(next.Operations) == 0 { // an object that has vanished is not made anew any more
		return true
	}
	by := r.Placement().Removed[r.Self]
	return by == nil || engine.Compare(next.Operations[0], by) >= 0
}

// leave has the last word of a site that was removed: its requests that have happened are published already, and what it knows of
// before its removal is applied. The object stays in its application and belongs to nobody.
func (r *Replica) leave() {
	by := r.Placement().Removed[r.Self]
	if by == nil || r.Own != nil || r.onlyHere() || r.History.HeldBack(r.Self) {
		return
	}
	now := r.env.Now().UnixMicro()
	r.land()
	r.refuseAll(&engine.Refusal{Status: http.StatusNotFound, Type: "not-replicated", Detail: fmt.Sprintf(
		"%s was removed from the placement of %s %s; nothing has happened here", r.Name(r.Self), r.Kind.Name, r.About.Key)})
	r.SayOnly(engine.Status{Settled: r.Me.Settled, Left: &engine.Left{By: by.ID, At: now}})
	r.Anew(r.Mine.Made)
	r.look = looking{}
	r.Resumed = false
	clear(r.Doubts)
	r.TouchAll()
	r.Changed()
}

// onlyHere reports whether this site may be the only one that has the body of an operation which one that stays has still to settle.
func (r *Replica) onlyHere() bool {
	members := r.Placement().Sites
	for _, o := range r.History.Living(merge.Any) {
		if o.Blob == nil || !r.env.HasBlob(*o.Blob) {
			continue
		}
		lacks := func(m engine.SiteID) bool { return !r.Settled(m, o) }
		had := func(m engine.SiteID) bool {
			return r.Settled(m, o) && r.Outcomes(m)[o.ID].State != engine.StateSuperseded
		}
		if slices.ContainsFunc(members, lacks) && !slices.ContainsFunc(members, had) {
			return true
		}
	}
	return false
}
