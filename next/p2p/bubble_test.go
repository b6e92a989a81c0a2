package p2p

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// bubble runs f in virtual time. One processor does it: two that run timers of one bubble at the same moment share what the race
// detector knows of them, as of Go 1.26, and it ends the process ("ThreadSanitizer: CHECK failed").
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, f)
}
