package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nothingBefore reports whether this site, which was removed, has nothing left to do before its removal: what comes after
// that in the order is not for it, and what waits for a person waits in vain.
func (v *view) nothingBefore(next Step) bool {
	if next.Kind == StepNothing || next.Kind == StepHold || len(next.Operations) == 0 { // an object that has vanished is not made anew any more
		return true
	}
	by := v.placement().Removed[v.self]
	return by == nil || Compare(next.Operations[0], by) >= 0
}

// mine reports whether a line is this site's. What a lost run of its agent has issued may build on what nobody has: others cannot take it
// in before this site says so, once the epoch of that is over (hindsight.go).
func (v *view) mine(l Line) bool { return strings.HasPrefix(string(l), string(v.self)+".") }

// onlyHere reports whether this site may be the only one that has the body of an operation which one that stays has still to settle:
// none of them has settled it with that. Whoever has keeps it until all have; whoever has passed the operation over may never have
// had it.
func (s *Site) onlyHere(v *view) bool {
	members := v.placement().Sites
	for _, o := range v.history.Living(anyOperation) {
		if o.Blob == nil || !s.cfg.Blobs.Has(*o.Blob) {
			continue
		}
		lacks := func(m SiteID) bool { return !v.settled(m, o) }
		had := func(m SiteID) bool { return v.settled(m, o) && v.outcomes[m][o.ID].State != StateSuperseded }
		if slices.ContainsFunc(members, lacks) && !slices.ContainsFunc(members, had) {
			return true
		}
	}
	return false
}

// leave has the last word of a site that was removed: its requests that have happened are published already, and what it knows of
// before its removal is applied. The object stays in its application and belongs to nobody. The caller holds r.mu and the turn.
func (s *Site) leave(ctx context.Context, r *resource, v *view) error {
	by := v.placement().Removed[s.cfg.Self]
	if by == nil {
		return fmt.Errorf("leave %s: %w: nothing has removed this site", v.about.Key, ErrNotFound)
	}
	intents, err := s.cfg.Store.Intents(ctx)
	if err != nil {
		return fmt.Errorf("leave %s: %w", v.about.Key, err)
	}
	b := &Batch{}
	for _, i := range intents { // of operations of other sites
		if i.Document == r.id {
			b.Settled = append(b.Settled, i.Operation)
		}
	}
	left := Replica{
		Made: v.replicas[s.cfg.Self].Made, Hindsight: v.replicas[s.cfg.Self].Hindsight, Settled: maps.Clone(v.replica(s.cfg.Self).Settled), At: s.cfg.Now(),
		Left: &Left{By: by.ID, Sites: v.placement().Sites},
	}
	entries := []Entry{v.replicaAs(left)}
	for _, id := range slices.Sorted(maps.Keys(v.outcomes[s.cfg.Self])) { // they were of the replica that is no more
		entries = append(entries, s.outcomeEntry(&Operation{ID: id}, Outcome{State: StateLeft}))
	}
	if err := s.write(ctx, r, entries, b); err != nil {
		return fmt.Errorf("leave %s: %w", v.about.Key, err)
	}
	for _, id := range b.Settled {
		s.opened.Delete(id)
	}
	s.leftOver.Delete(r.id)
	return nil
}
