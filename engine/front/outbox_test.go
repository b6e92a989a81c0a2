package front

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/keys"
	"github.com/skerry/skerry/engine/waiting"
)

// as makes a request one of somebody else.
func as(who string, r engine.Request) engine.Request {
	r.Credentials = &engine.Credentials{Header: http.Header{"Authorization": {who}}}
	return r
}

// What is kept goes out in the order in which it was asked for, each with the credentials of who asked, also after a restart; what
// comes later waits behind it.
func TestKeptRequestsKeepTheirOrder(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	w.away(nantes.id, true)
	for i, who := range []string{"ann", "bob", "cem"} {
		w.pass(1)
		a, err := paris.Submit(t.Context(), as(who, request(files, "PUT", "x", fmt.Sprintf(`{"n":%d}`, i), nantes)))
		w.must(202, a, err)
		if a.Operation == "" || a.Header.Get("Location") == "" {
			t.Errorf("%+v tells no operation", a)
		}
	}
	r := request(files, "PUT", "y", `{}`, nantes)
	r.Credentials = nil // a caller who shows nothing
	a, err := paris.Submit(t.Context(), r)
	w.must(202, a, err)
	paris.start()
	for paris.Step(t.Context()) { // nobody is there
	}
	w.away(nantes.id, false)
	// The first to come out takes what is before it along.
	a, err = paris.Submit(t.Context(), as("dan", request(files, "PUT", "x", `{"n":3}`, nantes)))
	w.must(200, a, err)
	w.settle()
	want := []string{"PUT x as ann", "PUT x as bob", "PUT x as cem", "PUT x as dan"}
	if got := slices.DeleteFunc(nantes.app.log(), func(c string) bool { return strings.Contains(c, "y") }); !slices.Equal(got, want) {
		t.Errorf("nantes was asked %q, want %q", got, want)
	}
	if !slices.Contains(nantes.app.log(), "PUT y as nobody") {
		t.Errorf("nantes was asked %q", nantes.app.log())
	}
	if len(paris.store.outbox) != 0 || !paris.outbox.Empty() {
		t.Error("something is kept still")
	}
}

// Where a site may have got a request, that one alone is asked again, and told so; after a crash as well.
func TestAKeptRequestGoesToOneSite(t *testing.T) {
	for name, crash := range map[string]bool{"the agent lives": false, "the agent dies": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris", "nantes", "lyon")
			paris, nantes, lyon := w.sites[0], w.sites[1], w.sites[2]
			var again []bool
			lost := 2
			paris.forwards = func(to engine.SiteID, r engine.Request) error {
				again = append(again, r.Again)
				if lost--; lost >= 0 {
					a, err := w.at(to).Submit(t.Context(), func() engine.Request { r.Via = []engine.SiteID{paris.id}; return r }())
					w.must(201, a, err)
					return errors.New("the connection broke")
				}
				return nil
			}
			a, err := paris.Submit(t.Context(), request(images, "POST", "", `{}`, nantes, lyon))
			w.wants("504 upstream", a, err)
			if crash {
				paris.start()
			}
			w.away(nantes.id, true)
			for range 3 {
				paris.Step(t.Context())
				w.pass(1e9)
			}
			w.away(nantes.id, false)
			w.settle()
			if n, l := nantes.app.count(), lyon.app.count(); n != 1 || l != 0 {
				t.Errorf("nantes has %d objects, lyon %d", n, l)
			}
			if again[0] || !again[len(again)-1] || len(paris.store.outbox) != 0 {
				t.Errorf("told that it comes again: %v; %d are kept", again, len(paris.store.outbox))
			}
		})
	}
}

