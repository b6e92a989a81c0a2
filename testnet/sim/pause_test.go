package sim

import (
	"log/slog"
	"testing"
	"time"
)

// TestWhatIsInFlightIsTakenNowhereElse: an action had no certain answer where it was handed to, and the replica there is paused before
// it is handed over again. It runs nowhere else then.
func TestWhatIsInFlightIsTakenNowhereElse(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		apart := [][2]int{{1, 2}, {2, 1}}
		r, err := Run(t.Context(), Plan{
			Seed: 1, Sites: 3, Skews: make([]time.Duration, 3), Lasts: 30 * time.Second,
			Resources: []Resource{{Tag: "r0", Kind: label, Placement: []int{0, 2}}},
			Steps: []Step{
				{At: time.Second, Kind: StepCreate, Scoped: true, Field: "a"},
				{At: 5 * time.Second, Kind: StepCut, Links: apart},
				{At: 12 * time.Second, Kind: StepMood, Mood: Mood{DoesSilent: 1}},
				{At: 13 * time.Second, Kind: StepStart, Site: 1, Scoped: true},
				{At: 13*time.Second + 300*time.Millisecond, Kind: StepPause},
				{At: 14 * time.Second, Kind: StepJoin, Links: apart},
			},
		}, dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Problems {
			t.Error(p)
		}
		if r.Unclear != 1 || r.Decisions != 1 {
			t.Errorf("%d requests had no clear answer, and an operator decided %d times: %q", r.Unclear, r.Decisions, r.Trace)
		}
	})
}
