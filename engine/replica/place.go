package replica

import (
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
)

// sharedAnew notes, with a placement operation of this site's own, that its share may be another one from then on than its application shows.
func (r *work) sharedAnew(place *engine.Operation) {
	if len(r.Kind.Divide) > 0 && (place.Place.Parts != nil || r.History.PartsAt(r.standing().Shown().But(place)) != nil) {
		r.Became(place.ID, engine.Outcome{State: engine.StatePending, Again: true})
	}
}

// leave has the last word of a site that was removed: its requests that have happened are published already, and what it knows of
// before its removal is applied. The object stays in its application and belongs to nobody.
func (r *Replica) leave() {
	by := r.Placement().Removed[r.Self]
	if by == nil || r.Own != nil || compact.OnlyHere(r.View, r.env.HasBlob) || r.History.HeldBack(r.Self) {
		return
	}
	now := r.env.Now().UnixMicro()
	r.land()
	r.refuseAll(&engine.Refusal{Status: http.StatusNotFound, Type: "not-replicated", Detail: fmt.Sprintf(
		"%s was removed from the placement of %s %s; nothing has happened here", r.Name(r.Self), r.Kind.Name, r.About.Key)})
	r.SayOnly(engine.Status{Settled: r.History.Complete(), Left: &engine.Left{By: by.ID, At: now}})
	r.Anew(r.Mine.Made)
	r.look.Stop()
	r.Resumed = false
	clear(r.Doubts)
	r.TouchAll()
	r.Changed()
}
