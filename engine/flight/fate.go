package flight

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
)

// Fate is what is found out about a request that had no certain answer.
type Fate int

const (
	Later     Fate = iota // nothing tells now
	Happened              // it has been done
	Absent                // it has not
	Dismissed             // it has not, and never will be: the application does not want it
	Unsent                // this try has certainly not been done; whether an earlier one has is as open as before
	Refused               // it was refused, maybe because an earlier try of it was done: what the application shows may tell
	Untold                // nothing will ever tell: a person is asked
)

// MostTries is how often a request that has no certain answer is sent again, for five minutes or so, before a person is asked.
const MostTries = 20

// FewTries is how often one is sent again that the application answers each time, with its own failure: for ten seconds or so. It is not under
// way any more then, and what the application shows tells whether it has been done.
const FewTries = 8

// LaterTries is how often a create is sent whose identifier the application says is taken, and shows nothing of: for half a minute or so.
const LaterTries = 8

// PatientTries is how often something is sent that the application refuses for what may pass, for some two minutes: a create answered with 404, as
// where no site has told of its container yet or a router has lost its way; a deletion, as where what depends on the object is still going.
const PatientTries = 15

// Failed reports whether an answer says that the application itself has failed over a request, and is through with it.
func Failed(reply engine.Reply, err error) bool {
	return err == nil && reply.Status >= 500 && reply.Status != http.StatusBadGateway && reply.Status != http.StatusGatewayTimeout
}

// Finding is a fate and what goes with it: the application's answer where it has happened, why where a person is asked.
type Finding struct {
	Fate  Fate
	Reply engine.Reply
	Why   string
}

// Unseen is why a person is asked where there is nothing to look at.
const Unseen = "the application gave no certain answer, or the agent stopped before it came"

// ByMarker tells by a search for what a request has made. What may be under way still counts as absent only after as long as an answer
// may take.
func ByMarker(list []engine.Reply, err error, underWay bool) Finding {
	switch {
	case errors.Is(err, engine.ErrUntellable):
		return Finding{Fate: Untold, Why: err.Error()}
	case err != nil:
		return Finding{}
	case len(list) > 1:
		return Finding{Fate: Untold, Why: fmt.Sprintf("the application has %d objects of one marker", len(list))}
	case len(list) == 1:
		return Finding{Fate: Happened, Reply: list[0]}
	case underWay:
		return Finding{}
	}
	return Finding{Fate: Absent}
}

// ByName tells by what the application shows under the identifier that a create has chosen. Nothing is what there is before any operation.
func ByName(k *engine.Kind, body []byte, nothing merge.Fold, at engine.LocalID, shown engine.Reply, err error) Finding {
	switch {
	case err != nil || shown.Status != http.StatusOK && !shown.Gone():
		return Finding{}
	case shown.Gone():
		return Finding{Fate: Absent}
	}
	edit, err := merge.EditOf(k, engine.TypeCreate, body, nothing, nil)
	if err == nil {
		edit.Order, edit.Placed = nil, nil // an application may have put it into an order of its own
	}
	if err != nil || !plan.Shows(k, shown.Body, edit) {
		return Finding{Fate: Untold, Why: "the application has an object of this identifier that shows something else"}
	}
	shown.Local = at
	return Finding{Fate: Happened, Reply: shown}
}

// Resent tells by the answer to a request that was sent once more. Person says that somebody has asked for that, which makes the try the only
// one that counts.
func Resent(k *engine.Kind, o *engine.Operation, person bool, reply engine.Reply, err error) Finding {
	certain := person
	switch became := plan.Judge(o.Type, reply, err); became {
	case plan.Done:
		return Finding{Fate: Happened, Reply: reply}
	case plan.Conflict, plan.Denied, plan.Refused: // the first try may have happened, and have brought this about
		if k.HonoursKey { // it would have given its first answer again, had it let the caller in
			certain = became != plan.Denied
		}
		if !certain {
			return Finding{Fate: Refused}
		}
		return Finding{Fate: Dismissed, Why: plan.Tell(reply, nil)}
	case plan.Unknown:
		if person && !plan.Resendable(k, o) { // it is to be asked for again
			return Finding{Fate: Untold, Why: plan.Tell(reply, err)}
		}
		return Finding{}
	}
	return Finding{Fate: Unsent}
}

