package mesh

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// deferred makes a request one that its caller does not want to wait for, or no longer than that.
func deferred(r engine.Request, wait time.Duration) engine.Request {
	r.Async, r.Wait = true, wait
	return r
}

// stateAt waits until an operation is in a state at a site.
func stateAt(t *testing.T, m *Mesh, s *Site, id engine.OperationID, want engine.State) {
	t.Helper()
	until(t, m, func() string {
		row, err := s.Disk.Operation(t.Context(), id)
		if got := row.Sites[s.ID].State; err != nil || got != want {
			return fmt.Sprintf("operation %s is %s at %s (%v), want %s", id, got, s.Name, err, want)
		}
		return ""
	})
}

// nothingKept waits until a site keeps no request: one is let go of after it has run, not with it.
func nothingKept(t *testing.T, m *Mesh, s *Site) {
	t.Helper()
	until(t, m, func() string {
		left, err := s.Disk.Outbox(t.Context())
		if err != nil {
			return err.Error()
		}
		for id := range left {
			return fmt.Sprintf("%s still keeps %v", s.Name, left[id].Operation)
		}
		return ""
	})
}

// Whoever does not want to wait is answered while the application still works, and the request runs once.
func TestDeferred(t *testing.T) {
	ctx := t.Context()
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	arrived, release := paris.App.Hold()
	r := deferred(request(Image, "POST", "", `{"name":"debian"}`, paris, nantes), 0)
	r.Key, r.Caller = "k", "c"
	a := must(t, 202)(paris.Submit(ctx, r))
	arrives(t, m, arrived)
	if again := must(t, 202)(paris.Submit(ctx, r)); again.Operation != a.Operation {
		t.Errorf("under the same key: %+v", again)
	}
	release()
	stateAt(t, m, paris, a.Operation, engine.StateApplied)
	if got := converge(t, m, paris, nantes); len(got) != 1 {
		t.Errorf("the sites show %v", got)
	}
	if again := must(t, 202)(paris.Submit(ctx, r)); again.Operation != a.Operation || len(paris.App.Objects()) != 1 {
		t.Errorf("under the same key: %+v", again)
	}
	// What the application refuses is told by the operation.
	paris.App.Inject(Rejects)
	a = must(t, 202)(paris.Submit(ctx, deferred(request(Image, "POST", "", `{"name":"wrong"}`, paris, nantes), 0)))
	stateAt(t, m, paris, a.Operation, engine.StateRejected)
	// What it does not take now comes later.
	paris.App.Inject(Away, Refuses, Busy)
	a = must(t, 202)(paris.Submit(ctx, deferred(request(Image, "POST", "", `{"name":"alpine"}`, paris), 0)))
	stateAt(t, m, paris, a.Operation, engine.StateApplied)
	nothingKept(t, m, paris)
}

// Whoever waits for a while gets what the request comes to within it, and else that it is under way.
func TestDeferredUnlessInTime(t *testing.T) {
	ctx := t.Context()
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	r := deferred(request(Image, "POST", "", `{"name":"debian"}`, paris, nantes), time.Minute)
	r.Key, r.Caller = "k", "c"
	made := must(t, 201)(paris.Submit(ctx, r))
	if again := must(t, 201)(paris.Submit(ctx, r)); again.Resource != made.Resource || made.Resource == "" {
		t.Errorf("under the same key: %+v, first %+v", again, made)
	}
	wait := request(Image, "PATCH", string(made.Resource), `{"size":2}`)
	wait.Wait = time.Minute // without respond-async: the same
	must(t, 200)(paris.Submit(ctx, wait))
	paris.App.Inject(Rejects)
	must(t, 422)(paris.Submit(ctx, wait))
	arrived, release := paris.App.Hold()
	late := paris.ask(ctx, deferred(request(Image, "PATCH", string(made.Resource), `{"size":3}`), 20*time.Millisecond))
	arrives(t, m, arrived)
	must(t, 202)(finish(m, late)) // it is answered while the application works
	release()
	// Behind it, in the order in which they were asked for.
	must(t, 200)(submit(ctx, paris, Image, "PATCH", string(made.Resource), `{"size":4}`))
	if got := converge(t, m, paris, nantes); !strings.Contains(got[0]+got[len(got)-1], `"size":4`) {
		t.Errorf("the sites show %v", got)
	}
}

// A large body is kept with its request, whatever becomes of the agent.
func TestDeferredLargeBody(t *testing.T) {
	ctx := t.Context()
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	made := must(t, 201)(submit(ctx, paris, Image, "POST", "", `{"name":"debian"}`, paris, nantes))
	converge(t, m, paris, nantes)
	body := large(1, 3<<20)
	paris.App.Inject(Away)
	must(t, 202)(paris.Submit(ctx, deferred(putFile(made.Resource, body), 0)))
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	fileAt(t, m, paris, body)
	fileAt(t, m, nantes, body)
	forgotten(t, m, paris, nantes)
}

// Nothing is accepted that needs more sites than can be reached; what no site can take now is kept for those that can.
func TestDeferredDuringACut(t *testing.T) {
	ctx := t.Context()
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	m.Cut(nantes, true)
	r := deferred(request(Image, "POST", "", `{"name":"debian"}`, paris, nantes), 0)
	r.Agreement = engine.AgreeSync
	var refusal *engine.Refusal
	if _, err := paris.Submit(ctx, r); !errors.As(err, &refusal) || refusal.Type != "unreachable" {
		t.Errorf("got %v", err)
	}
	a := must(t, 202)(paris.Submit(ctx, deferred(request(Image, "POST", "", `{"name":"debian"}`, nantes), time.Hour)))
	b := must(t, 202)(paris.Submit(ctx, deferred(request(Image, "POST", "", `{"name":"alpine"}`, nantes), 0)))
	m.Cut(nantes, false)
	for _, id := range []engine.OperationID{a.Operation, b.Operation} {
		until(t, m, func() string {
			row, err := paris.Disk.Operation(ctx, id)
			if err != nil || row.Sites[nantes.ID].State != engine.StateApplied {
				return fmt.Sprintf("%s has not run at nantes: %v", id, row.Sites)
			}
			if !strings.HasPrefix(string(row.Resource), "b") { // the identifiers that the application of nantes gives
				return fmt.Sprintf("%s is said to have made %q", id, row.Resource)
			}
			return ""
		})
	}
	if got := shown(nantes); len(got) != 2 {
		t.Errorf("nantes shows %v", got)
	}
	// A person may drop what has not run.
	m.Cut(nantes, true)
	a = must(t, 202)(paris.Submit(ctx, deferred(request(Image, "POST", "", `{"name":"dropped"}`, nantes), 0)))
	until(t, m, func() string {
		if err := paris.Drop(ctx, a.Operation); err != nil {
			return err.Error()
		}
		return ""
	})
	m.Cut(nantes, false)
	nothingKept(t, m, paris)
}
