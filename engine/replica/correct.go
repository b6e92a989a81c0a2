package replica

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// correct sends what differs in one request: it reads what the application shows, sets the paths whose folded value has changed,
// and sends it back with the application's precondition.
type correct struct {
	step      plan.Step
	operation *engine.Operation // for which it is tried
	read      bool              // the call that is under way reads
	tries     int               // requests that were sent in this form
	shown     engine.Reply
	form      int // of those of plan.Forms
}

func (t *correct) begin(r *work) bool {
	if !t.step.Void && holdsUnknown(r, t.operation) {
		return true
	}
	t.read = true
	return r.call(r.readCall(r.Mine.Local))
}

func (t *correct) answer(r *work, in *Answered) bool {
	if t.read {
		return t.see(r, in)
	}
	reply := plan.Answer(in.Reply, in.Err)
	alone := r.env.Report(r.Kind, r.Document, reply, in.Err, true)
	switch became := plan.Judge(engine.TypeReplace, reply, in.Err); {
	case became == plan.Done:
		t.succeed(r, reply)
		r.saw(in)
		return true
	case became == plan.Conflict:
		if t.tries < 2 { // once more when someone else wrote in between
			return t.begin(r)
		}
	case became != plan.Refused && (became != plan.Unknown || !alone): // else the application stumbles over it time and again
		r.later(t.operation, reply, in.Err, alone)
		return true
	}
	if reply.Status == 400 || reply.Status == 405 || reply.Status == 415 || reply.Status == 422 {
		if t.form++; t.form < len(plan.Forms(r.Kind, r.History)) {
			t.tries = 0
			return t.begin(r)
		}
		if len(t.step.Operations) > 1 { // it may want one of them and not another
			r.Apart = true
			r.Certain(t.step.Operations...)
			return true
		}
	}
	t.fail(r, engine.Outcome{State: engine.StateRejected, Status: reply.Status, Error: plan.Tell(reply, in.Err)})
	return true
}

// see goes on with what the application shows.
func (t *correct) see(r *work, in *Answered) bool {
	shown, step := in.Presented, t.step
	if in.Reply.Status/100 != 2 { // only what is shown is translated
		shown = in.Reply
	}
	switch {
	case in.Err == nil && step.Void && t.takenBack(r, shown):
		t.succeed(r, shown)
		return true
	case in.Err == nil && shown.Gone() && !r.believes():
		r.tryAgain(t.operation, shown, nil)
		return true
	case in.Err == nil && shown.Gone():
		if !r.vanished(r.Mine.Local) {
			t.fail(r, engine.Outcome{State: engine.StateRejected, Status: shown.Status,
				Error: "the replica is gone from the application, though no operation deleted it"})
		}
		return true
	case in.Err != nil || shown.Status != 200:
		r.later(t.operation, shown, in.Err, r.env.Report(r.Kind, r.Document, shown, in.Err, false))
		return true
	}
	if err := plan.Unsettled(r.Kind, shown.Body); err != nil {
		r.tryAgain(t.operation, engine.Reply{}, err)
		return true
	}
	left := plan.Left(r.Kind, step, shown.Body)
	if left.Empty() { // the application shows it already
		t.succeed(r, shown)
		r.saw(in)
		return true
	}
	call, err := plan.In(plan.Forms(r.Kind, r.History)[t.form], r.History, r.standing(), step, left, shown, r.Mine.Local)
	if err != nil {
		t.fail(r, engine.Outcome{State: engine.StateRejected, Error: err.Error()})
		return true
	}
	r.Doubt(step.Operations...)
	t.read, t.shown = false, shown
	t.tries++
	plan.Carry(t.operation, call.Header)
	if !step.Void { // what counts for nothing is taken back by this site itself
		call.As, _ = view.WithRightsOf(r.View, t.operation)
	}
	return r.call(&Call{Kind: CallSend, Present: true, Call: call})
}

// takenBack reports whether the application shows nothing that a correction would still change.
func (t *correct) takenBack(r *work, shown engine.Reply) bool {
	if shown.Gone() {
		return true
	}
	return shown.Status == 200 && plan.Left(r.Kind, t.step, shown.Body).Empty()
}

func (t *correct) succeed(r *work, reply engine.Reply) {
	step := t.step
	if step.Void {
		r.Voided(step.Operations)
		r.ends(step.Operations...)
		r.settle(step.Operations...)
		return
	}
	for _, o := range step.Operations {
		r.attempt(o, reply, nil)
	}
	applied := append(slices.Clip(step.Operations), view.MadeGood(r.View, view.KeptBy(r.View, step.Operations))...)
	r.stepDone(step, applied, r.Mine.Local, reply)
}

func (t *correct) fail(r *work, out engine.Outcome) {
	step := t.step
	for _, o := range step.Operations {
		r.attempt(o, engine.Reply{Status: out.Status}, nil)
		r.Became(o.ID, out)
	}
	r.ends(step.Operations...)
	r.settle(step.Operations...)
}
