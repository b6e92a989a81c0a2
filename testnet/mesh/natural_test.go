package mesh

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// natural is a kind whose identifiers clients choose, in the path of a PUT.
var natural = &engine.Kind{
	Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID: engine.IDRule{From: engine.IDFromPath, At: "/id"},
}

func TestAnObjectOfSomebodyElseIsNotOverwritten(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Put("x", map[string]any{"owner": "nantes"})
	a := must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"owner":"paris"}`, m.Sites...))
	if st := await(t, m, nantes, a.Operation, engine.StateRejected); st.Error == "" {
		t.Error("it is not said why")
	}
	if got := shown(nantes); !slices.Equal(got, []string{`{"owner":"nantes"}`}) {
		t.Errorf("nantes shows %v", got)
	}
	nantes.App.Put("x", nil)
	if err := nantes.Retry(t.Context(), a.Operation); err != nil {
		t.Fatal(err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"owner":"paris"}`}) {
		t.Errorf("the sites show %v", got)
	}
}

// TestANewIncarnationOutlivesTheOld deletes and makes a resource anew while the other site is cut off and changes the old
// one, and lets the other site hear of the new one first.
func TestANewIncarnationOutlivesTheOld(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"life":1}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(nantes, true)
	must(t, 204)(submit(t.Context(), paris, natural, "DELETE", "x", ""))
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"life":2}`, m.Sites...))
	must(t, 200)(submit(t.Context(), nantes, natural, "PATCH", "x", `{"late":true}`))
	m.Cut(nantes, false)
	row, err := paris.Disk.ResourceByID(t.Context(), "images", "image", "x")
	if err != nil {
		t.Fatal(err)
	}
	m.Lose()
	if err := nantes.Proc.Receive(paris.ID, lacks(t, paris, nantes, row.Document)); err != nil {
		t.Fatal(err)
	}
	m.Pass(10 * time.Millisecond)
	m.work()
	second, err := nantes.Disk.ResourceByDocument(t.Context(), row.Document)
	if err != nil {
		t.Fatal(err)
	}
	st := second.Sites[nantes.ID]
	if st.Reason == "" {
		t.Error("it is not said what the new incarnation waits for")
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"life":2}`}) {
		t.Errorf("the sites show %v", got)
	}
}

// TestTwoPlacementsOfOneNameAreAConflict creates one name on both sides of a cut with different placements: where both are to be,
// the earlier is to have the object. The later one's lives until a person gives the name away; then that is a conflict that says so.
func TestTwoPlacementsOfOneNameAreAConflict(t *testing.T) {
	m := open(t, natural, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	m.Cut(paris, true)
	early := must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"by":"paris"}`, paris, nantes))
	late := must(t, 201)(submit(t.Context(), toulouse, natural, "PUT", "x", `{"by":"toulouse"}`, toulouse, nantes))
	await(t, m, nantes, late.Operation, engine.StateApplied)
	m.Cut(paris, false)
	await(t, m, nantes, early.Operation, engine.StateRejected)
	if got := shown(nantes); !slices.Equal(got, []string{`{"by":"toulouse"}`}) {
		t.Errorf("before anybody has decided, nantes shows %v", got)
	}
	if err := nantes.Retry(t.Context(), early.Operation); err != nil {
		t.Fatal(err)
	}
	until(t, m, func() string {
		conflicts, _, err := nantes.Disk.Resources(t.Context(), engine.ResourceFilter{State: engine.StateConflict})
		if err != nil || len(conflicts) != 1 || conflicts[0].Reason == "" || !slices.Equal(shown(nantes), []string{`{"by":"paris"}`}) {
			return fmt.Sprintf("nantes shows %v, and the conflicts %+v, %v", shown(nantes), conflicts, err)
		}
		return ""
	})
	if got := shown(nantes); !slices.Equal(got, []string{`{"by":"paris"}`}) {
		t.Errorf("nantes shows %v", got)
	}
	if got := shown(toulouse); !slices.Equal(got, []string{`{"by":"toulouse"}`}) {
		t.Errorf("toulouse shows %v", got)
	}
}

// TestTwoCreatesOfOneNameDoNotCross has a site's application work on a client's create, or lose its answer, while the other
// site's create of the same name comes in.
func TestTwoCreatesOfOneNameDoNotCross(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"by":"paris"}`, m.Sites...))
	arrived, release := nantes.App.Hold()
	done := nantes.ask(t.Context(), request(natural, "PUT", "x", `{"by":"nantes"}`, m.Sites...))
	arrives(t, m, arrived)
	m.Reconcile()
	release()
	if _, err := finish(m, done); err != nil {
		t.Error(err)
	}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"by":"nantes"}`}) {
		t.Errorf("the sites show %v", got)
	}

	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "y", `{"by":"paris"}`, m.Sites...))
	nantes.App.Inject(DoesAndFails, Refuses, Refuses, Refuses)
	if _, err := submit(t.Context(), nantes, natural, "PUT", "y", `{"by":"nantes"}`, m.Sites...); err == nil {
		t.Error("a lost answer is no refusal")
	}
	want := []string{`{"by":"nantes"}`, `{"by":"nantes"}`}
	if got := converge(t, m, m.Sites...); !slices.Equal(got, want) {
		t.Errorf("the sites show %v", got)
	}
}

// TestAChangeOfADeletedResourceIsNotKept asks, at a site that has no replica yet, for a change of what the other has deleted.
func TestAChangeOfADeletedResourceIsNotKept(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Inject(slices.Repeat([]Fault{Refuses}, 1000)...)
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	m.Reconcile()
	must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(a.Resource), ""))
	must(t, 404)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"size":1}`))
	if kept, err := nantes.Disk.Outbox(t.Context()); err != nil || len(kept) != 0 {
		t.Errorf("kept: %v, %v", kept, err)
	}
}

// TestAnObjectInAnObjectIsRecognised finds what a create sets at the other site already: it was sent there before.
func TestAnObjectInAnObjectIsRecognised(t *testing.T) {
	m := open(t, natural, 2)
	m.Sites[1].App.Put("x", map[string]any{"a": map[string]any{"b": 1}})
	must(t, 201)(submit(t.Context(), m.Sites[0], natural, "PUT", "x", `{"a":{"b":1}}`, m.Sites...))
	if got := converge(t, m, m.Sites...); len(got) != 1 || got[0] != `{"a":{"b":1}}` {
		t.Errorf("the sites show %v", got)
	}
	if n := m.Sites[1].App.Count("PUT"); n != 0 {
		t.Errorf("it was made %d times more", n)
	}
}
