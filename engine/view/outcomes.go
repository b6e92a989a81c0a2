package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// newestOutcomes returns those n of some outcomes that came last.
func newestOutcomes(all map[engine.OperationID]engine.Outcome, n int) map[engine.OperationID]engine.Outcome {
	ids := slices.SortedFunc(maps.Keys(all), func(a, b engine.OperationID) int {
		return cmp.Or(cmp.Compare(all[b].At, all[a].At), cmp.Compare(a, b))
	})
	newest := make(map[engine.OperationID]engine.Outcome, n)
	for _, id := range ids[:min(n, len(ids))] {
		newest[id] = all[id]
	}
	return newest
}
