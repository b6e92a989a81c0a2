package mesh

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func wantRefusal(t *testing.T, err error, status int) *engine.Refusal {
	t.Helper()
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) || refusal.Status != status {
		t.Fatalf("got %v, want a refusal with status %d", err, status)
	}
	return refusal
}

func TestWhatTheOriginDeniesReachesNoOtherSite(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	paris.App.Inject(Denies, Denies)
	must(t, 401)(submit(t.Context(), paris, Image, "POST", "", `{"name":"denied"}`, m.Sites...))
	must(t, 401)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"denied":true}`))
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"n"}`}) {
		t.Errorf("the sites show %v", got)
	}
	if n := nantes.App.Count("PATCH") + nantes.App.Count("POST"); n != 1 {
		t.Errorf("nantes got %d requests, want 1", n)
	}
}

// TestAClientThatGoesLosesNothing ends the client's request while the application works on it.
func TestAClientThatGoesLosesNothing(t *testing.T) {
	m := open(t, Image, 2)
	arrived, release := m.Sites[0].App.Hold()
	ctx, hangUp := context.WithCancel(t.Context())
	done := m.Sites[0].ask(ctx, request(Image, "POST", "", `{"name":"n"}`, m.Sites...))
	arrives(t, m, arrived)
	hangUp()
	release()
	if _, err := finish(m, done); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("what was done is not recorded: %v", err)
	}
	if got := converge(t, m, m.Sites...); len(got) != 1 {
		t.Errorf("the sites show %v", got)
	}
}

// TestAKeyCountsBeforeTheAnswer repeats a request under its key while it is not known whether the first one ran.
func TestAKeyCountsBeforeTheAnswer(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	r := engine.Request{Kind: Image, Type: engine.TypeCreate, Method: "POST", Path: "/images", Body: []byte(`{"name":"n"}`),
		Placement: []engine.SiteID{paris.ID, m.Sites[1].ID}, Key: "k", Caller: "c"}
	paris.App.Inject(DoesAndFails)
	_, err := paris.Submit(t.Context(), r)
	first := wantRefusal(t, err, http.StatusGatewayTimeout)
	_, err = paris.Submit(t.Context(), r)
	if again := wantRefusal(t, err, http.StatusGatewayTimeout); again.Operation != first.Operation {
		t.Errorf("the second answer names operation %s, the first %s", again.Operation, first.Operation)
	}
	if n := paris.App.Count("POST"); n != 1 {
		t.Errorf("created %d times", n)
	}
	await(t, m, paris, first.Operation, engine.StateUncertain)
	if err := paris.Drop(t.Context(), first.Operation); err != nil {
		t.Fatal(err)
	}
	if a, err := paris.Submit(t.Context(), r); err != nil || a.Status < 400 || paris.App.Count("POST") != 1 {
		t.Errorf("after it was dropped: %+v, %v, created %d times", a, err, paris.App.Count("POST"))
	}
	// A patch is settled by itself; the answer is given again then, and an action under its key does not run twice.
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	r = engine.Request{Kind: Image, Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Target: string(a.Resource),
		Body: []byte(`{"size":1}`), Key: "p", Caller: "c", Header: map[string]string{"Content-Type": "application/json"}}
	paris.App.Inject(DoesAndFails)
	_, err = paris.Submit(t.Context(), r)
	first = wantRefusal(t, err, http.StatusGatewayTimeout)
	await(t, m, paris, first.Operation, engine.StateApplied)
	if a := must(t, 200)(paris.Submit(t.Context(), r)); a.Operation != first.Operation {
		t.Errorf("the second answer is of operation %s, the first was %s", a.Operation, first.Operation)
	}
}

func TestAnOperationWithoutACertainAnswerIsListed(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	paris.App.Inject(Fails)
	_, err := submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...)
	refusal := wantRefusal(t, err, http.StatusGatewayTimeout)
	row, err := paris.Disk.Operation(t.Context(), refusal.Operation)
	if err != nil || row.Sites[paris.ID].Error == "" {
		t.Errorf("the operation is listed as %+v, %v", row, err)
	}
}

