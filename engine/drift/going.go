package drift

import (
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/view"
)

// GoesWithin is how long an application may take over a deletion that it has accepted before a person is asked.
const GoesWithin = 5 * time.Minute

// GoneWithin is how long a client's create waits for what has its name to be gone.
const GoneWithin = 10 * time.Second

// longestGoing bounds the wait between two looks at an object that is to go, of which a person is asked. Before that a create that waits for its
// name is to hear in time that it is gone.
const longestGoing = 30 * time.Second

// Leave takes in that the application has accepted the deletion of its object, or has not found it: whether it is gone is to be seen. A router
// that has lost its way does not find anything.
func Leave(v *view.View, local engine.LocalID, by engine.OperationID, reply engine.Reply, at time.Time) {
	if was := v.Mine.Going; was != nil && was.By != by && Asked(v) { // what was accepted and not done is done by this one
		v.Became(was.By, engine.Outcome{State: engine.StateApplied, Status: was.Status})
	}
	g := &view.Going{Local: local, By: by, Status: reply.Status, Since: at.UnixMicro(), Never: !v.Mine.Seen}
	if local == "" || !g.Accepted() && (!reply.Gone() || deletion(v, by) == nil) {
		return
	}
	if was := v.Mine.Going; !g.Accepted() {
		if g.Again = was != nil && was.By == by && was.Again; v.Me.Shown != nil {
			g.Shown = v.Me.Shown.Hash
		}
	}
	v.Mine.Going = g
	v.Changed()
	if !g.Accepted() && g.Never {
		v.Say(notYet(g))
	}
}

// notYet says that an object which was to be deleted may still be shown.
func notYet(g *view.Going) engine.Wait {
	return engine.Wait{Kind: engine.WaitDeleting, Since: g.Since, Operation: g.By, Reason: fmt.Sprintf(
		"the application has not found the object that was to be deleted (%s), and has not shown it since it was made: it is deleted once it is shown", plan.Code(g.Status))}
}

// toCome reports whether an object that the application has not found, and had not shown before, may still be shown: some show what they make later
// than they answer.
func toCome(v *view.View, at time.Time, after time.Duration) bool {
	g := v.Mine.Going
	return !g.Accepted() && g.Never && at.Sub(engine.Time(g.Since)) < lostFor(after)
}

// deletion is the operation that has deleted an object, nil where it is none or not known any more.
func deletion(v *view.View, by engine.OperationID) *engine.Operation {
	if o := v.History.Get(by); o != nil && o.Type == engine.TypeDelete {
		return o
	}
	return nil
}

// GoesFirst is when to look first: at once, or where the application has not found the object, once a router has found its way again. A clock that
// was set back puts that off by no more than a router may take.
func GoesFirst(v *view.View, now time.Time, after time.Duration) time.Time {
	g := v.Mine.Going
	if g.Accepted() {
		return now
	}
	if g.Never {
		return now.Add(after)
	}
	if since := engine.Time(g.Since); since.Before(now) {
		now = since
	}
	return now.Add(lostFor(after))
}

// Resend has the deletion sent once more of an object that the application had not found and shows after all, and reports whether it does. It has
// to be that object: an application that chooses identifiers itself shows under this one what it showed last. Where clients choose them, somebody
// may have made another, and a person is asked. What it had never shown before is what was made, where it shows that.
func Resend(v *view.View, presented, reply engine.Reply) bool {
	g := v.Mine.Going
	if g.Accepted() || g.Again || v.Mine.Local != "" || v.Exists() || deletion(v, g.By) == nil || reply.Status/100 != 2 {
		return false
	}
	switch now, err := observe(v, presented, reply, nil); {
	case g.Never && asMade(v, presented.Body):
	case err != nil, g.Shown == "", v.Kind.Natural(), now.Hash != g.Shown:
		return false
	}
	g.Again = true
	v.Unsay(engine.WaitDeleting)
	v.Became(g.By, engine.Outcome{State: engine.StatePending, Again: true})
	return true
}

