package engine

import (
	"maps"
	"slices"
)

// members are the sites whose operations count and who have to settle those of others. One that was removed may still have
// something to say.
func (v *view) members() []SiteID { return v.correspondents() }

// stable is what every member has settled, as a vector. An operation that is not known here comes after all of it: whoever
// has a member's entry has everything that this member had issued or settled when it wrote the entry, which is checked. What it
// writes in an epoch, also its last word, can be here before what it has written in the one before: operations and facts. Nil when too
// little is known.
func (v *view) stable() map[Line]uint64 {
	for site := range v.replicas {
		if v.lacks(site) {
			return nil
		}
	}
	stable := v.history.complete()
	for _, s := range v.members() {
		r := v.replica(s)
		if r.Settled == nil {
			return nil
		}
		for name, n := range r.Settled {
			if !name.over(v.current().number) && v.history.Last(name) < n {
				return nil
			}
		}
		for name, n := range stable {
			if !name.over(r.epoch) {
				stable[name] = min(n, r.Settled[name])
			}
		}
	}
	return stable
}

// compact puts a checkpoint in the place of what every site has settled, once an eighth of most operations have come since the
// last one. Nothing may be left to do for any of them. What a site has refused stays as it is, and what follows it, so that a
// person can have it tried again; when there are more than most operations, only a note of it stays.
func (v *view) compact(most int) {
	if v.history.Len() < max(1, most/8) {
		return
	}
	stable := v.stable()
	if stable == nil {
		return
	}
	tried := maps.Clone(stable)
	refused := v.refusals()
	hold := func(limit map[Line]uint64, o *Operation) {
		if name := o.Line(); o.Seq <= limit[name] {
			limit[name] = o.Seq - 1
		}
	}
	undone := v.undone()
	for _, o := range v.history.ordered {
		if refused(o) {
			hold(tried, o)
		}
		if v.unfinished(o) || undone(o) {
			hold(tried, o)
			hold(stable, o)
		}
	}
	for _, f := range v.history.sortedFacts() { // until all sites show what follows from it; the earlier may be in a checkpoint already
		if v.history.counts(f) && slices.ContainsFunc(v.members(), func(s SiteID) bool { return !slices.Contains(v.replica(s).Facts, f) }) {
			for _, o := range []*Operation{v.history.Get(f.Earlier), v.history.Get(f.Later)} {
				hold(tried, o)
				hold(stable, o)
			}
		}
	}
	bodies := v.bodies()
	if v.history.Compact(tried, refused); v.history.Len() > most {
		v.history.Compact(stable, refused)
	}
	for _, o := range bodies { // one that was refused cannot be tried again any more
		if v.history.base.has(o) {
			v.bodiless = append(v.bodiless, o.ID)
		}
	}
	for id := range v.attempts {
		if v.history.Get(id) == nil {
			delete(v.attempts, id)
		}
	}
}

// undone tells of what this site has settled what its application has still to be brought to: it was passed over and counts after all, or
// is a delete that something has taken away. The application of a site that has left is brought to nothing any more.
func (v *view) undone() func(*Operation) bool {
	if v.part(v.self) == partFormer {
		return func(*Operation) bool { return false }
	}
	st := v.standing()
	counting, _ := v.history.effective(everything)
	missed, reversed := v.history.missed(st, counting, v.history.takes(st)), among(v.history.reversedHere(st))
	return func(o *Operation) bool { return reversed(o) || missed(o) }
}

// bodies lists the operations with a large body that no checkpoint stands for.
func (v *view) bodies() []*Operation {
	if !v.large {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.history.ordered), func(o *Operation) bool { return o.Blob == nil || v.history.base.has(o) })
}

// unfinished reports whether an operation that is settled is to be applied once more at some site. Where a checkpoint stands for it and its
// epoch is over at that site, one may stand for it here: the site may have gone on since to where this one can follow only then.
func (v *view) unfinished(o *Operation) bool {
	return slices.ContainsFunc(v.members(), func(s SiteID) bool {
		r := v.replicas[s]
		return v.outcomes[s][o.ID].Again && !(r.Over && o.Epoch < r.epoch)
	})
}

// refusals tells which operations a site has not applied, or is to apply once more.
func (v *view) refusals() func(*Operation) bool {
	refused := map[OperationID]bool{}
	for _, at := range v.outcomes {
		for id, out := range at {
			if out.State == StateRejected || out.State == StateUncertain || out.Again {
				refused[id] = true
			}
		}
	}
	return func(o *Operation) bool { return refused[o.ID] }
}

// compacted reports how many operations a site has settled that are not here any more.
func (v *view) compacted(s SiteID) int {
	base := v.history.base
	if base == nil || !v.replica(s).hasAll(base.Seen) {
		return 0
	}
	return base.Count
}

// defaultMergeType is the registered media type of JSON merge patches.
const defaultMergeType = "application/merge-patch+json"

// mergeType is the media type that clients of this resource send merge patches with, because not every application takes the
// registered one.
func (v *view) mergeType() string {
	if base := v.history.base; base != nil && base.MergeType != "" {
		return base.MergeType
	}
	i := slices.IndexFunc(v.history.ordered, func(o *Operation) bool { return o.Type == TypeMerge && o.Header["Content-Type"] != "" })
	if i < 0 {
		return defaultMergeType
	}
	return v.history.ordered[i].Header["Content-Type"]
}
