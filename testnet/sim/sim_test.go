package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seed   = flag.Uint64("sim.seed", 0, "play the schedule of this seed only, and tell all of it")
	first  = flag.Uint64("sim.first", 0, "the first seed; 0: always the same, and by the clock with -sim.for")
	lasts  = flag.Duration("sim.for", 0, "play schedules for this long")
	most   = flag.Int("sim.sites", 5, "the most sites of a schedule")
	share  = flag.Int("sim.schedules", 4, "how many schedules are played without -sim.for, and half as many collaborations")
	chatty = flag.Bool("sim.log", false, "write the sites' logs to standard error")
)

// TestRandomSchedules plays a fixed share of schedules, or as many as fit into -sim.for.
func TestRandomSchedules(t *testing.T) { schedules(t, NewPlan, 1, *share) }

// TestRandomCollaborations does with plans of things.
func TestRandomCollaborations(t *testing.T) { schedules(t, NewPlanOfThings, 11, *share/2) }

func schedules(t *testing.T, draw func(uint64, int) Plan, next uint64, share int) {
	if *seed != 0 {
		play(t, draw(*seed, *most), true)
		return
	}
	var schedules, failed, sites, operations, requests, acknowledged, unclear, decisions, restarts, deaths, superseded, contended, epochs int
	var virtual, healed time.Duration
	mixed := map[string]int{}
	switch {
	case *first != 0:
		next = *first
	case *lasts > 0:
		next = uint64(time.Now().Unix()) * 1000
	}
	start := time.Now()
	for n := range uint64(1 << 32) {
		if *lasts == 0 && n == uint64(share) || *lasts > 0 && time.Since(start) > *lasts {
			break
		}
		plan := draw(next+n, *most)
		for what, times := range plan.Mixed() {
			mixed[what] += times
		}
		r, ok := play(t, plan, false)
		if !ok {
			failed++
		}
		schedules++
		sites, operations, epochs, deaths = max(sites, r.Sites), operations+r.Operations, epochs+r.Epochs, deaths+r.Deaths
		requests, acknowledged, unclear = requests+r.Requests, acknowledged+r.Acknowledged, unclear+r.Unclear
		decisions, restarts, superseded, contended = decisions+r.Decisions, restarts+r.Restarts, superseded+r.Superseded, contended+r.Contended
		virtual, healed = virtual+r.Virtual, max(healed, r.Healed)
	}
	t.Logf("%d schedules of up to %d sites in %v: %d failed; %d operations of %d requests (%d acknowledged, %d without a clear answer, "+
		"%d superseded), %d epochs, %d names contended, %d restarts, %d of them after deaths, %d decisions, %.1f virtual hours, healed within %v%s",
		schedules, sites, time.Since(start).Round(time.Second), failed, operations, requests, acknowledged, unclear,
		superseded, epochs, contended, restarts, deaths, decisions, virtual.Hours(), healed.Round(time.Second),
		told(mixed))
}

// told lists what was mixed.
func told(mixed map[string]int) string {
	text := ""
	for _, what := range slices.Sorted(maps.Keys(mixed)) {
		text += fmt.Sprintf("; %d %s", mixed[what], what)
	}
	return text
}

func play(t *testing.T, plan Plan, tell bool) (report Report, ok bool) {
	name := t.Name()
	log := slog.New(slog.DiscardHandler)
	if *chatty {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	ok = t.Run(fmt.Sprint(plan.Seed), func(t *testing.T) {
		dir := t.TempDir()
		bubble(t, func(t *testing.T) {
			var err error
			report, err = Run(t.Context(), plan, dir, log)
			if err != nil {
				t.Errorf("the schedule could not be played: %v", err)
			}
			for _, p := range report.Problems {
				t.Error(p)
			}
			if t.Failed() {
				t.Errorf("play it again with: go test ./testnet/sim -run %s -sim.sites %d -sim.seed %d", name, *most, plan.Seed)
			}
			if tell {
				t.Logf("%s\n%s\n%d requests in %v, healed in %v", plan, strings.Join(report.Trace, "\n"), report.Requests, report.Virtual, report.Healed)
			}
		})
	})
	return report, ok
}
