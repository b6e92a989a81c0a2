package replica

import (
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// settle says that operations need nothing more here.
func (r *work) settle(ops ...*engine.Operation) {
	if len(ops) == 0 {
		return
	}
	view.Settle(r.View, ops...)
	for _, o := range ops {
		if r.UnsayOf(o.ID, engine.WaitHeld) {
			r.env.ReleaseDelete(r.Document)
		}
		r.UnsayOf(o.ID, engine.WaitConfirmed)
		delete(r.Doubts, o.ID)
	}
	r.goes()
}

// goes says that what is written has come through: nothing halts the resource.
func (r *work) goes() {
	r.Halt(nil)
	r.again = pace{}
	r.Changed()
}

// setLocal says what the application calls its object; empty: it has none any more. Others are told where that is another
// identifier than they would think.
func (r *work) setLocal(local engine.LocalID) {
	if r.Mine.Local == local {
		return
	}
	r.Mine.Local = local
	if drift.Made(r.View); local != "" {
		r.Unsay(engine.WaitName)
		r.Me.Ended = 0
		if slices.ContainsFunc(r.Inside(""), func(c engine.Contained) bool { return c.Site == r.Self }) { // that was inside the one before
			r.out.Contents = true
		}
	}
	said := r.Said[r.Self].Local
	if said == "" {
		said = engine.LocalID(r.About.Key)
	}
	if local != "" && local != said {
		r.write(engine.Entry{Map: engine.MapReplicas, Value: engine.Encode(&engine.Replica{Local: local, Made: r.Mine.Made})})
	}
	r.Changed()
}

// later has the resource tried again after an answer that did not settle o. Alone: the service lets the agent in, but not to this resource.
func (r *work) later(o *engine.Operation, reply engine.Reply, err error, alone bool) {
	w := r.env.Halted(r.Kind)
	if alone {
		w = &engine.Wait{Kind: engine.WaitDenied, Since: r.env.Now().UnixMicro(), Operation: o.ID,
			Reason: "the application does not let the agent do this: " + plan.Tell(reply, err)}
	}
	r.Halt(w)
	r.tryAgain(o, reply, err)
}

// tryAgain remembers why an operation has to be tried again, and when.
func (r *work) tryAgain(o *engine.Operation, reply engine.Reply, err error) {
	r.attempt(o, reply, err)
	r.again.tries++
	wait := r.env.Backoff(r.again.tries)
	if respite := r.env.Respite(reply); respite > wait {
		wait = respite
	}
	if !r.env.Waits(r.Kind, r.Document, o.Origin) { // else it is woken when the service runs
		r.again.at = r.env.Now().Add(wait)
		r.wake(r.again.at)
	} else {
		r.again.at = r.env.Now().Add(time.Hour)
	}
	r.Changed()
}

// attempt remembers what came of sending o.
func (r *work) attempt(o *engine.Operation, reply engine.Reply, err error) {
	problem := ""
	if err != nil || reply.Status >= 300 {
		problem = plan.Tell(reply, err)
	}
	r.Tried(o.ID, reply.Status, problem)
}

// standing is what this site's application has been brought to, what is in flight counted.
func (r *work) standing() plan.Standing { return flight.Standing(r.View, &r.Flights) }

// issue makes o, with which nothing is to be done here, an operation of this site, which other sites get.
func (r *work) issue(o *engine.Operation) (*engine.Operation, error) {
	issue.Stamp(r.View, o)
	r.write(issue.Entry(o))
	now := r.History.Get(o.ID)
	if now == nil {
		return nil, fmt.Errorf("%s %s: %w", o.Type, r.About.Key, engine.ErrRefused)
	}
	r.settle(now)
	if o.Type == engine.TypePlace {
		r.sharedAnew(now)
	}
	return now, nil
}

// saw takes in what the answer to a request shows.
func (r *work) saw(in *Answered) {
	if in.Err == nil {
		r.look.Saw(r.View, in.Presented, in.Reply, r.env.Now())
	}
}

// stepDone records that a step is done that settles ops.
func (r *work) stepDone(step plan.Step, ops []*engine.Operation, local engine.LocalID, reply engine.Reply) {
	for _, o := range step.Again { // what an action sets is set on the new object; it is not run again
		r.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true, Ran: o.Type == engine.TypeAction})
	}
	r.Voided(step.Voided)
	if step.Kind == plan.StepMake {
		r.Mine.Made++
		r.Me.Shown = nil
	}
	r.setLocal(local)
	applied := slices.DeleteFunc(slices.Clone(ops), func(o *engine.Operation) bool { return o.Copy || slices.Contains(step.Voided, o) })
	r.Applied(applied, reply.Status)
	r.ends(ops...)
	r.settle(ops...)
	r.goes()
}

// ends says that nothing of some operations is in flight any more.
func (r *work) ends(ops ...*engine.Operation) {
	if r.Sent == nil {
		return
	}
	for _, o := range ops {
		if r.Sent.Operation.ID == o.ID && !o.Copy {
			r.land()
			return
		}
	}
}

// land ends the request of this site's that is in flight.
func (r *work) land() {
	if r.Sent != nil {
		r.Sent = nil
		r.out.Settles = true
		r.Changed()
	}
}

// fail settles an operation that did not succeed here, unless the outcome blocks: then it waits for a person.
func (r *work) fail(o *engine.Operation, out engine.Outcome) {
	if out.Status != 0 || out.State == engine.StateUncertain {
		r.Tried(o.ID, out.Status, out.Error)
	}
	out.Again = out.Blocks && o.In(r.Me.Settled) // it was done with once, and is not any more
	r.Became(o.ID, out)
	r.ends(o)
	if !out.Blocks {
		r.settle(o)
	}
	if out.State != engine.StateUncertain {
		r.Certain(o)
	}
	r.goes()
}

// begin makes this site's replica that of an added site: it begins with what the operation had seen that has added it.
func (r *work) begin(by *engine.Operation) {
	made := r.Mine.Made
	if r.Me.Left != nil { // what is done now is done to another object than what was done before
		made++
	}
	r.SayOnly(engine.Status{Settled: by.Before(), Joined: by.ID, Bare: len(r.Kind.Content) > 0})
	r.Anew(made)
	r.TouchAll()
	r.Changed()
}
