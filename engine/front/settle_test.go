package front

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/keys"
)

// post is an action.
func post(id string, s *site) engine.Request {
	r := request(images, "PATCH", id, `{"n":1}`, s)
	r.Type, r.Path = engine.TypeAction, "/images/{id}/start"
	return r
}

// What comes of a request for this site alone that had no certain answer, by what the application does with the tries that follow.
func TestErrandsAreSettled(t *testing.T) {
	create := func(s *site) engine.Request { return request(images, "POST", "", `{}`, s) }
	marked := func(s *site) engine.Request { return request(notes, "POST", "", `{"text":"hello"}`, s) }
	put := func(s *site) engine.Request { return request(files, "PUT", "x", `{"n":1}`, s) }
	remove := func(s *site) engine.Request { return request(files, "DELETE", "x", "", s) }
	for name, c := range map[string]struct {
		request func(*site) engine.Request
		faults  []fault
		state   engine.State
		sent    int // how often the application was asked for it
	}{
		"a put that has not happened":                         {put, []fault{fails}, engine.StateApplied, 2},
		"a put that has":                                      {put, []fault{doesFail}, engine.StateApplied, 2},
		"a put, and the application is away for a while":      {put, []fault{fails, away, busy, fails}, engine.StateApplied, 5},
		"a put over which the application always stumbles":    {put, slices.Repeat([]fault{fails}, 50), engine.StateUncertain, 1 + flight.MostTries},
		"a put that is refused then":                          {put, []fault{doesFail, rejects}, engine.StateUncertain, 2},
		"a delete that has happened":                          {remove, []fault{doesFail}, engine.StateApplied, 2},
		"a delete that has happened, and is refused then":     {remove, []fault{doesFail, rejects}, engine.StateApplied, 2},
		"a delete that has not happened, and is refused":      {remove, []fault{fails, rejects}, engine.StateRejected, 2},
		"a create, of which nothing can be found":             {create, []fault{doesFail}, engine.StateUncertain, 1},
		"a create that has happened, and has left its mark":   {marked, []fault{doesFail}, engine.StateApplied, 1},
		"a create that has not, and would have left its mark": {marked, []fault{fails}, engine.StateApplied, 2},
		"an action":                  {func(s *site) engine.Request { return post("y", s) }, []fault{doesFail}, engine.StateUncertain, 1},
		"a put, and the agent dies":  {put, []fault{doesFail}, engine.StateApplied, 2},
		"a mark, and the agent dies": {marked, []fault{doesFail}, engine.StateApplied, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris")
			paris := w.sites[0]
			paris.app.put(files, "x", `{"n":0}`)
			paris.app.put(images, "y", `{}`)
			paris.app.inject(c.faults...)
			paris.app.sends = func() {
				if len(paris.store.errands) != 1 {
					t.Error("it goes out before it is on disk")
				}
			}
			a, err := paris.Submit(t.Context(), c.request(paris))
			w.wants("504 upstream", a, err)
			var refusal *engine.Refusal
			errors.As(err, &refusal)
			if got := paris.state(refusal.Operation, paris); got != engine.StatePending {
				t.Errorf("before it is settled it is %s", got)
			}
			if strings.Contains(name, "dies") {
				delete(paris.store.operations, refusal.Operation) // it died before it could list it
				paris.start()
				if got := paris.state(refusal.Operation, paris); got != engine.StatePending {
					t.Errorf("after the start it is %s", got)
				}
			}
			w.settle()
			if got := paris.state(refusal.Operation, paris); got != c.state {
				t.Errorf("it is %s, want %s", got, c.state)
			}
			calls := paris.app.log()
			if len(calls) != c.sent || slices.ContainsFunc(calls, func(s string) bool { return !strings.HasSuffix(s, "as ann") }) {
				t.Errorf("the application was asked %q", calls)
			}
			asked := c.state == engine.StateUncertain
			if left := len(paris.store.errands); (left == 1) != asked || (len(paris.store.conflicts) == 1) != asked {
				t.Errorf("%d errands are left, and %d questions", left, len(paris.store.conflicts))
			}
		})
	}
}

// A later request for the same thing waits until it is known what came of the one before.
func TestAnErrandHoldsUpWhatComesAfterIt(t *testing.T) {
	w := newWorld(t, "paris")
	paris := w.sites[0]
	paris.app.inject(fails, away)
	a, err := paris.Submit(t.Context(), request(files, "PUT", "x", `{"n":1}`, paris))
	w.wants("504 upstream", a, err)
	a, err = paris.Submit(t.Context(), as("bob", request(files, "PUT", "x", `{"n":2}`, paris)))
	if w.wants("502 upstream", a, err); strings.Contains(told(a, err), "504") {
		t.Error("it is taken for the first")
	}
	a, err = paris.Submit(t.Context(), as("cem", request(files, "PUT", "y", `{"n":3}`, paris))) // another thing
	w.must(201, a, err)
	a, err = paris.Submit(t.Context(), as("dan", request(files, "PUT", "x", `{"n":4}`, paris)))
	w.must(200, a, err)
	if got := paris.app.log(); !slices.Equal(got, []string{"PUT x as ann", "PUT x as ann", "PUT y as cem", "PUT x as ann", "PUT x as dan"}) {
		t.Errorf("the application was asked %q", got)
	}
}

