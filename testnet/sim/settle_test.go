package sim

import (
	"log/slog"
	"testing"
	"time"
)

// TestWhatHadNoAnswerIsSettledAfterADeath: an agent that dies between the try that had no answer and the next settles the request
// when it is there again, also when nobody asks for anything.
func TestWhatHadNoAnswerIsSettledAfterADeath(t *testing.T) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		r, err := Run(t.Context(), Plan{
			Seed: 1, Sites: 2, Skews: make([]time.Duration, 2), Lasts: 10 * time.Second,
			Resources: []Resource{{Tag: "r0", Kind: image, Placement: []int{0, 1}}},
			Steps: []Step{
				{At: time.Second, Kind: StepCreate, Scoped: true, Field: "a"},
				{At: 5 * time.Second, Kind: StepMood, Mood: Mood{DoesSilent: 1}},
				{At: 6 * time.Second, Kind: StepPatch, Scoped: true, Field: "a"},
				{At: 6*time.Second + 200*time.Millisecond, Kind: StepKill, Down: time.Second},
			},
		}, dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Problems {
			t.Error(p)
		}
		if r.Unclear != 1 || r.Deaths != 1 {
			t.Errorf("%d requests had no clear answer, and %d agents died: %q", r.Unclear, r.Deaths, r.Trace)
		}
	})
}