// What is heard of each try tells who is asked next, and what is recorded.
func TestWhatBecomesOfAKeptRequest(t *testing.T) {
	refusal := func(status int, kind string) error { return &engine.Refusal{Status: status, Type: kind, Detail: kind} }
	for name, c := range map[string]struct {
		nantes []error // what is heard there, one try after the other
		state  engine.State
		at     string
	}{
		"it runs":                         {nil, engine.StateApplied, "nantes"},
		"not its business":                {[]error{refusal(404, "not-replicated")}, engine.StateApplied, "lyon"},
		"not now":                         {[]error{refusal(503, "storage")}, engine.StateApplied, "lyon"},
		"its application is away":         {[]error{refusal(502, "upstream")}, engine.StateApplied, "lyon"},
		"no certain answer, then it runs": {[]error{refusal(504, "upstream")}, engine.StateApplied, "nantes"},
		"it runs there already":           {[]error{refusal(409, "in-progress")}, engine.StateApplied, "nantes"},
		"refused for good":                {[]error{refusal(422, "scope-type")}, engine.StateRejected, "nantes"},
		"forgotten":                       {[]error{errors.New("broken"), refusal(409, keys.Forgotten)}, engine.StateUncertain, "nantes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris", "nantes", "lyon")
			paris, nantes, lyon := w.sites[0], w.sites[1], w.sites[2]
			w.away(nantes.id, true)
			w.away(lyon.id, true)
			a, err := paris.Submit(t.Context(), request(images, "POST", "", `{}`, nantes, lyon))
			w.must(202, a, err)
			paris.forwards = func(to engine.SiteID, r engine.Request) (err error) {
				var onDisk struct{ Sent engine.SiteID } // should the agent die now, it knows whom alone it may ask again
				if row, err := paris.store.Kept(t.Context(), r.Operation); err != nil || json.Unmarshal(row.Data, &onDisk) != nil || onDisk.Sent != to {
					t.Errorf("it goes to %s, and on disk is that it went to %q, %v", to, onDisk.Sent, err)
				}
				if to == nantes.id && len(c.nantes) > 0 {
					err, c.nantes = c.nantes[0], c.nantes[1:]
				}
				return err
			}
			w.away(nantes.id, false)
			w.away(lyon.id, false)
			w.settle()
			row, err := paris.store.Operation(t.Context(), a.Operation)
			if err != nil || row.Sites[engine.SiteID(c.at)].State != c.state || len(paris.store.outbox) != 0 {
				t.Fatalf("it is listed as %+v, %v; want %s at %s", row.Sites, err, c.state, c.at)
			}
			if c.state == engine.StateApplied && (row.Resource == "" || nantes.app.count()+lyon.app.count() != 1) {
				t.Errorf("it made %q", row.Resource)
			}
			if c.state != engine.StateUncertain {
				return
			}
			people := paris.Requests()
			if got, err := people.Decisions(t.Context(), a.Operation); err != nil || !slices.Equal(got, []engine.Action{engine.ActionDone, engine.ActionDrop}) {
				t.Errorf("to be decided: %v, %v", got, err)
			}
			if err := people.Done(t.Context(), a.Operation); err != nil || paris.state(a.Operation, nantes) != engine.StateApplied {
				t.Errorf("done: %v, it is %s", err, paris.state(a.Operation, nantes))
			}
			if err := people.Drop(t.Context(), a.Operation); !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("decided twice: %v", err)
			}
		})
	}
}

// A person may drop what has not gone out.
func TestAKeptRequestIsDropped(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	w.away(nantes.id, true)
	var ids []engine.OperationID
	for _, method := range []string{"PUT", "DELETE"} {
		w.pass(1)
		a, err := paris.Submit(t.Context(), request(files, method, "x", `{}`, nantes))
		ids = append(ids, w.must(202, a, err).Operation)
	}
	people := paris.Requests()
	if got, err := people.Decisions(t.Context(), ids[0]); err != nil || !slices.Equal(got, []engine.Action{engine.ActionDrop}) {
		t.Errorf("to be decided: %v, %v", got, err)
	}
	if at := people.NextTry(ids[0]); !at.After(start) || !people.NextTry(ids[1]).IsZero() {
		t.Errorf("the first is tried at %s, the second at %s", at, people.NextTry(ids[1]))
	}
	for _, decide := range []error{people.Retry(t.Context(), ids[0]), people.Done(t.Context(), ids[0])} {
		if !errors.Is(decide, engine.ErrSettled) {
			t.Errorf("what is tried by itself: %v", decide)
		}
	}
	if err := people.Drop(t.Context(), ids[0]); err != nil || paris.state(ids[0], nantes) != engine.StateRejected {
		t.Errorf("dropped: %v, it is %s", err, paris.state(ids[0], nantes))
	}
	if err := people.Drop(t.Context(), ids[0]); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	w.away(nantes.id, false)
	w.settle()
	if got := nantes.app.log(); !slices.Equal(got, []string{"DELETE x as ann"}) {
		t.Errorf("nantes was asked %q", got)
	}
}

