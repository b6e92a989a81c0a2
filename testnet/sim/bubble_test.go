package sim

import (
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs f in virtual time. With the race detector one processor does it: two that run timers of one bubble at the same moment
// share what the detector knows of them, as of Go 1.26, and it ends the process ("ThreadSanitizer: CHECK failed").
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if raceDetector {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, f)
}

// gathered runs f in virtual time with so many sites, which have lab, and no plan of what happens.
func gathered(t *testing.T, sites int, f func(*testing.T, *run)) {
	t.Helper()
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		p := Plan{Seed: 1, Sites: sites, Skews: make([]time.Duration, sites), Things: []Thing{{Tag: "t0", Kind: "image", Location: "*"}}}
		r, err := newRun(p, dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.end(); err != nil {
				t.Error(err)
			}
		}()
		if err := r.gather(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t, r)
	})
}
