package front

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

func keyed(r engine.Request) engine.Request {
	r.Key = "k"
	return r
}

func TestARepeatedKeyGetsTheFirstAnswer(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	for name, c := range map[string]struct {
		r  engine.Request
		at *site
	}{
		"at a replica":               {keyed(request(images, "POST", "", `{"a":1}`, paris, nantes)), paris},
		"at this site alone":         {keyed(request(images, "POST", "", `{"a":2}`, paris)), paris},
		"at another site":            {keyed(request(images, "POST", "", `{"a":3}`, nantes)), nantes},
		"what the application names": {keyed(request(disks, "POST", "", `{"a":4}`, paris, nantes)), paris},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			c.r.Key = name
			before := c.at.app.count()
			first, err := paris.Submit(t.Context(), c.r)
			w.must(201, first, err)
			again, err := paris.Submit(t.Context(), c.r)
			w.must(201, again, err)
			if again.Resource != first.Resource || again.Operation != first.Operation || string(again.Body) != string(first.Body) || c.at.app.count() != before+1 {
				t.Errorf("told %+v, first %+v; there are %d more", again, first, c.at.app.count()-before)
			}
			other := c.r
			other.Body = []byte(`{"a":9}`)
			a, err := paris.Submit(t.Context(), other)
			w.wants("422 in-progress", a, err)
			other = c.r
			other.Caller = "bob" // somebody else's key
			a, err = paris.Submit(t.Context(), other)
			w.must(201, a, err)
			w.pass(keys.TTL + time.Second)
			a, err = paris.Submit(t.Context(), c.r)
			if w.must(201, a, err); a.Operation == first.Operation {
				t.Error("it is remembered for ever")
			}
		})
	}
}

// Whom an application does not let in leaves nothing: the same key is free for another body, and no answer is kept.
func TestWhoIsNotLetInLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct{ remote, alone bool }{"at a replica": {}, "at this site alone": {alone: true}, "at another site": {remote: true}} {
		for status, f := range map[int]fault{401: unknown, 403: denies} {
			t.Run(fmt.Sprint(name, status), func(t *testing.T) {
				w := newWorld(t, "paris", "nantes")
				paris, at, placement := w.sites[0], w.sites[0], w.sites
				if c.alone {
					placement = w.sites[:1]
				}
				if c.remote {
					at, placement = w.sites[1], w.sites[1:]
				}
				at.app.inject(f)
				a, err := paris.Submit(t.Context(), keyed(request(images, "POST", "", `{"a":1}`, placement...)))
				w.must(status, a, err)
				if n := len(paris.store.answers); n != 0 {
					t.Errorf("%d answers are kept", n)
				}
				a, err = paris.Submit(t.Context(), keyed(request(images, "POST", "", `{"a":2}`, placement...)))
				w.must(201, a, err)
			})
		}
	}
}

// While the first runs the second is refused. What the first had set up outlasts its client.
func TestTheSameRequestAtOnce(t *testing.T) {
	for name, sites := range map[string]int{"at a replica": 2, "at this site alone": 1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris", "nantes")
			paris := w.sites[0]
			arrived, release := paris.app.holdUp()
			r := keyed(request(images, "POST", "", `{}`, w.sites[:sites]...))
			done := make(chan string)
			go func() { done <- told(paris.Submit(t.Context(), r)) }()
			<-arrived
			a, err := paris.Submit(t.Context(), r)
			w.wants("409 in-progress", a, err)
			release()
			if got := <-done; got != "201" {
				t.Errorf("the first is told %s", got)
			}
			a, err = paris.Submit(t.Context(), r)
			if w.must(201, a, err); paris.app.count() != 1 {
				t.Errorf("there are %d objects", paris.app.count())
			}
		})
	}
}

// The same key is the same operation from the moment on at which it may have reached an application, whatever becomes of the agent.
func TestAKeyCountsBeforeTheAnswer(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	var ids []engine.OperationID
	documents := map[engine.DocumentID]bool{}
	paris.answers = func(id engine.DocumentID, _ *engine.About, a *replica.Ask) (replica.Given, error) {
		ids, documents[id] = append(ids, a.Operation), true
		return replica.Given{}, &engine.Refusal{Status: 504, Type: "upstream", Operation: a.Operation}
	}
	r := keyed(request(images, "POST", "", `{}`, paris, nantes))
	for range 2 {
		a, err := paris.Submit(t.Context(), r)
		w.wants("504 upstream", a, err)
		paris.start()
	}
	other := r
	other.Body = []byte(`{"other":1}`) // another request: it has nothing to do with the first
	a, err := paris.Submit(t.Context(), other)
	w.wants("504 upstream", a, err)
	if len(ids) != 3 || ids[0] != ids[1] || ids[2] == ids[0] || len(documents) != 2 {
		t.Errorf("it was asked for as %v, in %d documents", ids, len(documents))
	}
	// At this site alone nobody knows what came of it until it is settled.
	paris.answers = nil
	paris.app.inject(doesFail)
	put := keyed(request(files, "PUT", "x", `{"a":1}`, paris))
	a, err = paris.Submit(t.Context(), put)
	w.wants("504 upstream", a, err)
	a, err = paris.Submit(t.Context(), put)
	w.wants("504 upstream", a, err)
	w.settle()
	a, err = paris.Submit(t.Context(), put)
	if w.must(200, a, err); !slices.Equal(paris.app.log(), []string{"PUT x as ann", "PUT x as ann"}) {
		t.Errorf("the application was asked %q", paris.app.log())
	}
}

