package replica

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// place changes where the resource lives. The identifier is empty when nothing is different.
func (r *Replica) place(q engine.PlaceRequest) (engine.OperationID, error) {
	change, err := r.change(q)
	if change == nil || err != nil {
		return "", err
	}
	o := &engine.Operation{ID: engine.OperationID(r.env.NewID()), Type: engine.TypePlace, Place: change, User: q.User}
	r.stamp(o)
	r.write(entryOf(o))
	now := r.History.Get(o.ID)
	if now == nil {
		return "", fmt.Errorf("place %s: %w", r.About.Key, engine.ErrRefused)
	}
	r.settle(now)
	r.sharedAnew(now)
	return o.ID, nil
}

// sharedAnew notes, with a placement operation of this site's own, that its share may be another one from then on.
func (r *Replica) sharedAnew(place *engine.Operation) {
	if r.About.Collaboration == engine.Cross && len(r.Kind.Divide) > 0 {
		r.Became(place.ID, engine.Outcome{State: engine.StatePending, Again: true})
	}
}

// change turns a request into the change that it amounts to here; nil when nothing is different.
func (r *Replica) change(q engine.PlaceRequest) (*engine.PlacementChange, error) {
	switch {
	case r.Part(r.Self) != view.PartMember:
		return nil, engine.ErrNotFound
	case !r.Exists():
		return nil, &engine.Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %s was deleted", r.Kind.Name, r.About.Key)}
	}
	now := r.Placement().Sites
	if q.Sites != nil {
		q.Add = q.Sites
		q.Remove = slices.DeleteFunc(slices.Clone(now), func(id engine.SiteID) bool { return slices.Contains(q.Sites, id) })
	}
	c := &engine.PlacementChange{Forced: q.Forced}
	for _, id := range q.Add {
		if !slices.Contains(now, id) {
			c.Add = append(c.Add, id)
		}
	}
	for _, id := range q.Remove {
		if slices.Contains(now, id) {
			c.Remove = append(c.Remove, id)
		}
	}
	slices.Sort(c.Add)
	slices.Sort(c.Remove)
	c.Add, c.Remove = slices.Compact(c.Add), slices.Compact(c.Remove)
	refuse := func(format string, args ...any) (*engine.PlacementChange, error) {
		return nil, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "placement", Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case slices.ContainsFunc(q.Add, func(id engine.SiteID) bool { return slices.Contains(q.Remove, id) }):
		return refuse("a site is to be added and removed at once")
	case len(c.Add)+len(c.Remove) == 0:
		return nil, nil
	case len(c.Add) == 0 && len(c.Remove) == len(now):
		return refuse("no site would be left for %s %s; delete it instead", r.Kind.Name, r.About.Key)
	case len(c.Add)+len(c.Remove) > engine.MaxPlaced:
		return refuse("at most %d sites change at once", engine.MaxPlaced)
	case len(c.Add) == 0:
		return c, nil
	case r.Mine.Local == "" || r.Me.Bare:
		return nil, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica", Detail: fmt.Sprintf(
			"%s has no whole replica of %s %s yet; add the site at one that has", r.Name(r.Self), r.Kind.Name, r.About.Key)}
	}
	return c, r.warnsOfActions(q.Forced)
}

// warnsOfActions refuses to add sites to a resource on which actions have run that nothing brings to them.
func (r *Replica) warnsOfActions(forced bool) error {
	if forced || len(r.Kind.Content) > 0 {
		return nil
	}
	for _, o := range r.History.Living(merge.Any) {
		if o.Blob != nil && !compact.NeedsBlob(r.View, o) {
			return &engine.Refusal{Status: http.StatusConflict, Type: engine.ForceActions, Detail: fmt.Sprintf(
				"%s has put %d bytes into %s %s, which every site has got and none keeps: an added site would begin without it; nothing has happened\n"+
					"help: declare content in the catalog, or send Skerry-Force: %s", o.Path, o.Blob.Size, r.Kind.Name, r.About.Key, engine.ForceActions)}
		}
		if o.Type == engine.TypeAction && o.Edit == nil {
			return &engine.Refusal{Status: http.StatusConflict, Type: engine.ForceActions, Detail: fmt.Sprintf(
				"%s has run on %s %s and the catalog does not say what that does, nor where its content is: an added site would begin without it; "+
					"nothing has happened\nhelp: declare content or the operation's effect in the catalog, or send Skerry-Force: %s",
				o.Path, r.Kind.Name, r.About.Key, engine.ForceActions)}
		}
	}
	return nil
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
	if by == nil || r.own != nil || r.onlyHere() || r.History.HeldBack(r.Self) {
		return
	}
	now := r.env.Now().UnixMicro()
	r.land()
	r.refuseAll(&engine.Refusal{Status: http.StatusNotFound, Type: "not-replicated", Detail: fmt.Sprintf(
		"%s was removed from the placement of %s %s; nothing has happened here", r.Name(r.Self), r.Kind.Name, r.About.Key)})
	r.Me = engine.Status{Document: r.Document, Number: r.Me.Number, At: r.Me.At, Settled: r.Me.Settled, Left: &engine.Left{By: by.ID, At: now}}
	r.Anew(r.Mine.Made)
	r.look = looking{}
	r.resumed = false
	clear(r.doubts)
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
