package mesh

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// converged returns, of each operation, how often the site has told that every site has settled it.
func converged(t *testing.T, s *Site) map[string]int {
	t.Helper()
	events, err := s.Disk.Events(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range events {
		if e.Type == "operation.converged" {
			n[e.Subject]++
		}
	}
	return n
}

// TestAnOperationIsToldConvergedOnceEverySiteHasSettledIt: no site tells it while one of the placement is cut off, every site tells it once
// when that one is back, and neither restarts nor later operations tell it again.
func TestAnOperationIsToldConvergedOnceEverySiteHasSettledIt(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n","size":1}`, paris, nantes, toulouse))
	converge(t, m, paris, nantes, toulouse)
	m.Cut(toulouse, true)
	changed := must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"size":2}`))
	await(t, m, paris, changed.Operation, engine.StateApplied)
	await(t, m, nantes, changed.Operation, engine.StateApplied, paris)
	for _, s := range []*Site{paris, nantes} {
		if n := converged(t, s); n[string(changed.Operation)] != 0 || n[string(a.Operation)] != 1 {
			t.Errorf("%s has told before toulouse had heard of it: %v", s.Name, n)
		}
	}
	m.Cut(toulouse, false)
	converge(t, m, paris, nantes, toulouse)
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	later := must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"size":3}`))
	converge(t, m, paris, nantes, toulouse)
	for _, s := range m.Sites {
		n := converged(t, s)
		for _, o := range []engine.OperationID{a.Operation, changed.Operation, later.Operation} {
			if n[string(o)] != 1 {
				t.Errorf("%s has told %d times that %s is converged, want once", s.Name, n[string(o)], o)
			}
		}
	}
}
