package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// maxTrace is how many decisions are remembered of each site: the newest.
const maxTrace = 32

// Decisions are what people have decided about a resource.
type Decisions struct {
	// last is of each site the last about a conflict: whether it may differ.
	last map[engine.ConflictID]map[engine.SiteID]engine.Decision
	// trace has what each site has carried out, oldest first.
	trace map[engine.SiteID][]engine.Decision
}

// take takes in what somebody has decided, in whichever order it comes.
func (all *Decisions) take(d engine.Decision) {
	if d.Action == engine.ActionDismiss || d.Action == engine.ActionReopen {
		all.takeLast(d)
	}
	if all.trace == nil {
		all.trace = map[engine.SiteID][]engine.Decision{}
	}
	list := all.trace[d.By]
	if i, found := slices.BinarySearchFunc(list, d, inOrder); !found {
		list = slices.Insert(list, i, d)
	}
	all.trace[d.By] = list[max(len(list)-maxTrace, 0):]
}

func (all *Decisions) takeLast(d engine.Decision) {
	if all.last == nil {
		all.last = map[engine.ConflictID]map[engine.SiteID]engine.Decision{}
	}
	by := all.last[d.Conflict]
	if by == nil {
		by = map[engine.SiteID]engine.Decision{}
		all.last[d.Conflict] = by
	}
	if old, ok := by[d.By]; !ok || inOrder(old, d) < 0 {
		by[d.By] = d
	}
}

// inOrder compares two decisions: by time, and then by all else, so that no two are equal that are not the same.
func inOrder(a, b engine.Decision) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.For, b.For), cmp.Compare(a.By, b.By), cmp.Compare(a.Conflict, b.Conflict), cmp.Compare(a.Action, b.Action),
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.User, b.User), cmp.Compare(a.About, b.About), cmp.Compare(a.Said, b.Said))
}

// Accepted returns who has accepted a conflict as it has been since then, or since whenever where that is zero; nil for nobody, or where it was
// taken back.
func (all *Decisions) Accepted(id engine.ConflictID, since int64) (last *engine.Decision) {
	for _, d := range all.last[id] {
		if (since == 0 || d.For == since) && (last == nil || inOrder(*last, d) < 0) {
			last = &d
		}
	}
	if last == nil || last.Action != engine.ActionDismiss {
		return nil
	}
	return last
}

// Last is when a conflict was accepted last, or that was taken back; 0: never.
func (all *Decisions) Last(id engine.ConflictID) (at int64) {
	for _, d := range all.last[id] {
		at = max(at, d.At)
	}
	return at
}

// Made returns what people have decided, oldest first, of each site the last few.
func (all *Decisions) Made() []engine.Decision {
	return slices.SortedFunc(maps.Keys(all.set(false)), inOrder)
}

// list returns all that is known, in one order.
func (all *Decisions) list() []engine.Decision {
	return slices.SortedFunc(maps.Keys(all.set(true)), inOrder)
}

func (all *Decisions) set(last bool) map[engine.Decision]bool {
	set := map[engine.Decision]bool{}
	for _, list := range all.trace {
		for _, d := range list {
			set[d] = true
		}
	}
	if last {
		for _, by := range all.last {
			for _, d := range by {
				set[d] = true
			}
		}
	}
	return set
}
