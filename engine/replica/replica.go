package replica

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// Replica is one resource at one site. It is not safe for concurrent use.
type Replica struct {
	work
	keeping compact.Keeping
	past    past
	// behind says that another site has more of this one than it has itself: one that joins anew is to take this one's place.
	// Late: the others have let go of what is here, with the same end. Left says that the loop has been told so.
	behind, late, left bool
	// partly is until when the rest of what a site has sent last is waited for; zero: it was all.
	partly time.Time
	// progress says that another site has come further than is kept.
	progress bool
	// postponed is what people have decided about a request that is just being settled.
	postponed []*Decide
}

// New returns the replica of a resource whose view is there. Resumed says that an earlier process may have sent what is not settled.
func New(v *view.View, limits Limits, resumed bool) *Replica {
	return &Replica{work: work{View: v, limits: limits, Flights: flight.Flights{Doubts: map[engine.OperationID]bool{}, Resumed: resumed},
		unavailable: map[engine.OperationID]bool{}, look: drift.Watch{After: limits.LookAfter, Every: limits.LookEvery}}}
}

// doing is what is kept of a replica beside its view.
type doing struct {
	Own     *flight.Flight `cbor:"1,keyasint,omitempty"`
	Sent    *flight.Flight `cbor:"2,keyasint,omitempty"`
	Remnant *view.Remnant  `cbor:"3,keyasint,omitempty"`
}

// Kept returns what is to be stored of the replica.
func (r *Replica) Kept() []byte {
	if r.Own == nil && r.Sent == nil && r.past.remnant == nil {
		return r.View.Kept(nil)
	}
	return r.View.Kept(engine.Encode(&doing{r.Own, r.Sent, r.past.remnant}))
}

// Restore takes in what was stored by Kept. What was in flight may have reached the application.
func (r *Replica) Restore(b []byte) error {
	kept, err := r.View.Restore(b)
	if err != nil || len(kept) == 0 {
		return err
	}
	var d doing
	if err := engine.Decode(kept, &d); err != nil {
		return fmt.Errorf("read what was in flight for %s: %w", r.About.Key, err)
	}
	r.Own, r.Sent, r.past.remnant = d.Own, d.Sent, d.Remnant
	if d.Remnant != nil {
		r.past.lost = d.Remnant.Lost
	}
	r.Interrupted("the agent stopped before the answer came")
	return nil
}

// Idle reports whether the replica may be forgotten and loaded anew: nothing of it is in memory alone.
func (r *Replica) Idle() bool {
	return r.task == nil && r.token == 0 && r.lookToken == 0 && r.going.token == 0 && len(r.asks) == 0 && len(r.Doubts) == 0 && !r.Resumed && len(r.Fetches) == 0
}

// Step takes one input in and returns what is to be done about it. The effects belong to the replica: they are good until its next step.
func (r *Replica) Step(env Env, in Input) *Effects {
	r.steps(env)
	switch in := in.(type) {
	case *Ask:
		r.asks = append(r.asks, in)
	case *Heard:
		r.heard(in)
	case *Answered:
		r.answered(in)
	case *Decide:
		r.decide(in)
	case *News:
		r.news(in)
	case *Inside:
		r.write(in.entries(r.View, r.env)...)
	case *Made:
		r.write(in.entries(r.View, r.env)...)
	case *Hold:
		view.Hold(r.View, in.Holding)
	case *Lacks:
		r.Lack(in.Why)
	case Wake:
	}
	if h, ok := in.(*Heard); ok && h.Follows {
		defer func() { r.progress = true }()
	} else {
		r.advance()
		r.tidy()
	}
	return r.stepped()
}

// steps begins a step, stepped ends it.
func (r *Replica) steps(env Env) {
	r.effects = Effects{}
	r.env, r.out, r.Now = env, &r.effects, env.Clock().UnixMicro()
}

func (r *Replica) stepped() *Effects {
	out := r.out
	out.Changed, out.Progress, r.Dirty = r.Dirty || r.progress && report.Told(r.View), r.progress, false
	r.progress = r.progress && !out.Changed
	r.env, r.out = nil, nil
	return out
}

