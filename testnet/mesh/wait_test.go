package mesh

import (
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// open makes a mesh. When the test ends, nothing may have gone wrong in it that never may, but what the test has taken note of.
func open(t testing.TB, kind *engine.Kind, n int, more ...*engine.Kind) *Mesh {
	t.Helper()
	m, err := Open(kind, n, more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		for _, p := range m.Problems {
			t.Error(p)
		}
	})
	return m
}

// waiter is a test, of package testing or of rapid.
type waiter interface {
	Helper()
	Fatal(args ...any)
}

// until reconciles, with some time between, until check returns an empty string, which says what is missing otherwise.
func until(t waiter, m *Mesh, check func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; m.Pass(10 * time.Millisecond) {
		m.Reconcile()
		missing := check()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(missing)
		}
	}
}

// arrives waits until the application has something that it holds.
func arrives(t testing.TB, m *Mesh, arrived func() int) {
	t.Helper()
	for deadline := time.Now().Add(patience); arrived() == 0; m.Pass(10 * time.Millisecond) {
		if m.work(); time.Now().After(deadline) {
			t.Fatal("nothing arrives")
		}
	}
}

// sameObjects checks that two applications hold the same objects.
func sameObjects(t *testing.T, want, got []string) {
	t.Helper()
	w, g := slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))
	if !slices.Equal(w, g) {
		t.Errorf("the application holds %v, want %v", g, w)
	}
}