// What a person decides about an errand of which nothing can be found out.
func TestAPersonDecidesAboutAnErrand(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(*Requests, engine.OperationID) error
		faults []fault
		state  engine.State
		sent   int
	}{
		"it is to be sent again":                         {func(p *Requests, id engine.OperationID) error { return p.Retry(t.Context(), id) }, nil, engine.StateApplied, 2},
		"it is to be sent again, and there is no answer": {func(p *Requests, id engine.OperationID) error { return p.Retry(t.Context(), id) }, []fault{fails}, engine.StateUncertain, 2},
		"it is to be sent again, later":                  {func(p *Requests, id engine.OperationID) error { return p.Retry(t.Context(), id) }, []fault{away}, engine.StateApplied, 3},
		"it is to be sent again, and is refused":         {func(p *Requests, id engine.OperationID) error { return p.Retry(t.Context(), id) }, []fault{rejects}, engine.StateRejected, 2},
		"it has happened":                                {func(p *Requests, id engine.OperationID) error { return p.Done(t.Context(), id) }, nil, engine.StateApplied, 1},
		"it is given up":                                 {func(p *Requests, id engine.OperationID) error { return p.Drop(t.Context(), id) }, nil, engine.StateRejected, 1},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, "paris")
				paris := w.sites[0]
				paris.app.inject(append([]fault{fails}, c.faults...)...)
				r := keyed(request(images, "POST", "", `{}`, paris))
				a, err := paris.Submit(t.Context(), r)
				w.wants("504 upstream", a, err)
				var refusal *engine.Refusal
				errors.As(err, &refusal)
				id := refusal.Operation
				if err := c.decide(paris.Requests(), id); !errors.Is(err, engine.ErrSettled) {
					t.Errorf("decided while it is under way: %v", err)
				}
				w.settle()
				if restart {
					paris.start()
				}
				want := []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}
				if got, err := paris.Requests().Decisions(t.Context(), id); err != nil || !slices.Equal(got, want) {
					t.Errorf("to be decided: %v, %v", got, err)
				}
				if err := c.decide(paris.Requests(), id); err != nil {
					t.Error(err)
				}
				w.settle()
				if got := paris.state(id, paris); got != c.state || len(paris.app.log()) != c.sent {
					t.Errorf("it is %s; the application was asked %q", got, paris.app.log())
				}
				if open := c.state == engine.StateUncertain; (len(paris.store.conflicts) == 1) != open || (len(paris.store.errands) == 1) != open {
					t.Errorf("%d questions are open", len(paris.store.conflicts))
				}
				if c.state != engine.StateUncertain {
					a, err := paris.Submit(t.Context(), r)
					if got := told(a, err); len(paris.app.log()) != c.sent {
						t.Errorf("under the same key it was sent again, and told %s", got)
					}
				}
			})
		}
	}
}

// What an earlier process has left waits until this one has met another site. On a disk that was set back it is never sent again by
// itself.
func TestErrandsOfAnEarlierProcess(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	paris.app.inject(fails)
	a, err := paris.Submit(t.Context(), request(files, "PUT", "x", `{}`, paris))
	w.wants("504 upstream", a, err)
	paris.start()
	paris.met, paris.back = false, true
	for range 3 {
		paris.Step(t.Context())
		w.pass(time.Second)
	}
	if len(paris.store.conflicts) != 0 || len(paris.app.log()) != 1 {
		t.Errorf("%d questions; the application was asked %q", len(paris.store.conflicts), paris.app.log())
	}
	paris.met = true
	paris.Compared()
	paris.Step(t.Context())
	if len(paris.store.conflicts) != 1 || len(paris.app.log()) != 1 {
		t.Fatalf("%d questions; the application was asked %q", len(paris.store.conflicts), paris.app.log())
	}
	for _, c := range paris.store.conflicts {
		if err := paris.Requests().Retry(t.Context(), c.Operation); err != nil {
			t.Error(err)
		}
	}
	w.settle()
	if got := paris.app.log(); !slices.Equal(got, []string{"PUT x as ann", "PUT x as ann"}) || len(paris.store.errands) != 0 {
		t.Errorf("the application was asked %q", got)
	}
}

