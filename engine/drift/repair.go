package drift

import (
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine/view"
)

// A repair that has to be repeated is contention: something else goes on changing the object. After RepairsMost repairs within
// RepairsWithin the agent stops and leaves it to a person.
const (
	RepairsMost   = 3
	RepairsWithin = 10 * time.Minute
	maxKept       = 16 // times that a site remembers
)

func contentionWords(n int) string {
	return fmt.Sprintf("it was repaired %d times within %s and changed behind the agent again: find out what changes it, then keep a site", n, RepairsWithin)
}

// Vanish takes in that the application has no object any more, though no operation deleted it: it is to be made anew, unless that has had to
// be done too often. False then, and the resource is contended.
func Vanish(v *view.View, at time.Time) bool {
	repairs := Repairs(v, at)
	if len(repairs) < RepairsMost {
		v.Me.Shown, v.Me.Repairs, v.Me.Contended = nil, append(repairs, at.UnixMicro()), ""
		v.TouchAll()
		v.Changed()
	} else if v.Me.Contended == "" {
		v.Me.Contended = fmt.Sprintf("it was made anew %d times within %s and was gone from the application again: find out what deletes it, then keep a site",
			len(repairs), RepairsWithin)
		v.Changed()
	}
	return len(repairs) < RepairsMost
}

// Keep notes that a person has had the sites corrected to this one.
func Keep(v *view.View, at time.Time) {
	v.Me.Kept = append(after(at.Add(-RepairsWithin).UnixMicro(), v.Me.Kept), at.UnixMicro())
	v.Me.Kept = v.Me.Kept[max(0, len(v.Me.Kept)-maxKept):]
	v.Changed()
}

// Repairs lists when this site has made its object anew lately, and since a person last decided what is to be kept.
func Repairs(v *view.View, now time.Time) []int64 {
	since := now.Add(-RepairsWithin).UnixMicro()
	for _, at := range Keeps(v, now) {
		since = max(since, at)
	}
	return after(since, v.Me.Repairs)
}

// Keeps lists when somebody has had the sites corrected to one of them lately.
func Keeps(v *view.View, now time.Time) []int64 {
	var all []int64
	for _, s := range v.Placement().Sites {
		all = append(all, after(now.Add(-RepairsWithin).UnixMicro(), v.At(s).Kept)...)
	}
	return all
}

func after(since int64, times []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(times), func(at int64) bool { return at <= since })
}
