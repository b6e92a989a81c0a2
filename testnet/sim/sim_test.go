package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seed   = flag.Uint64("sim.seed", 0, "play the schedule of this seed only, and tell all of it")
	first  = flag.Uint64("sim.first", 0, "the first seed; 0: 1, and by the clock with -sim.for")
	lasts  = flag.Duration("sim.for", 0, "play schedules for this long")
	most   = flag.Int("sim.sites", 5, "the most sites of a schedule")
	share  = flag.Int("sim.schedules", 5, "how many schedules are played without -sim.for")
	chatty = flag.Bool("sim.log", false, "write the sites' logs to standard error")
)

// TestRandomSchedules plays a fixed share of schedules, or as many as fit into -sim.for.
func TestRandomSchedules(t *testing.T) {
	if *seed != 0 {
		play(t, *seed, true)
		return
	}
	var schedules, failed, requests, acknowledged, unclear, decisions, restarts, superseded, contended int
	var virtual, healed time.Duration
	next := uint64(1)
	switch {
	case *first != 0:
		next = *first
	case *lasts > 0:
		next = uint64(time.Now().Unix()) * 1000
	}
	start := time.Now()
	for n := range uint64(1 << 32) {
		if *lasts == 0 && n == uint64(*share) || *lasts > 0 && time.Since(start) > *lasts {
			break
		}
		r, ok := play(t, next+n, false)
		if !ok {
			failed++
		}
		schedules++
		requests, acknowledged, unclear = requests+r.Requests, acknowledged+r.Acknowledged, unclear+r.Unclear
		decisions, restarts, superseded, contended = decisions+r.Decisions, restarts+r.Restarts, superseded+r.Superseded, contended+r.Contended
		virtual, healed = virtual+r.Virtual, max(healed, r.Healed)
	}
	t.Logf("%d schedules, %d failed, in %v; %d requests (%d acknowledged, %d without a clear answer, %d superseded), %d names contended, %d restarts, %d decisions, "+
		"%.1f virtual hours, healed within %v", schedules, failed, time.Since(start).Round(time.Second), requests, acknowledged, unclear,
		superseded, contended, restarts, decisions, virtual.Hours(), healed.Round(time.Second))
}

func play(t *testing.T, seed uint64, tell bool) (report Report, ok bool) {
	plan := NewPlan(seed, *most)
	log := slog.New(slog.DiscardHandler)
	if *chatty {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	ok = t.Run(fmt.Sprint(seed), func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			var err error
			report, err = Run(t.Context(), plan, dir, log)
			if err != nil {
				t.Errorf("the schedule could not be played: %v", err)
			}
			for _, p := range report.Problems {
				t.Error(p)
			}
			if t.Failed() {
				t.Errorf("play it again with: go test ./testnet/sim -run TestRandomSchedules -sim.sites %d -sim.seed %d", *most, seed)
			}
			if tell {
				t.Logf("%s\n%s\n%d requests in %v, healed in %v", plan, strings.Join(report.Trace, "\n"), report.Requests, report.Virtual, report.Healed)
			}
		})
	})
	return report, ok
}
