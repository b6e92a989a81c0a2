package replica

import (
	"errors"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// content brings what belongs to a resource beside its representation to a site that was added: it is read at the nearest site that
// has it and written here. Writes are absolute, so that all of it may be done once more after a crash.
type content struct{}

func (t *content) begin(r *work) bool {
	joined := r.History.Get(r.Me.Joined)
	if joined == nil {
		r.note("the content cannot be copied: what has added this site is not known", nil)
		return true
	}
	var from []engine.SiteID
	for _, s := range r.env.Nearest(view.HoldersOf(r.View)) {
		if r.env.Reachable(s) {
			from = append(from, s)
		}
	}
	if len(from) == 0 {
		return t.answer(r, &Answered{Err: issue.Unheld(r.View)})
	}
	if holdsUnknown(r, joined) {
		return true
	}
	who, _ := view.WithRightsOf(r.View, joined)
	return r.call(&Call{Kind: CallCopy, Call: engine.Call{Kind: r.Kind, Local: r.Mine.Local, As: who}, From: from, Key: r.About.Key})
}

func (t *content) answer(r *work, in *Answered) bool {
	joined := r.History.Get(r.Me.Joined)
	if joined == nil {
		return true
	}
	err := in.Err
	if err == nil {
		if t.copied(r, joined, in.Settled) {
			return true
		}
		err = errors.New("copy the content: the other site has not applied yet what this one is to begin with")
	}
	var refusal *engine.Refusal
	if errors.As(err, &refusal) { // here, or for good
		r.fail(joined, engine.Outcome{State: engine.StateRejected, Status: refusal.Status, Error: refusal.Detail, Blocks: true})
		return true
	}
	r.tryAgain(joined, engine.Reply{}, err)
	return true
}

// copied records that the content is here, and what of other sites' actions has come with it. It is not whole when the site that it
// is from lacked something that this site's replica begins with.
func (t *content) copied(r *work, joined *engine.Operation, settled engine.Vector) bool {
	carried, whole := view.CarriedBy(r.View, settled)
	if !whole {
		return false
	}
	for _, o := range carried {
		r.Became(o.ID, engine.Outcome{State: engine.StateApplied, Carried: true})
	}
	r.Applied([]*engine.Operation{joined}, 0)
	r.Me.Bare = false
	r.settle(joined)
	return true
}

// doWithout has this site go on without the body of an operation that no site has any more, where it may.
func (r *work) doWithout(o *engine.Operation) bool {
	out, may := view.WithoutBody(r.View, o)
	settles := out.State == engine.StateRejected && !out.Blocks
	if !may || settles && o.Number > 1 && !r.Me.Settled.Has(o.Line, o.Number-1) { // what is settled is counted by line
		return false
	}
	delete(r.Fetches, o.ID)
	r.Became(o.ID, out)
	if settles {
		r.settle(o)
	}
	return true
}

// WantsBody returns the operation of an identifier whose body is to be sent here, nil for none, and the sites that may have it.
func (r *Replica) WantsBody(id engine.OperationID) (*engine.Operation, []engine.SiteID) {
	o := r.History.Get(id)
	if o == nil || o.Blob == nil || r.Mine.Outcomes[id].Carried {
		return nil, nil
	}
	if r.Settled(r.Self, o) {
		if sends := plan.Next(r.History, r.standing()).Sends(); sends == nil || sends.ID != id {
			return nil, nil
		}
	}
	return o, r.Others()
}