// asMade reports whether the application shows what was made under an identifier: under one of its own making it can be nothing else.
func asMade(v *view.View, body []byte) bool {
	if !v.Kind.Natural() {
		return true
	}
	for _, o := range v.History.Ordered() {
		if o.Type == engine.TypeCreate && !o.Edit.Empty() && plan.Shows(v.Kind, body, o.Edit) {
			return true
		}
	}
	return false
}

// Resends reports whether the deletion is being sent once more.
func Resends(v *view.View) bool {
	g := v.Mine.Going
	return g != nil && g.Again && v.Mine.Local == g.Local && v.Mine.Outcomes[g.By].State == engine.StatePending
}

// Overdue reports whether a person is to be asked about an object that is not known to be gone. Of one that the application has not found nobody is
// asked before it shows one.
func Overdue(v *view.View, reply engine.Reply, err error, at time.Time) bool {
	if g := v.Mine.Going; g.Accepted() {
		return at.Sub(engine.Time(g.Since)) >= GoesWithin
	}
	return err == nil && reply.Status/100 == 2
}

// Left forgets the object that was to go.
func Left(v *view.View) {
	v.Mine.Going = nil
	v.Unsay(engine.WaitDeleting)
	v.Changed()
}

// IsGone reports whether an object is not there any more, or is one that nobody can read. Else it says that it is not gone, and why.
func IsGone(v *view.View, reply engine.Reply, err error, at time.Time, after time.Duration) bool {
	if err == nil && reply.Gone() && toCome(v, at, after) {
		return false
	}
	if err == nil && (reply.Gone() || reply.Status >= 300 && plan.Judge(engine.TypeReplace, reply, nil) == plan.Refused) {
		return true
	}
	v.Say(engine.Wait{Kind: engine.WaitDeleting, Since: v.Mine.Going.Since, Operation: v.Mine.Going.By, Reason: stillThere(v, reply, err)})
	return false
}

func stillThere(v *view.View, reply engine.Reply, err error) string {
	accepted := fmt.Sprintf("the application has accepted the deletion (%s), and ", plan.Code(v.Mine.Going.Status))
	there := err == nil && reply.Status/100 == 2
	if !v.Mine.Going.Accepted() {
		accepted = fmt.Sprintf("the application has not found the object that was to be deleted (%s), and ", plan.Code(v.Mine.Going.Status))
	}
	switch {
	case there && v.Mine.Going.Accepted():
		return accepted + "the object is still there"
	case there:
		return accepted + "shows one of that identifier now, which may be another one: somebody has to say whether that is to go"
	}
	return accepted + "does not tell whether the object is gone: " + plan.Tell(reply, err)
}

// Stays makes a deletion that was accepted and not done one that the application has refused: a person is asked. It returns what the application
// calls the object, empty where there is nothing to be asked.
func Stays(v *view.View) engine.LocalID {
	g := v.Mine.Going
	if deletion(v, g.By) == nil || v.Mine.Local != "" || v.Exists() {
		return ""
	}
	why := "accepted with status " + fmt.Sprint(g.Status) + ", and not done"
	if w := v.Me.Wait(engine.WaitDeleting); w != nil {
		why = w.Reason
	}
	v.Became(g.By, engine.Outcome{State: engine.StateRejected, Status: g.Status, Error: why})
	v.Unsay(engine.WaitDeleting)
	return g.Local
}

// Asked reports whether a person is asked about the object that was to go.
func Asked(v *view.View) bool {
	g := v.Mine.Going
	if g == nil || v.Mine.Local != g.Local {
		return false
	}
	out := v.Mine.Outcomes[g.By]
	return out.State == engine.StateRejected && !out.Dropped
}

// Decidable reports whether a person can decide about the object that was to go.
func Decidable(v *view.View) bool {
	return v.Mine.Going.Accepted() || Asked(v) || v.Me.Wait(engine.WaitDeleting) != nil
}

// GoesOn is how long to wait for the look after so many that have found the object there.
func GoesOn(v *view.View, after time.Duration, looks int) time.Duration {
	w := Watch{After: after, Every: GoneWithin / 2, tries: looks}
	if Asked(v) {
		w.Every = longestGoing
	}
	return w.wait()
}
