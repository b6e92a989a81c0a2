package engine

import (
	"context"
	"net/http"
	"slices"
)

// stepEntries is what this site publishes when a step is done that settles ops. The caller holds the resource's lock.
func (s *Site) stepEntries(v *view, local LocalID, step Step, ops []*Operation, reply Reply) []Entry {
	entries := append(s.leftovers(step), s.stepReplica(v, local, step, ops))
	applied := slices.DeleteFunc(slices.Clone(ops), func(o *Operation) bool { return slices.Contains(step.Voided, o) })
	return append(entries, s.appliedAfterAll(v, applied, reply)...)
}

// appliedAfterAll is what this site publishes of operations that are applied now and for which it had told something else.
func (s *Site) appliedAfterAll(v *view, ops []*Operation, reply Reply) []Entry {
	var entries []Entry
	for _, o := range ops {
		if _, told := v.outcomes[s.cfg.Self][o.ID]; told {
			entries = append(entries, s.outcomeEntry(o, Outcome{State: StateApplied, Status: reply.Status}))
		}
	}
	return entries
}

// stepReplica is this site's entry about its replica when a step is done, or given up, that settles ops.
func (s *Site) stepReplica(v *view, local LocalID, step Step, ops []*Operation) Entry {
	replica := v.withSettled(local, s.cfg.Now(), ops...)
	if len(step.Facts) > 0 {
		replica.Observed = nil // it was of another state
	}
	replica.Facts = append(slices.Clip(replica.Facts), step.Facts...)
	if step.Kind == StepMake {
		replica.Made++
		replica.Observed = nil
	}
	return v.replicaAs(replica)
}

// leftovers is what this site publishes of operations that a step does not settle but concerns: they are to be applied once
// more, or have turned out to be void.
func (s *Site) leftovers(step Step) []Entry {
	var entries []Entry
	for _, o := range step.Again {
		// What an action sets is set on the new object; it is not run again.
		entries = append(entries, s.outcomeEntry(o, Outcome{State: StatePending, Again: true, Ran: o.Type == TypeAction}))
	}
	for _, o := range step.Voided {
		entries = append(entries, s.outcomeEntry(o, Outcome{State: StateSuperseded}))
	}
	return entries
}

// publishFacts tells all sites which operations the application does not take together, after it has refused a correction. It
// reports whether there is something to try now that is not known yet. The caller holds the turn.
func (s *Site) publishFacts(ctx context.Context, r *resource, step Step, reply Reply) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	var entries []Entry
	for _, f := range v.history.disputed(s.standing(v), step.Operations) {
		out := Outcome{State: StateRejected, Status: reply.Status, At: s.cfg.Now(), Error: tell(reply, nil)}
		entries = append(entries, Entry{
			Map: MapOutcomes, Key: outcomeKey(s.cfg.Self, f.Earlier) + "/" + string(f.Later), Value: compactStruct(out)})
	}
	if len(entries) == 0 {
		return false, nil
	}
	s.cfg.Log.Warn("the application refuses what concurrent operations amount to: the later one counts whole from now on",
		"resource", string(v.about.Key), "operation", string(step.Operations[0].ID), "status", reply.Status)
	return true, s.write(ctx, r, entries, &Batch{})
}

// statusGone reports whether an answer says that there is no such object.
func statusGone(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }
