package replica

import (
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// adopt brings an object that is there to what a create sets, and takes it as the replica: a person has said so.
type adopt struct {
	step  plan.Step
	o     *engine.Operation
	local engine.LocalID
	sends bool // the call that is under way sends
	tries int
}

func (t *adopt) begin(r *work) bool {
	t.sends = false
	if holdsUnknown(r, t.o) {
		return true
	}
	return r.call(r.readCall(t.local))
}

func (t *adopt) answer(r *work, in *Answered) bool {
	if t.sends {
		return t.heard(r, in)
	}
	shown := in.Presented
	switch {
	case in.Err == nil && in.Reply.Gone():
		r.fail(t.o, engine.Outcome{State: engine.StateRejected, Status: in.Reply.Status, Blocks: true,
			Error: fmt.Sprintf("there is no %s %s here that could be taken: a new one can be made", r.Kind.Name, t.local)})
		return true
	case in.Err != nil || shown.Status != 200:
		r.later(t.o, in.Reply, in.Err, r.env.Report(r.Kind, r.Document, in.Reply, in.Err, false))
		return true
	case t.o.Edit.Empty() || plan.Shows(r.Kind, shown.Body, t.o.Edit):
		t.succeed(r, in)
		return true
	}
	call, err := plan.Correction(r.Kind, r.History.MergeType(), t.o.Edit, shown, t.local)
	if err != nil {
		r.fail(t.o, engine.Outcome{State: engine.StateRejected, Blocks: true, Cause: engine.ConflictExists, Error: err.Error()})
		return true
	}
	t.sends = true
	t.tries++
	call.As, _ = view.WithRightsOf(r.View, t.o)
	return r.call(&Call{Kind: CallSend, Present: true, Call: call})
}

func (t *adopt) heard(r *work, in *Answered) bool {
	alone := r.env.Report(r.Kind, r.Document, in.Reply, in.Err, true)
	switch plan.Judge(engine.TypeReplace, in.Reply, in.Err) {
	case plan.Done:
		t.succeed(r, in)
		return true
	case plan.Unknown, plan.Unsent, plan.Later, plan.Denied:
		r.later(t.o, in.Reply, in.Err, alone)
		return true
	case plan.Conflict:
		if t.tries < 2 { // someone else wrote in between
			return t.begin(r)
		}
	}
	r.fail(t.o, engine.Outcome{State: engine.StateRejected, Status: in.Reply.Status, Blocks: true, Cause: engine.ConflictExists,
		Error: fmt.Sprintf("%s %s cannot be brought to what the other sites show: %s", r.Kind.Name, t.local, plan.Tell(in.Reply, nil))})
	return true
}

func (t *adopt) succeed(r *work, in *Answered) {
	s := &send{step: t.step, o: t.o}
	s.succeed(r, engine.Reply{Status: in.Reply.Status, Local: t.local}, t.local)
	r.saw(in)
}