// What is in flight is not kept as well when it comes again, though what was asked for since waits: nobody could settle it then.
func TestAKeyThatIsInFlight(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	paris.store.add(engine.ResourceRow{Document: "d", ID: "x", Local: "x", Service: "store", Kind: "file",
		Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {}, "nantes": {}}})
	var first engine.OperationID
	paris.answers = func(id engine.DocumentID, _ *engine.About, a *replica.Ask) (replica.Given, error) {
		paris.mu.Lock()
		defer paris.mu.Unlock()
		if first == "" {
			first = a.Operation
			paris.newReplica(id, engine.About{Service: "store", Kind: "file", Key: "x"}).Rejoin(&view.Remnant{}, &flight.Flight{Operation: engine.Operation{ID: first}})
		}
		return replica.Given{}, &engine.Refusal{Status: 504, Type: "upstream", Operation: first}
	}
	r := keyed(request(files, "PATCH", "x", `{"a":1}`))
	a, err := paris.Submit(t.Context(), r)
	w.wants("504 upstream", a, err)
	since, err := paris.Submit(t.Context(), later(request(files, "PATCH", "x", `{"a":2}`), 0))
	w.must(202, since, err)
	paris.start()
	a, err = paris.Submit(t.Context(), r)
	w.wants("504 upstream", a, err)
	if last := paris.asked[len(paris.asked)-1].Operation; last != first || len(paris.store.outbox) != 1 {
		t.Errorf("the replica was asked for %s, first %s; %d are kept", last, first, len(paris.store.outbox))
	}
}

// What another site hands over runs once, however often it comes.
func TestAnOperationThatComesAgain(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	for name, r := range map[string]engine.Request{
		"at a replica":       request(images, "POST", "", `{}`, paris, nantes),
		"at this site alone": request(images, "POST", "", `{}`, paris),
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			r.Operation, r.Via = engine.OperationID(w.newID()), []engine.SiteID{nantes.id}
			before := paris.app.count()
			first, err := paris.Submit(t.Context(), r)
			w.must(201, first, err)
			r.Again = true
			a, err := paris.Submit(t.Context(), r)
			w.must(201, a, err)
			clear(paris.store.answers) // it is long ago
			if name == "at a replica" {
				a, err = paris.Submit(t.Context(), r)
				w.must(201, a, err)
			}
			if paris.app.count() != before+1 {
				t.Errorf("there are %d objects more", paris.app.count()-before)
			}
		})
	}
	clear(paris.store.operations)
	for name, c := range map[string]struct {
		until time.Time
		met   bool
		again bool
		want  string
	}{
		"for the first time":        {start.Add(time.Hour), true, false, "201"},
		"again, and nothing is old": {time.Time{}, true, true, "201"},
		"so long ago":               {start.Add(time.Hour), true, true, "409 forgotten"},
		"nobody has told yet":       {time.Time{}, false, true, "504 upstream"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			paris.store.forgotten, paris.met = c.until, c.met
			r := request(images, "POST", "", `{}`, paris)
			r.Operation, r.Via, r.Again = engine.OperationID(w.newID()), []engine.SiteID{nantes.id}, c.again
			a, err := paris.Submit(t.Context(), r)
			w.wants(c.want, a, err)
		})
	}
}

// TestAnOperationIsBoundToWhoPassedItOn: under an identifier that another site has given, or that stands for something else here, a member that has
// only heard of it gets no answer, and nothing runs.
func TestAnOperationIsBoundToWhoPassedItOn(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon")
	paris, nantes, lyon := w.sites[0], w.sites[1], w.sites[2]
	passed := func(r engine.Request, id engine.OperationID, by *site) (engine.Answer, error) {
		r.Operation, r.Via = id, []engine.SiteID{by.id}
		return paris.Submit(t.Context(), r)
	}
	alone := request(images, "POST", "", `{"a":1}`, paris)
	id := engine.OperationID(w.newID())
	first, err := passed(alone, id, nantes)
	w.must(201, first, err)
	a, err := passed(alone, id, lyon)
	w.wants("409 forgotten", a, err)
	if a, err = passed(alone, id, nantes); string(a.Body) != string(first.Body) || paris.app.count() != 1 {
		t.Errorf("nantes is told %+v, %v; there are %d objects", a, err, paris.app.count())
	}

	// Once the answer is forgotten, of what was listed that site alone could tell.
	clear(paris.store.answers)
	paris.store.operations[id] = engine.OperationRow{ID: id, Service: images.Service, Kind: images.Name, State: engine.StateApplied, Origin: paris.id}
	a, err = passed(alone, id, lyon)
	w.wants("409 forgotten", a, err)

	// That of a resource counts for that resource.
	shared := request(images, "POST", "", `{"a":2}`, paris, nantes)
	id = engine.OperationID(w.newID())
	made, err := passed(shared, id, nantes)
	w.must(201, made, err)
	clear(paris.store.answers)
	of := request(images, "DELETE", string(made.Resource), "", paris, nantes)
	paris.store.operations[id] = engine.OperationRow{ID: id, Document: "d", Resource: made.Resource, Service: images.Service, Kind: images.Name,
		Sites: map[engine.SiteID]engine.OperationStatus{paris.id: {State: engine.StateApplied}}}
	if a, err = passed(of, id, lyon); err != nil || a.Status != 200 || len(a.Body) > 0 { // whoever has no answer may have asked another site first
		t.Errorf("told %+v, %v", a, err)
	}
	other := of
	other.Target = "another"
	a, err = passed(other, id, lyon)
	w.wants("409 forgotten", a, err)
	of.Kind = disks
	a, err = passed(of, id, lyon)
	w.wants("409 forgotten", a, err)
}
