package replica

import (
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// tidy sees to it that what is kept of a resource does not grow, and that what is due later is not forgotten.
func (r *Replica) tidy() {
	if r.out.Unfold = r.Stale && !r.Busy() && !r.behind; r.behind || r.Stale || r.About.Chooses() {
		return
	}
	if news, again := r.Lapse(r.env.Now(), r.limits.LeaveWithin); news {
		r.Changed()
	} else if again > 0 {
		r.wake(r.env.Now().Add(again))
	}
	if r.Own.Open() {
		if w := r.Me.Wait(engine.WaitAnswer); r.Own.Stage == flight.Unknown && w == nil {
			told := engine.Time(r.Own.Since).Add(drift.Firm / 2 * r.limits.LookAfter)
			if r.env.Now().Before(told) {
				r.wake(told)
			} else {
				r.openWaits()
			}
		}
		if r.Own.Stage != flight.Asked && r.task == nil && r.settling.at.After(r.env.Now()) { // once it is due, what holds it back says when it goes on
			r.wake(r.settling.at)
		}
	}
	watchGoing(r) // before what it holds back may be folded
	if r.Dirty || r.progress || r.keeping.Ends {
		r.fold()
	}
	r.out.Unfold = !r.Busy() && r.Folds && r.History.Unfollowing()
	r.tidyLook()
}

// fold lets go of what every site has settled.
func (r *Replica) fold() {
	if r.Part(r.Self) == view.PartNone || r.Me.Rejoins || r.Resumed && !r.env.Met(r.Others()) {
		return
	}
	let := r.keeping.Tidy(r.View, compact.Bounds{History: r.limits.History, Epoch: r.limits.Epoch}, len(r.out.Entries) > 0,
		func(epoch uint64) engine.Tip { return r.env.FirstTip(r.About, epoch) },
		rowOf(r.View))
	if let.Err != nil {
		r.note("an epoch cannot end", let.Err)
	}
	if let.Forgone > 0 {
		r.note("operations are given up", fmt.Errorf("what %d build on was on a disk that was set back, and no site has it any more", let.Forgone))
	}
	if let.Ended != nil {
		r.out.Ended, r.out.Checkpoint = let.Ended, let.Checkpoint
	}
	if r.out.Drop = append(r.out.Drop, let.Drop...); r.keeping.Ends { // what this step writes is written first
		r.wake(r.env.Now())
	}
}

// tidyLook looks, or says when, where that is needed. It holds no request up: what is read while one goes out is thrown away.
func (r *Replica) tidyLook() {
	looks, again := r.look.Next(r.View, r.env.Now(), r.Own.Open(), r.task != nil || r.lookToken != 0, func() bool { return r.env.Reads(r.Kind) })
	if !again.IsZero() {
		r.wake(again)
	}
	if !looks {
		return
	}
	r.tokens++
	c := r.readCall(r.Mine.Local)
	c.Token, r.lookToken = r.tokens, r.tokens
	r.out.Calls = append(r.out.Calls, c)
	if len(r.env.Contained(r.Kind)) > 0 {
		r.out.Contents = true // whoever looks tells what its part holds, too
	}
}

// Looks reports whether this site is to look at what its application shows, now or soon.
func (r *Replica) Looks() bool {
	return r.Mine.Going != nil || r.lookToken != 0 || r.look.Waits(r.View)
}

// rowOf tells what lists show of an operation.
func rowOf(v *view.View) func(*engine.Operation) engine.OperationRow {
	return func(o *engine.Operation) engine.OperationRow { return report.OperationRow(v, o) }
}
