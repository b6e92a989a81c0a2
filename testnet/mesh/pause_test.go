package mesh

import (
	"errors"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// documentOf returns the only document of a resource that the site has.
func documentOf(t *testing.T, s *Site) engine.DocumentID {
	t.Helper()
	rows, _, err := s.Disk.Resources(t.Context(), engine.ResourceFilter{})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	return rows[0].Document
}

// TestAPausedReplicaStaysAsItIs pauses the replica of one site: it takes nothing of others and is shown so everywhere, its
// own clients are served and what they change travels, and after a resume all show the same. A restart changes nothing.
func TestAPausedReplicaStaysAsItIs(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n","size":1}`, paris, nantes))
	converge(t, m, paris, nantes)
	document := documentOf(t, nantes)
	if err := nantes.Pause(t.Context(), document, paris.ID, "moving disks"); err != nil {
		t.Fatal(err)
	}
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	theirs := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"name":"theirs"}`))
	own := must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"size":2}`))
	for _, s := range []*Site{paris, nantes} {
		await(t, m, paris, own.Operation, engine.StateApplied)
		m.Reconcile()
		row, err := s.Disk.Operation(t.Context(), theirs.Operation)
		if st := row.Sites[nantes.ID]; err != nil || st.State != engine.StatePaused || !strings.Contains(st.Error, "paused from site0: moving disks") {
			t.Errorf("%s says of the operation at nantes: %+v, %v", s.Name, st, err)
		}
		r, err := s.Disk.ResourceByDocument(t.Context(), document)
		if err != nil || r.State != engine.StateConverging || !strings.Contains(r.Reason, "site1: paused from site0: moving disks") {
			t.Errorf("%s says of the resource: %s %q, %v", s.Name, r.State, r.Reason, err)
		}
	}
	if got := nantes.App.Objects(); len(got) != 1 || got[0] != `{"name":"n","size":2}` {
		t.Errorf("nantes, which is paused, shows %v", got)
	}
	// What comes through a site without a replica goes to one that takes it.
	for range 3 {
		must(t, 200)(submit(t.Context(), toulouse, Image, "PATCH", string(a.Resource), `{"tag":"x"}`, paris, nantes))
	}
	if n := nantes.App.Count("PATCH"); n != 1 {
		t.Errorf("nantes was changed %d times, want 1 by its own client", n)
	}
	if err := nantes.Resume(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	converge(t, m, paris, nantes)
	if got := nantes.App.Objects(); len(got) != 1 || got[0] != `{"name":"theirs","size":2,"tag":"x"}` {
		t.Errorf("after the pause nantes shows %v", got)
	}
	row, err := paris.Disk.Operation(t.Context(), theirs.Operation)
	if err != nil || row.Sites[nantes.ID].State != engine.StateApplied {
		t.Errorf("after the pause paris says %+v, %v", row.Sites[nantes.ID], err)
	}
	if types := eventTypes(t, paris); types["resource.paused"] != 1 || types["resource.resumed"] != 1 {
		t.Errorf("events of the pause at paris: %v", types)
	}
	var refusal *engine.Refusal
	if err := nantes.Pause(t.Context(), document, paris.ID, strings.Repeat("x", 501)); !errors.As(err, &refusal) {
		t.Errorf("a reason without an end: %v", err)
	}
}

// eventTypes counts the events of a site by type.
func eventTypes(t *testing.T, s *Site) map[string]int {
	t.Helper()
	n := map[string]int{}
	for after := uint64(0); ; {
		events, err := s.Disk.Events(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			n[e.Type]++
			after = e.Seq
		}
		if len(events) == 0 {
			return n
		}
	}
}