// Sure reports whether a client's request may be answered for as soon as the application has done it, before that is on disk: should the
// agent die in between, what it has made is found, or it is sent again and does the same. Marked: what it makes has a marker.
func (f *Flight) Sure(k *engine.Kind, marked bool) bool {
	o := &f.Operation
	if f.Creates && (marked || k.Natural()) {
		return true
	}
	return plan.Resendable(k, o) && !plan.NeedsAfter(k, o) && merge.Effect(k, o) == nil
}

// ByRefusal tells by what the application shows after it has refused a request that was sent once more. Sets is what the request sets here: of
// what is divided, this part's share. One whose client may have its answer is dismissed only where it has certainly made nothing.
func (f *Flight) ByRefusal(k *engine.Kind, sets *engine.Edit, refused, reply engine.Reply, shows []byte, err error) Finding {
	o, why := &f.Operation, plan.Tell(refused, nil)
	effect, unseen := merge.Effect(k, o), Finding{Fate: Untold, Why: "an earlier try may have run, and another was refused: " + why}
	switch {
	case err != nil || reply.Status >= 500:
		return Finding{}
	case o.Type == engine.TypeDelete && reply.Gone(),
		reply.Status == http.StatusOK && o.Type != engine.TypeDelete && !sets.Empty() && plan.Shows(k, shows, sets):
		return Finding{Fate: Happened, Reply: engine.Reply{Status: http.StatusOK}}
	case o.Type == engine.TypeCreate && reply.Gone() && (k.Natural() || !f.Early): // it has made nothing
	case effect != nil:
		switch plan.TraceOf(k, effect, f.Shown, shows) {
		case plan.TraceThere:
			return Finding{Fate: Happened, Reply: engine.Reply{Status: http.StatusOK}}
		case plan.TraceNone:
			return unseen
		}
	case f.Early, o.Edit.Empty() && o.Type != engine.TypeDelete:
		return unseen
	}
	return Finding{Fate: Dismissed, Why: why}
}

// Premature reports whether an application may have refused a request since it shows only later what it makes: it says that what is to be made is
// there already, and shows nothing, or did not find what is to be changed.
func (f *Flight) Premature(refused, shown engine.Reply) bool {
	switch f.Operation.Type {
	case engine.TypeCreate:
		return plan.Judge(engine.TypeCreate, refused, nil) == plan.Conflict && shown.Gone()
	case engine.TypeDelete:
		return false
	}
	return refused.Gone()
}

// ByEffect tells by what is shown whether a request has run whose effect is declared: it has left what it sets, or the number that it adds to
// is another one. Nothing else of this site's may have run in between.
func (f *Flight) ByEffect(k *engine.Kind, reply engine.Reply, shows []byte, err error, underWay bool) Finding {
	switch {
	case err != nil || reply.Status != http.StatusOK && !reply.Gone():
		return Finding{}
	case reply.Gone():
		return Finding{Fate: Untold, Why: "the object is gone, and nobody can see whether it ran"}
	}
	return ByTrace(plan.TraceOf(k, merge.Effect(k, &f.Operation), f.Shown, shows), reply, err, underWay)
}

// ByTrace tells by what a representation tells of a request. Reply and err are of the read.
func ByTrace(trace plan.Trace, reply engine.Reply, err error, underWay bool) Finding {
	switch {
	case err != nil || reply.Status != http.StatusOK, trace == plan.TraceAbsent && underWay:
		return Finding{}
	case trace == plan.TraceThere:
		return Finding{Fate: Happened, Reply: engine.Reply{Status: http.StatusOK}}
	case trace == plan.TraceAbsent:
		return Finding{Fate: Absent}
	}
	return Finding{Fate: Untold, Why: "the application gave no certain answer, and what it shows does not tell whether it ran"}
}
