package api

import (
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestTheSentenceTellsOfWhatNobodyKnows: also while something else is to be told.
func TestTheSentenceTellsOfWhatNobodyKnows(t *testing.T) {
	type counts = map[engine.State]int
	for _, c := range []struct {
		living                int
		resources, operations counts
		want                  string
	}{
		{0, counts{}, nil, "Nothing is shared between sites yet."},
		{2, counts{engine.StateConverged: 2}, nil, "All 2 resources are converged."},
		{6, counts{engine.StateUnknown: 6}, nil, "6 resources are unknown, of 6: not every site that has them has answered since."},
		{6, counts{engine.StateConverging: 2, engine.StateUnknown: 4}, nil,
			"Converging: 2 resources are under way, of 6. 4 more are unknown: not every site that has them has answered since."},
		{6, counts{engine.StateDegraded: 1, engine.StateUnknown: 1}, nil,
			"1 resource needs attention, of 6. 1 more is unknown: not every site that has them has answered since."},
		{6, counts{engine.StateUnknown: 6}, counts{engine.StateUncertain: 1},
			"1 operation waits for someone to settle. 6 more are unknown: not every site that has them has answered since."},
	} {
		if got := sentence(c.living, c.resources, c.operations); got != c.want {
			t.Errorf("%v %v: %q, want %q", c.resources, c.operations, got, c.want)
		}
	}
}
