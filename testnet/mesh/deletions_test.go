package mesh

import (
	"fmt"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestHeldDeletions deletes most of what two sites share while one of them is cut off. It holds what is over its bound,
// also over a restart, and goes on with everything else, until somebody confirms.
func TestHeldDeletions(t *testing.T) {
	const all, deleted, bound = 200, 180, 40 // a fifth of all
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.deletions.Late = time.Nanosecond // whatever is heard of later counts as issued while it was away
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	var ids []engine.ResourceID
	for i := range all {
		a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", fmt.Sprintf(`{"n":%d}`, i), paris, nantes))
		ids = append(ids, a.Resource)
	}
	converge(t, m, paris, nantes)
	m.Cut(nantes, true)
	var last engine.OperationID
	for _, id := range ids[:deleted] {
		last = must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(id), "")).Operation
	}
	other := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(ids[deleted]), `{"n":"other"}`)).Operation
	m.Cut(nantes, false)
	held := func(want int) engine.Preview {
		t.Helper()
		var p engine.Preview
		eventually(t, m, fmt.Sprintf("%d deletions are held", want), func() (err error) {
			p, err = nantes.Preview(t.Context(), nantes.ID)
			if err == nil && p.Held != want {
				err = fmt.Errorf("%d are, of %d with something left to do: %v", p.Held, p.Waiting, p.Steps)
			}
			return err
		})
		return p
	}
	p := held(deleted - bound)
	if len(p.Ran) != bound {
		t.Errorf("of %d that came in %d have run unasked, it says, want %d", deleted, len(p.Ran), bound)
	}
	if len(p.Items) != 100 || p.Steps[engine.DoesDelete] != deleted-bound || p.Items[0].Does != engine.DoesDelete || p.Items[0].Waits == "" {
		t.Errorf("the preview lists %d: %v, first %+v", len(p.Items), p.Steps, p.Items[0])
	}
	await(t, m, nantes, other, engine.StateApplied)
	if n := len(nantes.App.Objects()); n != all-bound {
		t.Errorf("nantes shows %d objects, want %d", n, all-bound)
	}
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	await(t, m, nantes, must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(ids[deleted+1]), "")).Operation, engine.StateHeld)
	if p := held(deleted - bound + 1); len(p.Ran) != 0 {
		t.Errorf("after a restart it says that %d have run, which it cannot know", len(p.Ran))
	}
	if n := nantes.App.Count("DELETE"); n != bound {
		t.Errorf("nantes has deleted %d unconfirmed, want %d", n, bound)
	}
	// Every site can tell, and those that have no part in it are told nothing and confirm nothing.
	var states []engine.State
	for _, id := range ids[:deleted] {
		rows, _, err := paris.Disk.Operations(t.Context(), engine.OperationFilter{Resource: id, Limit: 1})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if st := rows[0].Sites[nantes.ID].State; st == engine.StateHeld {
			states = append(states, st)
		}
	}
	if len(states) != deleted-bound {
		t.Errorf("paris knows of %d held deletions (%s the last), want %d", len(states), last, deleted-bound)
	}
	if p, err := nantes.Preview(t.Context(), "nobody"); err != nil || p.Waiting != 0 || len(p.Ran) != 0 || len(p.Items) != 0 {
		t.Errorf("a site without a part is told %+v, %v", p, err)
	}
	if n, err := nantes.Confirm(t.Context(), "nobody"); n != 0 || err != nil {
		t.Errorf("a site without a part confirms %d, %v", n, err)
	}
	if n := eventTypes(t, nantes)["site.held"]; n == 0 {
		t.Error("no event tells that deletions are held")
	}
	if n, err := nantes.Confirm(t.Context(), paris.ID); n != deleted-bound+1 || err != nil {
		t.Errorf("confirmed %d, %v", n, err)
	}
	converge(t, m, paris, nantes)
	if n := len(nantes.App.Objects()); n != all-deleted-1 {
		t.Errorf("after the confirmation nantes shows %d objects, want %d", n, all-deleted-1)
	}
	held(0)
}

// TestDeletionsHeardInTimeAreNotHeld deletes everything while the sites hear of each other.
func TestDeletionsHeardInTimeAreNotHeld(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	var ids []engine.ResourceID
	for i := range 30 {
		ids = append(ids, must(t, 201)(submit(t.Context(), paris, Image, "POST", "", fmt.Sprintf(`{"n":%d}`, i), paris, nantes)).Resource)
	}
	converge(t, m, paris, nantes)
	for _, id := range ids {
		must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(id), ""))
	}
	converge(t, m, paris, nantes)
	if n := nantes.App.Count("DELETE"); n != len(ids) {
		t.Errorf("nantes has deleted %d of %d", n, len(ids))
	}
}

// TestAHeldDeletionKeepsOrder has a client of the site change a resource whose deletion is held there, and delete another
// itself.
func TestAHeldDeletionKeepsOrder(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.deletions = engine.DeletionLimits{Late: time.Nanosecond, Number: 1}
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	var ids []engine.ResourceID
	for range 3 {
		ids = append(ids, must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"n":1}`, paris, nantes)).Resource)
	}
	converge(t, m, paris, nantes)
	await(t, m, nantes, must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(ids[0]), "")).Operation, engine.StateApplied)
	one := must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(ids[1]), "")).Operation
	two := must(t, 204)(submit(t.Context(), paris, Image, "DELETE", string(ids[2]), "")).Operation
	await(t, m, nantes, one, engine.StateHeld)
	await(t, m, nantes, two, engine.StateHeld)
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(ids[1]), `{"n":2}`))
	must(t, 204)(submit(t.Context(), nantes, Image, "DELETE", string(ids[2]), "")) // its own client wants it gone
	await(t, m, nantes, two, engine.StateApplied)
	if got := nantes.App.Objects(); len(got) != 1 || got[0] != `{"n":2}` {
		t.Errorf("nantes shows %v", got)
	}
	if n, err := nantes.Confirm(t.Context(), nantes.ID); n != 1 || err != nil {
		t.Errorf("confirmed %d, %v", n, err)
	}
	converge(t, m, paris, nantes)
	if got := nantes.App.Objects(); len(got) != 0 {
		t.Errorf("after the confirmation nantes shows %v", got)
	}
}

// eventually waits for a condition, with anti-entropy going on.
func eventually(t *testing.T, m *Mesh, what string, ok func() error) {
	t.Helper()
	until(t, m, func() string {
		if err := ok(); err != nil {
			return fmt.Sprintf("%s: %v", what, err)
		}
		return ""
	})
}
