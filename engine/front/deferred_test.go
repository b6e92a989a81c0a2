package front

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// later makes a request one that its caller does not want to wait for, or no longer than that.
func later(r engine.Request, wait time.Duration) engine.Request {
	r.Async, r.Wait = true, wait
	return r
}

// Whoever does not want to wait is answered before the application is asked, and the request runs once.
func TestDeferred(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	for name, c := range map[string]struct {
		faults []fault
		state  engine.State
		made   int
	}{
		"it runs":      {nil, engine.StateApplied, 1},
		"it is busy":   {[]fault{away, busy}, engine.StateApplied, 1},
		"it is no use": {[]fault{rejects}, engine.StateRejected, 0},
	} {
		for where, sites := range map[string][]*site{"at a replica": {paris, nantes}, "at this site alone": {paris}} {
			t.Run(name+" "+where, func(t *testing.T) {
				w.t = t
				before := paris.app.count()
				r := later(request(images, "POST", "", `{}`, sites...), 0)
				r.Key = name + where
				a, err := paris.Submit(t.Context(), r)
				w.must(202, a, err)
				if paris.app.count() != before {
					t.Error("it has run before the answer")
				}
				paris.start()
				paris.app.inject(c.faults...)
				w.settle()
				if got := paris.state(a.Operation, paris); got != c.state || paris.app.count() != before+c.made || len(paris.store.outbox) != 0 {
					t.Errorf("it is %s, there are %d more, %d are kept", got, paris.app.count()-before, len(paris.store.outbox))
				}
				again, err := paris.Submit(t.Context(), r)
				if w.must(202, again, err); again.Operation != a.Operation || paris.app.count() != before+c.made {
					t.Errorf("under the same key: %+v", again)
				}
			})
		}
	}
}

// Whoever waits for a while gets what the request comes to within it, and else that it is under way; what is asked for later for the
// same resource comes after it.
func TestDeferredUnlessInTime(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	go func() { _ = paris.Run(t.Context()) }()
	r := later(request(images, "POST", "", `{}`, paris, nantes), time.Minute)
	r.Key = "k"
	made, err := paris.Submit(t.Context(), r)
	w.must(201, made, err)
	again, err := paris.Submit(t.Context(), r)
	if w.must(201, again, err); again.Resource != made.Resource || made.Resource == "" {
		t.Errorf("under the same key: %+v, first %+v", again, made)
	}
	patch := request(images, "PATCH", string(made.Resource), `{"size":2}`)
	patch.Wait = time.Minute // without respond-async: the same
	a, err := paris.Submit(t.Context(), patch)
	w.must(200, a, err)
	paris.app.inject(rejects)
	a, err = paris.Submit(t.Context(), patch)
	w.must(422, a, err)
	arrived, release := paris.app.holdUp()
	a, err = paris.Submit(t.Context(), as("bob", later(request(images, "PATCH", string(made.Resource), `{"size":3}`), time.Millisecond)))
	w.must(202, a, err)
	<-arrived
	done := make(chan string)
	go func() {
		done <- told(paris.Submit(t.Context(), as("cem", request(images, "PATCH", string(made.Resource), `{"size":4}`))))
	}()
	release()
	if got := <-done; got != "200" {
		t.Errorf("behind it: told %s", got)
	}
	if got := paris.app.log(); !slices.Equal(got[len(got)-2:], []string{"PATCH p1 as bob", "PATCH p1 as cem"}) {
		t.Errorf("the application was asked %q", got)
	}
}

// Nothing is accepted that needs more sites than can be reached; what no site can take now is kept for those that can.
func TestDeferredDuringACut(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	w.away(nantes.id, true)
	r := later(request(images, "POST", "", `{}`, paris, nantes), 0)
	r.Agreement = engine.AgreeSync
	a, err := paris.Submit(t.Context(), r)
	w.wants("503 unreachable", a, err)
	a, err = paris.Submit(t.Context(), later(request(files, "PUT", "x", `{}`, nantes), 0))
	w.must(202, a, err)
	w.settle()
	dropped, err := paris.Submit(t.Context(), later(request(files, "PUT", "x", `{"n":2}`, nantes), 0))
	w.must(202, dropped, err)
	if err := paris.Requests().Drop(t.Context(), dropped.Operation); err != nil {
		t.Error(err)
	}
	w.away(nantes.id, false)
	w.settle()
	if got := paris.state(a.Operation, nantes); got != engine.StateApplied || !slices.Equal(nantes.app.log(), []string{"PUT x as ann"}) {
		t.Errorf("it is %s; nantes was asked %q", got, nantes.app.log())
	}
	if err := paris.Requests().Drop(t.Context(), "nothing"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("what there is not: %v", err)
	}
}

// What this site alone is to have and has not made yet is changed once it is there.
func TestAChangeWaitsForTheReplica(t *testing.T) {
	w := newWorld(t, "paris")
	paris := w.sites[0]
	row := engine.ResourceRow{Document: "d", ID: "y", Service: "store", Kind: "image", Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {}}}
	paris.store.add(row)
	a, err := paris.Submit(t.Context(), request(images, "PATCH", "y", `{"n":1}`))
	w.must(202, a, err)
	for range 3 {
		paris.Step(t.Context())
		w.pass(time.Second)
	}
	if len(paris.app.log()) != 0 {
		t.Errorf("the application was asked %q", paris.app.log())
	}
	row.Local = "p1"
	paris.app.put(images, "p1", `{}`)
	paris.store.add(row)
	w.settle()
	if got := paris.app.log(); !slices.Equal(got, []string{"PATCH p1 as ann"}) {
		t.Errorf("the application was asked %q", got)
	}
}