// TestAPersonDecidesOnlyWhatWaits settles an operation whose request is under way.
func TestAPersonDecidesOnlyWhatWaits(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	arrived, release := paris.App.Hold()
	r := request(Image, "POST", "", `{"name":"n"}`, m.Sites...)
	r.Operation = "0190a5c2-0000-7000-8000-0000000000aa"
	done := paris.ask(t.Context(), r)
	arrives(t, m, arrived)
	for name, decide := range map[string]func(context.Context, engine.OperationID) error{"retry": paris.Retry, "done": paris.Done, "drop": paris.Drop} {
		if err := decide(t.Context(), r.Operation); !errors.Is(err, engine.ErrSettled) && !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	release()
	must(t, 201)(finish(m, done))
	if n := paris.App.Count("POST"); n != 1 {
		t.Errorf("created %d times", n)
	}
}

// TestAKeptRequestGoesToOneSite loses the answer of the first site that a kept request is delivered to, and cuts it off: the
// other one must not take the request as well.
func TestAKeptRequestGoesToOneSite(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	m.Cut(toulouse, true)
	a := must(t, 202)(submit(t.Context(), toulouse, Image, "POST", "", `{"name":"kept"}`, paris, nantes))
	paris.App.Inject(DoesAndFails)
	nantes.App.Inject(DoesAndFails)
	m.Cut(toulouse, false)
	var first, other *Site
	for range 10 { // what is said of it meanwhile is lost
		m.work()
		m.Lose()
		m.Pass(10 * time.Millisecond)
	}
	for i, s := range []*Site{paris, nantes} {
		if row, err := s.Disk.Operation(t.Context(), a.Operation); err == nil && row.State == engine.StateUncertain {
			first, other = s, []*Site{nantes, paris}[i]
		}
	}
	if first == nil {
		t.Fatal("the kept request is not delivered")
	}
	m.Cut(first, true)
	for range 100 { // several tries
		m.work()
		m.Pass(10 * time.Millisecond)
	}
	if n := other.App.Count("POST"); n != 0 {
		t.Errorf("%s took the request as well", other.Name)
	}
	m.Cut(first, false)
	if err := first.Drop(t.Context(), a.Operation); err != nil {
		t.Fatal(err)
	}
	until(t, m, func() string {
		row, err := toulouse.Disk.Operation(t.Context(), a.Operation)
		if err == nil && row.State == engine.StateRejected {
			return ""
		}
		return fmt.Sprintf("the kept operation ends as %+v, %v", row, err)
	})
	if n := first.App.Count("POST"); n != 1 {
		t.Errorf("%s created %d times", first.Name, n)
	}
}

// TestADroppedCreateSendsNothing refuses a create at one site, where a person drops it: no later request may go out there.
func TestADroppedCreateSendsNothing(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Inject(Rejects)
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	await(t, m, nantes, a.Operation, engine.StateRejected)
	patch := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"size":1}`))
	if err := nantes.Drop(t.Context(), a.Operation); err != nil {
		t.Fatal(err)
	}
	await(t, m, nantes, patch.Operation, engine.StateRejected)
	must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(a.Resource), ""))
	row := quiet(t, m, nantes, a.Resource)
	if row.State != engine.StateDeleted {
		t.Errorf("the deleted resource is %s at nantes: %s", row.State, row.Reason)
	}
	if n := nantes.App.Count("PATCH") + nantes.App.Count("DELETE"); n != 0 {
		t.Errorf("nantes got %d requests for a replica that it has not", n)
	}
}

// quiet reconciles until a resource has nothing pending at a site.
func quiet(t *testing.T, m *Mesh, s *Site, id engine.ResourceID) engine.ResourceRow {
	t.Helper()
	var row engine.ResourceRow
	until(t, m, func() (missing string) {
		var err error
		row, err = s.Disk.ResourceByID(t.Context(), s.Kinds[0].Service, s.Kinds[0].Name, id)
		done := err == nil
		for _, st := range row.Sites {
			done = done && st.Pending == 0
		}
		if !done {
			missing = fmt.Sprintf("%s at %s: %+v, %v", id, s.Name, row, err)
		}
		return missing
	})
	return row
}

// TestADeletedUncertainCreateIsNotForgotten deletes a resource while it is not known whether one site has made it.
func TestADeletedUncertainCreateIsNotForgotten(t *testing.T) {
	honours := *Image
	honours.HonoursKey = true
	for _, kind := range []*engine.Kind{Image, &honours} {
		m := open(t, kind, 2)
		paris, nantes := m.Sites[0], m.Sites[1]
		nantes.App.Inject(DoesAndFails)
		if kind.HonoursKey { // it goes on without an answer until the delete is there
			nantes.App.Inject(slices.Repeat([]Fault{Refuses}, 20)...)
		}
		a := must(t, 201)(submit(t.Context(), paris, kind, "POST", "", `{"name":"n"}`, m.Sites...))
		if kind.HonoursKey {
			until(t, m, func() string {
				if nantes.App.Count("POST") == 0 {
					return "nantes is not asked"
				}
				return ""
			})
		} else {
			await(t, m, nantes, a.Operation, engine.StateUncertain)
		}
		must(t, 204)(submit(t.Context(), paris, kind, "DELETE", string(a.Resource), ""))
		m.Reconcile()
		if kind.HonoursKey {
			if row := quiet(t, m, nantes, a.Resource); row.State != engine.StateDeleted || len(shown(nantes)) != 0 {
				t.Errorf("the deleted resource is %s, and nantes shows %v", row.State, shown(nantes))
			}
			continue
		}
		await(t, m, nantes, a.Operation, engine.StateUncertain)
		if err := nantes.Drop(t.Context(), a.Operation); err != nil {
			t.Fatal(err)
		}
		quiet(t, m, nantes, a.Resource)
		if errands, err := nantes.Disk.Errands(t.Context()); err != nil || len(errands) != 0 {
			t.Errorf("errands stay open: %v, %v", errands, err)
		}
	}
}
