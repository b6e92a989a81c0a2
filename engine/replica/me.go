package replica

import (
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// settle says that operations need nothing more here.
func (r *Replica) settle(ops ...*engine.Operation) {
	if len(ops) == 0 {
		return
	}
	if r.Me.Settled == nil {
		r.Me.Settled = engine.Vector{}
	}
	for _, o := range ops {
		r.Me.Settled[o.Origin] = max(r.Me.Settled[o.Origin], o.Number)
		if w := r.Me.Wait(engine.WaitHeld); w != nil && w.Operation == o.ID {
			r.unwait(engine.WaitHeld)
			r.env.ReleaseDelete(r.Document)
		}
		if w := r.Me.Wait(engine.WaitConfirmed); w != nil && w.Operation == o.ID {
			r.unwait(engine.WaitConfirmed)
		}
		if o.ID == r.Me.Joined {
			r.Me.Bare = false
		}
		delete(r.doubts, o.ID)
		r.Touched[o.ID] = true
	}
	r.Me.Shown, r.Mine.Unseen = nil, "" // it was of another state
	r.goes()
}

// goes says that what is written has come through: nothing halts the resource.
func (r *Replica) goes() {
	r.unwait(engine.WaitDenied, engine.WaitMismatch, engine.WaitClock, engine.WaitReference)
	if r.Mine.Halted != nil {
		r.Mine.Halted = nil
		r.touchOpen()
	}
	r.notBefore, r.tries = time.Time{}, 0
	r.changed()
}

// setLocal says what the application calls its object; empty: it has none any more. Others are told where that is another
// identifier than they would think.
func (r *Replica) setLocal(local engine.LocalID) {
	if r.Mine.Local == local {
		return
	}
	r.Mine.Local = local
	if local != "" {
		r.unwait(engine.WaitName)
	}
	said := r.Said(r.Self).Local
	if said == "" {
		said = engine.LocalID(r.About.Key)
	}
	if local != "" && local != said {
		r.write(engine.Entry{Map: engine.MapReplicas, Value: engine.Encode(&engine.Replica{Local: local, Made: r.Mine.Made})})
	}
	r.changed()
}

// outcome notes what became here of an operation that did not simply succeed.
func (r *Replica) outcome(id engine.OperationID, out engine.Outcome) {
	out.At = r.env.Now().UnixMicro()
	if old, ok := r.Mine.Outcomes[id]; ok && old.At >= out.At {
		out.At = old.At + 1
	}
	r.Mine.Outcomes[id] = out
	r.Touched[id] = true
	r.changed()
}

// applied says of operations that are applied now, and of which something else was told, that they are.
func (r *Replica) applied(ops []*engine.Operation, status int) {
	for _, o := range ops {
		if _, told := r.Mine.Outcomes[o.ID]; told {
			r.outcome(o.ID, engine.Outcome{State: engine.StateApplied, Status: status})
		}
	}
}

// wait says why this site does not do now what is left to do. It reports whether that is news.
func (r *Replica) wait(w engine.Wait) bool {
	if old := r.Me.Wait(w.Kind); old != nil {
		if old.Reason == w.Reason && old.Operation == w.Operation && old.By == w.By {
			return false
		}
		if w.Kind != engine.WaitPaused && old.Operation == w.Operation {
			w.Since = old.Since
		}
		*old = w
	} else {
		r.Me.Waits = append(slices.Clip(r.Me.Waits), w)
	}
	r.touchOpen()
	r.changed()
	return true
}

// unwait takes reasons to wait back.
func (r *Replica) unwait(kinds ...engine.WaitKind) {
	before := len(r.Me.Waits)
	if before == 0 {
		return
	}
	r.Me.Waits = slices.DeleteFunc(slices.Clone(r.Me.Waits), func(w engine.Wait) bool { return slices.Contains(kinds, w.Kind) })
	if len(r.Me.Waits) == 0 {
		r.Me.Waits = nil
	}
	if len(r.Me.Waits) != before {
		r.touchOpen()
		r.changed()
	}
}

// touchOpen has the rows of what is not settled here written again.
func (r *Replica) touchOpen() {
	settled := r.SettledAt(r.Self)
	for _, o := range r.History.Ordered() {
		if !settled(o) {
			r.Touched[o.ID] = true
		}
	}
}

// halt says why the resource is not tried now: to all sites when people have to do something about it, else here. Nil: it is.
func (r *Replica) halt(w *engine.Wait) {
	tell := w != nil && w.Kind != ""
	for _, kind := range []engine.WaitKind{engine.WaitDenied, engine.WaitMismatch, engine.WaitClock, engine.WaitReference} {
		if !tell || w.Kind != kind {
			r.unwait(kind)
		}
	}
	switch {
	case tell:
		r.wait(*w)
		fallthrough
	case w == nil:
		if r.Mine.Halted != nil {
			r.Mine.Halted = nil
			r.touchOpen()
			r.changed()
		}
	case r.Mine.Halted == nil || *r.Mine.Halted != *w:
		r.Mine.Halted = w
		r.touchOpen()
		r.changed()
	}
}

// later has the resource tried again after an answer that did not settle o. Alone: the service lets the agent in, but not to
// this resource.
func (r *Replica) later(o *engine.Operation, reply engine.Reply, err error, alone bool) {
	w := r.env.Halted(r.Kind)
	if alone {
		w = &engine.Wait{Kind: engine.WaitDenied, Since: r.env.Now().UnixMicro(),
			Reason: "the application does not let the agent do this: " + plan.Tell(reply, err)}
	}
	r.halt(w)
	r.tryAgain(o, reply, err)
}

// tryAgain remembers why an operation has to be tried again, and when.
func (r *Replica) tryAgain(o *engine.Operation, reply engine.Reply, err error) {
	r.attempt(o, reply, err)
	r.tries++
	wait := r.env.Backoff(r.tries)
	if respite := r.env.Respite(reply); respite > wait {
		wait = respite
	}
	if !r.env.Waits(r.Kind, r.Document) { // else it is woken when the service runs
		r.notBefore = r.env.Now().Add(wait)
		r.wake(r.notBefore)
	} else {
		r.notBefore = r.env.Now().Add(time.Hour)
	}
	r.changed()
}

// attempt remembers what came of sending o.
func (r *Replica) attempt(o *engine.Operation, reply engine.Reply, err error) {
	t := view.Try{At: r.env.Now().UnixMicro(), Status: reply.Status}
	if err != nil || reply.Status >= 300 {
		t.Error = plan.Tell(reply, err)
	}
	r.Tried(o.ID, t)
}

// standing is what this site's application has been brought to.
func (r *Replica) standing() plan.Standing {
	st := r.Standing(r.Self)
	st.Doubtful = func(o *engine.Operation) bool {
		sent := r.sent.open() && r.sent.Operation.ID == o.ID
		// No flight tells whether it was sent with its key; or a person has said which object it has made.
		left := r.resumed && r.Kind.HonoursKey && o.Method == "POST" && !st.Settled(o)
		return sent || left || r.Mine.Outcomes[o.ID].Adopt != ""
	}
	st.Unsure = func(o *engine.Operation) bool { return r.resumed || r.doubts[o.ID] }
	return st
}

// doubt remembers, before a request goes out, that the values of ops may reach the application.
func (r *Replica) doubt(ops ...*engine.Operation) {
	for _, o := range ops {
		r.doubts[o.ID] = true
	}
}

// certain forgets that, since nothing of them has reached it.
func (r *Replica) certain(ops ...*engine.Operation) {
	for _, o := range ops {
		delete(r.doubts, o.ID)
	}
}

// stamp makes o the next operation of this site: its place in time, what it has seen, and its number.
func (r *Replica) stamp(o *engine.Operation) {
	o.Origin, o.Epoch = r.Self, r.Current().Number
	o.Number = r.History.Issued(r.Self) + 1
	o.Time = max(o.Time, r.env.Now().UnixMicro(), r.CompactedUntil()+1)
	o.Seen = r.Me.Settled.Clone()
	if base := r.History.Base(); base != nil {
		o.Seen.Join(base.Seen)
	}
	for _, p := range r.History.Ordered() {
		if p.Number <= o.Seen[p.Origin] || p.Origin == r.Self {
			o.Seen.Join(p.Seen)
			o.Time = max(o.Time, p.Time+1)
		}
	}
	delete(o.Seen, r.Self)
	if n := r.Kind.Named(o.Method, o.Path); n != nil {
		o.Name = n.Name
	}
}

// entryOf is the entry of an operation of this site.
func entryOf(o *engine.Operation) engine.Entry {
	return engine.Entry{Map: engine.MapOperations, Value: engine.Encode(o)}
}

// firstKey is the Idempotency-Key of an operation that runs at this site.
func (r *Replica) firstKey(o *engine.Operation) string {
	return string(o.ID) + "." + string(r.Name(r.Self))
}
