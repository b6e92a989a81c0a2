package view

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// Decisions are what people have accepted: of each site the last about a conflict.
type Decisions map[engine.ConflictID]map[engine.SiteID]engine.Decision

// take takes in what somebody has decided, in whichever order it comes.
func (all Decisions) take(d engine.Decision) {
	by := all[d.Conflict]
	if by == nil {
		by = map[engine.SiteID]engine.Decision{}
		all[d.Conflict] = by
	}
	if old, ok := by[d.By]; !ok || d.At > old.At || d.At == old.At && d.For > old.For {
		by[d.By] = d
	}
}

// Accepted returns who has accepted a conflict as it has been since then, or since whenever where that is zero; nil for nobody.
func (all Decisions) Accepted(id engine.ConflictID, since int64) *engine.Decision {
	for _, by := range slices.Sorted(maps.Keys(all[id])) {
		if d := all[id][by]; since == 0 || d.For == since {
			return &d
		}
	}
	return nil
}

// list returns all of them, in one order.
func (all Decisions) list() (list []engine.Decision) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		for _, by := range slices.Sorted(maps.Keys(all[id])) {
			list = append(list, all[id][by])
		}
	}
	return list
}
