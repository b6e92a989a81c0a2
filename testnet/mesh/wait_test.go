package mesh

import (
	"context"
	"time"
)

// waiter is a test, of package testing or of rapid.
type waiter interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// until reconciles until check returns an empty string, which says what is missing otherwise.
func until(t waiter, m *Mesh, check func() string) {
	t.Helper()
	within(t, m, 20*time.Second, check)
}

// within is until with a bound of its own.
func within(t waiter, m *Mesh, most time.Duration, check func() string) {
	t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(2 * time.Millisecond) {
		if err := m.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		missing := check()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(missing)
		}
	}
}
