package replica

import (
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/issue"
	"github.com/skerry/skerry/engine/plan"
)

// settle says that operations need nothing more here.
func (r *Replica) settle(ops ...*engine.Operation) {
	if len(ops) == 0 {
		return
	}
	r.Settle(ops...)
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
func (r *Replica) goes() {
	r.Halt(nil)
	r.again = pace{}
	r.Changed()
}

// setLocal says what the application calls its object; empty: it has none any more. Others are told where that is another
// identifier than they would think.
func (r *Replica) setLocal(local engine.LocalID) {
	if r.Mine.Local == local {
		return
	}
	r.Mine.Local = local
	if local != "" {
		r.Unsay(engine.WaitName)
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
func (r *Replica) later(o *engine.Operation, reply engine.Reply, err error, alone bool) {
	w := r.env.Halted(r.Kind)
	if alone {
		w = &engine.Wait{Kind: engine.WaitDenied, Since: r.env.Now().UnixMicro(),
			Reason: "the application does not let the agent do this: " + plan.Tell(reply, err)}
	}
	r.Halt(w)
	r.tryAgain(o, reply, err)
}

// tryAgain remembers why an operation has to be tried again, and when.
func (r *Replica) tryAgain(o *engine.Operation, reply engine.Reply, err error) {
	r.attempt(o, reply, err)
	r.again.tries++
	wait := r.env.Backoff(r.again.tries)
	if respite := r.env.Respite(reply); respite > wait {
		wait = respite
	}
	if !r.env.Waits(r.Kind, r.Document) { // else it is woken when the service runs
		r.again.at = r.env.Now().Add(wait)
		r.wake(r.again.at)
	} else {
		r.again.at = r.env.Now().Add(time.Hour)
	}
	r.Changed()
}

// attempt remembers what came of sending o.
func (r *Replica) attempt(o *engine.Operation, reply engine.Reply, err error) {
	problem := ""
	if err != nil || reply.Status >= 300 {
		problem = plan.Tell(reply, err)
	}
	r.Tried(o.ID, reply.Status, problem)
}

// standing is what this site's application has been brought to, what is in flight counted.
func (r *Replica) standing() plan.Standing { return flight.Standing(r.View, &r.Flights) }

// issue makes o, with which nothing is to be done here, an operation of this site, which other sites get.
func (r *Replica) issue(o *engine.Operation) (*engine.Operation, error) {
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
func (r *Replica) saw(in *Answered) {
	if in.Err == nil {
		r.look.Saw(r.View, in.Presented, in.Reply, r.env.Now())
	}
}