// What has come back in its document meanwhile has run, and is not handed over.
func TestAKeptRequestThatHasComeBack(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	w.away(nantes.id, true)
	a, err := paris.Submit(t.Context(), request(images, "POST", "", `{}`, nantes))
	w.must(202, a, err)
	row := engine.OperationRow{ID: a.Operation, Document: "d", Origin: nantes.id}
	if err := paris.store.commit(&engine.Batch{Operations: []engine.OperationRow{row}}); err != nil {
		t.Fatal(err)
	}
	w.away(nantes.id, false)
	w.settle()
	if got, _ := paris.store.Operation(t.Context(), a.Operation); got.Document != "d" || len(paris.store.outbox) != 0 || len(nantes.app.log()) != 0 {
		t.Errorf("it is listed as %+v; nantes was asked %q", got, nantes.app.log())
	}
}

// A full disk stops nothing that has gone out, and loses nothing.
func TestAFullDisk(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	paris.store.full = true
	for name, r := range map[string]engine.Request{
		"for this site": request(files, "PUT", "x", `{}`, paris), "for another, with a key": keyed(request(files, "PUT", "x", `{}`, nantes)),
	} {
		if a, err := paris.Submit(t.Context(), r); !errors.Is(err, engine.ErrStorage) {
			t.Errorf("%s: told %s", name, told(a, err))
		}
	}
	w.away(nantes.id, true)
	if a, err := paris.Submit(t.Context(), request(files, "PUT", "x", `{}`, nantes)); !errors.Is(err, engine.ErrStorage) {
		t.Errorf("to be kept: told %s", told(a, err))
	}
	paris.store.full = false
	if len(paris.app.log())+len(nantes.app.log()) != 0 {
		t.Error("something has happened")
	}
	// What cannot be recorded once it has happened is recorded later.
	arrived, release := paris.app.holdUp()
	done := make(chan string)
	go func() { done <- told(paris.Submit(t.Context(), request(images, "POST", "", `{}`, paris))) }()
	<-arrived
	paris.store.mu.Lock()
	paris.store.full = true
	paris.store.mu.Unlock()
	release()
	if got := <-done; got != "504 upstream" {
		t.Errorf("told %s", got)
	}
	paris.store.full = false
	w.settle()
	if len(paris.store.errands) != 0 || paris.app.count() != 1 || len(paris.store.conflicts) != 0 {
		t.Errorf("%d errands are left, there are %d objects, %d questions", len(paris.store.errands), paris.app.count(), len(paris.store.conflicts))
	}
}

// What is kept is bounded: for one caller, for all who show nothing together, and in all; also after a restart. What may have run is kept
// whatever there is, and what goes out makes room.
func TestInvariantWhatIsKeptIsBounded(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	paris.keeps = waiting.Rooms{All: waiting.Share{Number: 5, Bytes: 1 << 20}, Each: waiting.Share{Number: 3, Bytes: 1 << 20}, Nobody: waiting.Share{Number: 1, Bytes: 1 << 20}}
	paris.start()
	w.away(nantes.id, true)
	n := 0
	put := func(who, want string) {
		t.Helper()
		n++
		r := as(who, request(files, "PUT", fmt.Sprint("f", n), `{}`, nantes))
		r.Caller, r.Anonymous = who, who == ""
		a, err := paris.Submit(t.Context(), r)
		if got := told(a, err); got != want {
			t.Errorf("request %d, of %q, is told %s, want %s", n, who, got, want)
		}
	}
	put("", "202")
	put("", "503 unreachable")
	for range 3 {
		put("ann", "202")
	}
	put("ann", "503 unreachable")
	put("bob", "202")
	put("cem", "503 unreachable")
	paris.start()
	put("", "503 unreachable")
	put("cem", "503 unreachable")
	w.away(nantes.id, false)
	w.settle()
	w.away(nantes.id, true)
	put("", "202")
	put("ann", "202")
}
