package replica

import (
	"errors"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// Two sites that are cut off from each other can end up with two living resources of one name: one has deleted the resource and
// made it anew while the other made it too, or both have made it, with different placements. Wherever both are known the name
// belongs to the one that was created earlier. The other yields it: its object goes, and what it amounts to stays in its document
// until a person decides, or the owner is deleted.

// keepName sees to it that a resource has an object here only as long as its name is its own. Waits: nothing else is to be done for
// the resource now.
func (r *Replica) keepName() (t task, waits bool) {
	if !r.Kind.Natural() {
		return nil, false
	}
	rivals := r.env.Rivals(r.Kind, r.About.Key, r.Document)
	if len(rivals) == 0 && r.Me.Wait(engine.WaitName) == nil {
		return nil, false
	}
	mine := flight.ClaimOf(r.View, &r.Flights)
	owner := mine.Owner(rivals)
	lives(&r.work, rivals)
	switch {
	case mine.Born == nil:
		if !mine.There() {
			r.out.wakeBorn(rivals) // the name is free
		}
		return nil, false
	case owner == nil:
		r.env.Claim(r.Document, false)
		if mine.Yields {
			r.yield(time.Time{})
		}
		return nil, false
	case !mine.There() && mine.Yields:
		return nil, true
	case mine.There() && !owner.Object && !r.env.Claimed(r.Document):
		r.out.Others = append(r.out.Others, owner.Document) // a person decides there whether this one goes
		return nil, false
	case mine.There() && !owner.Object:
		if !r.enter(r.Self) {
			return nil, true
		}
		return &giveUp{born: mine.Born}, true
	}
	r.yield(r.env.Now())
	r.env.Claim(r.Document, false)
	r.out.wakeBorn(rivals)
	return nil, true
}

// wakeBorn wakes those that may have the name.
func (out *Effects) wakeBorn(claims []view.Claim) {
	for _, c := range claims {
		if c.Born != nil {
			out.Others = append(out.Others, c.Document)
		}
	}
}

// yield says since when another resource has the name of this one here; zero: none has.
func (r *work) yield(since time.Time) {
	r.Halt(nil)
	if !since.IsZero() { // what a request may have made is gone
		r.land()
	}
	r.setLocal("")
	r.Me.Shown = nil
	r.Unsay(engine.WaitName)
	if !since.IsZero() {
		r.Say(engine.Wait{Kind: engine.WaitName, Since: since.UnixMicro()})
	}
	r.TouchAll()
	r.Changed()
}

// giveUp deletes the object of a resource whose name is another's.
type giveUp struct{ born *engine.Operation }

func (t *giveUp) begin(r *work) bool {
	if !r.env.TakeName(r.Kind, r.About.Key, r.Document) {
		r.again.at = r.env.Now().Add(r.env.Backoff(1))
		r.wake(r.again.at)
		return true
	}
	o := &engine.Operation{ID: t.born.ID, Type: engine.TypeDelete, Method: "DELETE", Path: r.Kind.Item}
	return r.call(r.sendCall(o, r.env.Here(r.Kind, string(r.About.Key)), "", nil))
}

func (t *giveUp) answer(r *work, in *Answered) bool {
	r.env.FreeName(r.Kind, r.About.Key, r.Document)
	alone := r.env.Report(r.Kind, r.Document, in.Reply, in.Err, true)
	if plan.Judge(engine.TypeDelete, in.Reply, in.Err) != plan.Done {
		r.later(t.born, in.Reply, in.Err, alone)
		return true
	}
	drift.Leave(r.View, r.Mine.Local, t.born.ID, in.Reply, r.env.Now())
	r.out.wakeBorn(r.env.Rivals(r.Kind, r.About.Key, r.Document))
	r.yield(r.env.Now())
	r.env.Claim(r.Document, false)
	return true
}

// lives has a create tried again that a rival's object was in the way of, once there is none.
func lives(r *work, rivals []view.Claim) {
	for id, out := range r.Mine.Outcomes {
		if out.Cause == engine.ConflictRival && !view.AnyThere(rivals) {
			r.Became(id, engine.Outcome{State: engine.StatePending, Again: out.Again})
		}
	}
}

// nameBusy reports whether whatever else is called the same has to go before a create is sent, and has it go.
func (t *send) nameBusy(r *work) bool {
	ended := r.History.Born(merge.Any) == nil
	for _, other := range r.env.Rivals(r.Kind, r.About.Key, r.Document) {
		if other.Going && !ended {
			r.tryAgain(t.o, engine.Reply{}, errors.New("another object of its name was deleted and is not gone yet"))
			r.again.tries = min(r.again.tries, 3) // it takes as long as it takes
			return true
		}
		if !other.There() || ended && other.Born == nil && !other.Object { // of those that have ended, each finds out what it has made
			continue
		}
		if ended { // it was to be found out whether o was done: what it may have made is not there any more
			r.land()
			return true
		}
		if other.Born != nil && other.Object && !r.env.Claimed(other.Document) { // nothing that lives goes because another site says so
			r.fail(t.o, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictRival, Error: other.Lives(r.View)})
			return true
		}
		if other.Born == nil && other.Asks != "" { // its object goes once that is decided
			r.fail(t.o, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictRival, Error: other.Stays(r.View)})
			return true
		}
		r.out.Others = append(r.out.Others, other.Document)
		r.tryAgain(t.o, engine.Reply{}, errors.New("another object of its name is still here"))
		return true
	}
	return false
}