// A create of a resource whose identifier the application is left to choose has no document before it has run.
func TestAResourceThatTheApplicationNames(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	a, err := paris.Submit(t.Context(), request(disks, "POST", "", `{"size":1}`, w.sites...))
	if w.must(201, a, err); a.Resource != "p1" || a.Operation == "" {
		t.Errorf("it made %q", a.Resource)
	}
	d := paris.decided[0]
	about, f := aboutOf(request(disks, "POST", "", "", w.sites...)), d.Publish
	about.Key = "p1"
	_, id, _ := documents{}.Identify(*about)
	if _, known := paris.store.document(id); !known || d.Reply.Local != "p1" || !f.Creates || string(f.Operation.Body) != `{"size":1}` ||
		string(f.Operation.Edit.Set["/size"]) != "1" || f.Operation.ID != a.Operation {
		t.Errorf("published %+v", f)
	}
	// Nobody can tell what it has made when there is no answer.
	paris.app.inject(doesFail)
	a, err = paris.Submit(t.Context(), request(disks, "POST", "", `{"size":2}`, w.sites...))
	w.wants("504 upstream", a, err)
	w.settle()
	people := paris.Requests()
	for _, c := range paris.store.conflicts {
		if !slices.Equal(c.Actions, []engine.Action{engine.ActionRetry, engine.ActionAdopt, engine.ActionDrop}) {
			t.Errorf("to be decided: %v", c.Actions)
		}
		if can, err := people.Decisions(t.Context(), c.Operation); err != nil || !slices.Equal(can, []engine.Action{engine.ActionRetry, engine.ActionDrop}) {
			t.Errorf("to be decided about the operation: %v, %v", can, err)
		}
		a, err := engine.Answer{}, people.Done(t.Context(), c.Operation)
		w.wants("422 settle", a, err)
		w.wants("422 settle", a, people.Made(t.Context(), c.Operation, ""))
		w.wants("409 exists", a, people.Made(t.Context(), c.Operation, "p1")) // that is another one's
		w.wants("502 upstream", a, people.Made(t.Context(), c.Operation, "p9"))
		if err := people.Drop(t.Context(), c.Operation); err != nil {
			t.Error(err)
		}
	}
	// The agent dies after its resource was made, and before the errand ended: it is not made again.
	r := request(disks, "POST", "", `{"size":3}`, w.sites...)
	r.Operation = engine.OperationID(w.newID())
	e := paris.errands.errandOf(r, keys.Keeper{})
	e.Makes, e.Stage = aboutOf(r), flight.Declared
	row, err := e.stored(start)
	if err != nil {
		t.Fatal(err)
	}
	done := engine.OperationRow{ID: r.Operation, Document: "d", State: engine.StateApplied}
	if err := paris.store.commit(&engine.Batch{Errands: []engine.Errand{row}, Operations: []engine.OperationRow{done}}); err != nil {
		t.Fatal(err)
	}
	made := paris.app.count()
	paris.start()
	w.settle()
	if len(paris.store.errands) != 0 || len(paris.store.conflicts) != 0 || paris.app.count() != made {
		t.Errorf("%d errands are left, %d questions, %d objects more", len(paris.store.errands), len(paris.store.conflicts), paris.app.count()-made)
	}
}

// Who finds out what a create has made says so, and that object is the resource.
func TestAPersonSaysWhatWasMade(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	paris.app.inject(doesFail)
	a, err := paris.Submit(t.Context(), request(disks, "POST", "", `{"size":2}`, w.sites...))
	w.wants("504 upstream", a, err)
	w.settle()
	var c engine.Conflict
	for _, c = range paris.store.conflicts { // the only one
	}
	if err := paris.Requests().Made(t.Context(), c.Operation, "p1"); err != nil {
		t.Fatal(err)
	}
	d := paris.decided[len(paris.decided)-1]
	if d.Publish == nil || d.Publish.Operation.ID != c.Operation || d.Reply.Local != "p1" || len(paris.store.conflicts) != 0 || len(paris.store.errands) != 0 {
		t.Errorf("published %+v as %q, %d questions left", d.Publish, d.Reply.Local, len(paris.store.conflicts))
	}
	if err := paris.Requests().Made(t.Context(), c.Operation, "p1"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("said twice: %v", err)
	}
}

// What an errand holds comes back as it was: the credentials of its caller above all, and never the agent's own.
func TestAnErrandIsStoredWhole(t *testing.T) {
	w := newWorld(t, "paris")
	for _, credentials := range []*engine.Credentials{{Header: map[string][]string{"Authorization": {"ann"}}}, {}} {
		r := request(files, "PUT", "x", `{}`, w.sites...)
		r.Credentials = credentials
		row, err := w.sites[0].errands.errandOf(r, keys.Keeper{}).stored(start)
		var e errand
		if err == nil {
			err = json.Unmarshal(row.Data, &e)
		}
		if err != nil || e.Request.Credentials == nil || e.Request.Credentials.Header.Get("Authorization") != credentials.Header.Get("Authorization") ||
			e.Request.Kind != nil || e.Request.Target != "x" {
			t.Errorf("it comes back as %+v, %v", e.Request, err)
		}
	}
}
