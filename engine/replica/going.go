package replica

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/view"
)

// going is how a deletion that the application has accepted is watched until the object is gone: some take their time over it, and some give it
// up. Nothing of the same name is made before.
type going struct {
	pace
	token uint64 // of the look that is under way
}

// watchGoing looks at the object that is to go, or says when.
func watchGoing(r *Replica) {
	if r.Mine.Going == nil || r.going.token != 0 || drift.Resends(r.View) {
		return
	}
	if r.Mine.Local != "" && !drift.Asked(r.View) { // it has an object again
		r.wentAway()
		return
	}
	if r.going.at.IsZero() {
		r.going.at = drift.GoesFirst(r.View, r.env.Now(), r.limits.LookAfter)
	}
	if now := r.env.Now(); now.Before(r.going.at) || !r.env.Reads(r.Kind) {
		if !now.Before(r.going.at) {
			r.going.at = now.Add(drift.GoesOn(r.View, r.limits.LookAfter, r.going.tries))
		}
		r.wake(r.going.at)
		return
	}
	r.tokens++
	c := r.readCall(r.Mine.Going.Local)
	c.Token, c.Present, r.going.token = r.tokens, !r.Mine.Going.Accepted(), r.tokens
	r.out.Calls = append(r.out.Calls, c)
}

// goingOn takes in what a look at the object that is to go has shown.
func goingOn(r *Replica, in *Answered) {
	r.going.token = 0
	if r.Mine.Going == nil {
		return
	}
	rivals := r.env.Rivals(r.Kind, r.About.Key, r.Document)
	asked := drift.Asked(r.View)
	whose := r.env.Meta(r.Kind, r.Mine.Going.Local)
	theirs := whose != "" && whose != r.About.Key || r.Kind.Natural() && view.AnyThere(rivals)
	if theirs || drift.IsGone(r.View, in.Reply, in.Err, r.env.Now(), r.limits.LookAfter) {
		if asked {
			r.Became(r.Mine.Going.By, engine.Outcome{State: engine.StateApplied, Status: r.Mine.Going.Status})
			r.setLocal("")
		}
		r.wentAway()
		for _, c := range rivals {
			r.out.Others = append(r.out.Others, c.Document)
		}
		return
	}
	now := r.env.Now()
	switch {
	case asked:
		r.Unsay(engine.WaitDeleting) // the conflict tells
	case drift.Resend(r.View, in.Presented, in.Reply):
		r.setLocal(r.Mine.Going.Local)
		r.goes()
		r.going = going{}
		return
	case drift.Overdue(r.View, in.Reply, in.Err, now):
		r.stays()
	}
	r.going.at = now.Add(drift.GoesOn(r.View, r.limits.LookAfter, r.going.tries))
	r.going.tries++
	r.wake(r.going.at)
}

// wentAway ends the watch.
func (r *work) wentAway() {
	drift.Left(r.View)
	r.going = going{}
}

// stays asks a person about a deletion that was accepted and not done.
func (r *work) stays() {
	if local := drift.Stays(r.View); local != "" {
		r.setLocal(local)
	}
}

// awaitsGone has a create wait until what has its name is gone, which was deleted; after a while it is refused.
func (t *own) awaitsGone(r *work) bool {
	now := r.env.Now()
	if t.free(r); t.ask.since.IsZero() {
		t.ask.since = now
	}
	if now.Sub(t.ask.since) >= drift.GoneWithin {
		return t.refuse(r, issue.Deleting(r.Kind, r.About.Key))
	}
	r.asks = append([]*Ask{t.ask}, r.asks...)
	r.asksAt = now.Add(r.env.Backoff(1))
	r.wake(r.asksAt)
	return true
}