// answered gives the answer of a call to who waits for it.
func (r *Replica) answered(in *Answered) {
	switch {
	case in.Token == r.token && r.task != nil:
		r.token = 0
		if !r.task.answer(&r.work, in) {
			return
		}
		r.task = nil
		postponed := r.postponed
		r.postponed = nil
		for _, d := range postponed {
			r.decide(d)
		}
	case in.Token == r.going.token && in.Token != 0:
		goingOn(r, in)
	case in.Token == r.lookToken && in.Token != 0:
		r.lookToken = 0
		if in.Err == nil && (in.Reply.Status/100 == 2 || in.Reply.Gone()) {
			if there := !in.Reply.Gone(); there || !drift.Ends(r.View) {
				r.env.Looked(r.Kind, r.Document, there)
			}
		}
		if r.look.Looked(r.View, in.Presented, in.Reply, in.Err, r.env.Now()) {
			r.task = &bringBack{}
			r.task.begin(&r.work)
		}
	}
}

// news takes in what has changed elsewhere.
func (r *Replica) news(in *News) {
	if in.Hurry {
		r.again, r.nameWaits = pace{}, false
	}
	if in.Look {
		r.look.Soon(r.env.Now())
	}
	if in.Body != "" {
		if in.Why == "" {
			delete(r.Fetches, in.Body)
			delete(r.unavailable, in.Body)
		} else {
			r.Fetches[in.Body] = view.Fetch{Why: in.Why, Bytes: in.Bytes}
		}
		r.Touched[in.Body] = true
		r.Changed()
	}
	if in.NoBody != "" {
		r.unavailable[in.NoBody] = true
	}
}

// among returns what selects the operations of a list.
func among(ops []*engine.Operation) func(*engine.Operation) bool {
	return func(o *engine.Operation) bool { return slices.Contains(ops, o) }
}

// Busy reports whether something is under way that waits for an answer of the application.
func (r *Replica) Busy() bool { return r.task != nil || r.token != 0 }

// NextStep is what this site would do next for what others have sent.
func (r *Replica) NextStep() plan.Step {
	if r.About.Chooses() || !r.Holds(r.Self) {
		return plan.Step{Kind: plan.StepNothing}
	}
	return plan.Next(r.History, r.standing())
}

// TellNews makes what this site says of itself a status, if that is news. A site that has done nothing yet says nothing; and of a
// resource of which no operation is known, a request that may yet make it, or that its application refuses, is nobody else's business. One that
// is to join anew knows that what it would say is not so.
func (r *Replica) TellNews(at time.Time) (encoded []byte, news bool) {
	me := &r.Me
	if r.behind || me.Number == 0 && me.Holding == nil && !awaited(r.View) && (r.Blank() || len(me.Settled)+len(r.Mine.Outcomes)+len(me.Waits) == 0 && me.Left == nil && !me.Rejoins) {
		return nil, false
	}
	return r.Tell(at)
}

// awaited reports whether a site that joins anew waits for this one's word, also where it has nothing to say but what it holds back or has tried. It says
// nothing before that: its word would take the place of what a lost run of its own may have said, by which it finds out that its disk was set back.
func awaited(v *view.View) bool {
	return (v.Blank() || v.History.Held() > 0 || len(v.Mine.Tries) > 0) && slices.ContainsFunc(v.Others(), func(m engine.SiteID) bool { return v.At(m).Rejoins })
}

// SetAside stops all work on the resource, because a defect of the agent's own has struck it, until a person resumes it. Whoever waits for
// what was under way is to be told by the caller.
func (r *Replica) SetAside(env Env, why string) *Effects {
	r.steps(env)
	r.task, r.token, r.lookToken, r.going, r.postponed = nil, 0, 0, going{}, nil
	r.Interrupted(why)
	r.Say(engine.Wait{Kind: engine.WaitAside, Since: env.Now().UnixMicro(), Reason: why})
	r.refuseAll(&engine.Refusal{Status: http.StatusServiceUnavailable, Type: "aside", Detail: why + "; it is set aside until somebody resumes it"})
	r.Changed()
	return r.stepped()
}
