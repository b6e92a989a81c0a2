package replica

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/drift"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/view"
)

// work is one resource as tasks have it: what is known of it and what is in flight, which they change, the application, which they ask, and
// the clients who wait. What is to be done next is chosen by Replica, which no task reaches.
type work struct {
	*view.View
	flight.Flights
	limits Limits

	// asks are the clients' requests that wait for their turn, first come first.
	asks []*Ask
	// task is under way; nil: none. token is that of the call that it waits for, which may change something where it sends, lookToken that of a look.
	task             task
	token, lookToken uint64
	sends            bool
	tokens           uint64 // given so far
	// again is when what is left may be tried again, settling when it is to be found out what came of own.
	again, settling pace
	look            drift.Watch
	going           going
	asksAt          time.Time // before that no request of a client is taken up
	// unavailable are operations whose bodies no site has.
	unavailable map[engine.OperationID]bool
	nameWaits   bool // the name was taken when it was asked for

	env     Env
	out     *Effects // nil: between two steps
	effects Effects  // of the last step
}

// pace is when something is tried again, and how often it was.
type pace struct {
	at    time.Time
	tries int
}

// task is something that takes several calls. Each method goes on to the next call, or to the end; it reports whether the task is over.
type task interface {
	begin(r *work) (over bool)
	answer(r *work, in *Answered) (over bool)
}

// wake asks to be woken at a time.
func (r *work) wake(at time.Time) {
	if r.out.Wake.IsZero() || at.Before(r.out.Wake) {
		r.out.Wake = at
	}
}

// write adds entries to the document, and takes them in.
func (r *work) write(entries ...engine.Entry) {
	if len(entries) == 0 {
		return
	}
	r.TakeEntries(r.Current(), r.Line, r.Current().Tip(r.Line).Number+1, entries, func(o *engine.Operation) bool { return r.env.Admits(r.Kind, o) || true }, func(err error) {
		r.env.Note(r.Document, "an entry of this site's own makes no sense", err)
	})
	r.out.Entries, r.out.Epoch = append(r.out.Entries, entries...), r.Current().Number
	r.Changed()
}

// note logs something.
func (r *work) note(message string, err error) { r.env.Note(r.Document, message, err) }

// call makes a call, whose answer is given to the task.
func (r *work) call(c *Call) bool {
	r.tokens++
	c.Token, r.token, r.sends = r.tokens, r.tokens, c.Kind == CallSend
	if r.sends {
		r.lookToken = 0 // what is read meanwhile tells nothing
	}
	r.out.Calls = append(r.out.Calls, c)
	return false
}

// readCall reads the object as clients see it.
func (r *work) readCall(local engine.LocalID) *Call {
	return &Call{Kind: CallRead, Present: true, Call: engine.Call{Kind: r.Kind, Method: "GET", Path: r.Kind.Item, Local: local,
		Header: map[string]string{"Accept": "application/json"}}}
}

// refuseAll answers all that wait with a refusal.
func (r *work) refuseAll(err error) {
	for _, a := range r.asks {
		if a.keep != nil {
			r.out.Decided = append(r.out.Decided, DecidedOf{a.keep, "", err})
		} else {
			r.give(a, Given{Err: err})
		}
	}
	r.asks = nil
}

// give answers a client once all is durable.
func (r *work) give(a *Ask, g Given) {
	g.Answer.Site = r.Self
	r.out.Given = append(r.out.Given, GivenTo{a, g})
}
