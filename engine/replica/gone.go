package replica

import (
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// A repair that has to be repeated is contention: something else goes on changing the object. After repairsMost repairs within
// repairsWithin the agent stops and leaves it to a person.
const (
	repairsMost   = 3
	repairsWithin = 10 * time.Minute
	maxKept       = 16 // times that a site remembers
)

func contentionWords(n int) string {
	return fmt.Sprintf("it was repaired %d times within %s and changed behind the agent again: find out what changes it, then keep a site", n, repairsWithin)
}

// vanished takes in that the application has no object of the resource any more, though no operation deleted it. It is made anew
// from the fold by what is done next, unless that has had to be done too often: false then, and the resource is contended.
func (r *Replica) vanished(local engine.LocalID) bool {
	if r.Mine.Local != local {
		return true
	}
	now := r.env.Now()
	repairs := r.repairsHere(now)
	if len(repairs) >= repairsMost {
		if r.Me.Contended == "" {
			r.Me.Contended = fmt.Sprintf("it was made anew %d times within %s and was gone from the application again: find out what deletes it, then keep a site",
				len(repairs), repairsWithin)
			r.Changed()
		}
		return false
	}
	r.note("an object is gone from the application, though no operation deleted it", nil)
	r.setLocal("")
	r.Me.Shown, r.Me.Repairs, r.Me.Contended = nil, append(repairs, now.UnixMicro()), ""
	if r.sent.open() && r.sent.Operation.Type == engine.TypePatch { // one that may have run on it is not there any more
		r.land()
	}
	r.TouchAll()
	r.Changed()
	return true
}

// repairsHere lists when this site has made its object anew lately, and since a person last decided what is to be kept.
func (r *Replica) repairsHere(now time.Time) []int64 {
	since := now.Add(-repairsWithin).UnixMicro()
	for _, at := range r.keeps(now) {
		since = max(since, at)
	}
	return after(since, r.Me.Repairs)
}

// keeps lists when somebody has had the sites corrected to one of them lately.
func (r *Replica) keeps(now time.Time) []int64 {
	var all []int64
	for _, s := range r.Placement().Sites {
		all = append(all, after(now.Add(-repairsWithin).UnixMicro(), r.At(s).Kept)...)
	}
	return all
}

func after(since int64, times []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(times), func(at int64) bool { return at <= since })
}

// bringBack has an object made anew that two looks have not found. It looks once more first, while no other request is under way.
type bringBack struct{}

func (t *bringBack) begin(r *Replica) bool { return r.call(r.readCall(r.Mine.Local)) }

func (t *bringBack) answer(r *Replica, in *Answered) bool {
	if in.Err == nil && in.Reply.Gone() { // else the next look tells
		r.vanished(r.Mine.Local)
	}
	return true
}
