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

// patience bounds what would never come; a loaded machine may be slow.
const patience = 2 * time.Minute

// until reconciles until check returns an empty string, which says what is missing otherwise.
func until(t waiter, m *Mesh, check func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
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
