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

// longestGoing bounds the wait between two looks at an object that is to go.
const longestGoing = 30 * time.Second

// Leave takes in that the application has accepted the deletion of its object: whether that is gone is to be seen. What it says is not
// there needs no look.
func Leave(v *view.View, local engine.LocalID, by engine.OperationID, reply engine.Reply, at time.Time) {
	if local == "" || reply.Status/100 != 2 {
		return
	}
	v.Mine.Going = &view.Going{Local: local, By: by, Status: reply.Status, Since: at.UnixMicro()}
	v.Changed()
}

// Left forgets the object that was to go.
func Left(v *view.View) {
	v.Mine.Going = nil
	v.Unsay(engine.WaitDeleting)
	v.Changed()
}

// IsGone reports whether an object is not there any more, or is one that nobody can read. Else it says that it is not gone, and why.
func IsGone(v *view.View, reply engine.Reply, err error) bool {
	if err == nil && (reply.Gone() || reply.Status >= 300 && plan.Judge(engine.TypeReplace, reply, nil) == plan.Refused) {
		return true
	}
	v.Say(engine.Wait{Kind: engine.WaitDeleting, Since: v.Mine.Going.Since, Operation: v.Mine.Going.By, Reason: stillThere(v, reply, err)})
	return false
}

func stillThere(v *view.View, reply engine.Reply, err error) string {
	accepted := fmt.Sprintf("the application has accepted the deletion (status %d), and ", v.Mine.Going.Status)
	if err == nil && reply.Status/100 == 2 {
		return accepted + "the object is still there"
	}
	return accepted + "does not tell whether the object is gone: " + plan.Tell(reply, err)
}

// Stays makes a deletion that was accepted and not done one that the application has refused: a person is asked. It returns what the application
// calls the object, empty where there is nothing to be asked.
func Stays(v *view.View) engine.LocalID {
	g := v.Mine.Going
	o := v.History.Get(g.By)
	if o == nil || o.Type != engine.TypeDelete || v.Mine.Local != "" || v.Exists() {
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

// GoesOn is how long to wait for the look after so many that have found the object there.
func GoesOn(after time.Duration, looks int) time.Duration {
	w := Watch{After: after, Every: longestGoing, tries: looks}
	return w.wait()
}
