package replica

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/report"
)

// looking is when this site is to look at what its application shows.
type looking struct {
	due   time.Time // zero: it need not
	tries int       // looks that have found sites to differ
	last  time.Time
	asked bool // somebody has asked for it
}

// Looks reports whether this site is to look at what its application shows, now or soon. One that was asked for waits for something to see.
func (r *Replica) Looks() bool {
	return r.lookToken != 0 || !r.look.due.IsZero() && r.Exists() && r.Quiet(r.Self)
}

func (l *looking) soon(now time.Time) { l.due, l.asked = now, true }

// tidyLook looks, or says when, where that is needed. It holds no request up: what is read while one goes out is thrown away.
func (r *Replica) tidyLook() {
	now := r.env.Now()
	if !r.Exists() || !r.Quiet(r.Self) || r.Own.Open() {
		r.look = looking{last: r.look.last, asked: r.look.asked && r.Exists(), due: r.look.due}
		if !r.look.asked {
			r.look.due = time.Time{}
		}
		return
	}
	switch {
	case r.look.asked:
	case r.Me.Shown == nil:
		if r.look.due.IsZero() {
			r.look.due, r.look.tries = now.Add(r.limits.LookAfter), 0
		}
	case !r.Me.Shown.Steady && !report.Agree(r.View):
		if r.look.due.IsZero() {
			r.look.due = now.Add(r.look.again(r.limits))
		}
	default:
		r.look.due, r.look.tries = time.Time{}, 0
	}
	switch {
	case r.look.due.IsZero() || r.task != nil || r.lookToken != 0:
	case now.Before(r.look.due):
		r.wake(r.look.due)
	case !r.env.Reads(r.Kind):
		r.look.due = now.Add(r.look.again(r.limits))
		r.look.tries++
		r.wake(r.look.due)
	default:
		r.look.due, r.look.asked = time.Time{}, false
		r.tokens++
		c := r.readCall(r.Mine.Local)
		c.Token, r.lookToken = r.tokens, r.tokens
		r.out.Calls = append(r.out.Calls, c)
		if len(r.env.Contained(r.Kind)) > 0 {
			r.out.Contents = true // whoever looks tells what its part holds, too
		}
	}
}

// again is how long to wait for the next look: it grows by half with each look that has found sites to differ, up to LookEvery.
func (l *looking) again(limits Limits) time.Duration {
	d := firm * limits.LookAfter
	for range min(l.tries, 64) {
		if d += d / 2; d >= limits.LookEvery {
			return limits.LookEvery
		}
	}
	return d
}

// looked takes in what a look has read.
func (r *Replica) looked(in *Answered) {
	if !r.Quiet(r.Self) {
		return
	}
	now, why := drift.Observe(r.View, in.Presented, in.Reply, in.Err)
	if now == nil {
		if text := why.Error(); r.Mine.Unseen != text {
			r.Mine.Unseen = text
			r.Changed()
		}
		r.look.tries++
		r.look.due = r.env.Now().Add(r.look.again(r.limits))
		return
	}
	before := r.Me.Shown
	r.show(now, in.Presented.Body, true)
	if !report.Agree(r.View) {
		r.look.tries++
	}
	if o := r.Me.Shown; o.Unseen == engine.UnseenGone && o.Steady && r.Me.Contended == "" && before != nil {
		r.task = &bringBack{}
		if r.task.begin(r) {
			r.task = nil
		}
	}
}

// saw takes in what the answer to a request shows, where that is the object as it is now: a look of its own is spared then.
func (r *Replica) saw(in *Answered) {
	if in.Err != nil || in.Presented.Status/100 != 2 || !r.Exists() || !r.Quiet(r.Self) || !drift.IsItem(r.View, in.Presented.Body) {
		return
	}
	now, _ := drift.Observe(r.View, in.Presented, in.Reply, nil)
	if now == nil || now.Unseen != "" || len(now.Differs) > 0 {
		return
	}
	r.show(now, in.Presented.Body, false)
}

// show takes in what the application shows in this state. Read says that it was read, and not answered to a request.
func (r *Replica) show(now *engine.Shown, body []byte, read bool) {
	at := r.env.Now()
	later := read && !r.look.last.IsZero() && at.Sub(r.look.last) >= firm/2*r.limits.LookAfter
	r.look.last = at
	drift.Show(r.View, now, body, at, later)
}
