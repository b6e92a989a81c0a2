package engine

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
)

// gap lists, in order, what a lost run had settled and this one has not.
func (v *view) gap(had map[Line]uint64) []*Operation {
	mine := v.replicas[v.self]
	lost := Progress{mine.Lost.Epoch, had}
	return slices.DeleteFunc(slices.Clone(v.history.ordered), func(o *Operation) bool { return mine.settled(o) || !lost.settled(o) })
}

// recheck finds out which of what the lost run did the application shows, and brings it to the rest: values are read and
// corrected, the object is looked for, and actions become uncertain, for nobody can see whether they ran. It reports whether it
// is to be tried again later. The caller holds the turn.
func (s *Site) recheck(ctx context.Context, r *resource) (again bool, err error) {
	unlock := r.lock()
	defer unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return false, err
	}
	if err := s.countAfter(ctx, r); err != nil {
		return false, err
	}
	mine, kind := v.replicas[s.cfg.Self], v.kind
	admitted, err := s.enter(ctx, r)
	unlock()
	if !admitted || err != nil {
		return true, err
	}
	lost, had, again, err := s.likeliest(ctx, r, kind, mine)
	if again || err != nil {
		return again, err
	}
	unlock = r.lock()
	defer unlock()
	if v, err = s.open(ctx, r); err != nil {
		return false, err
	}
	gap, over := v.gap(had), !v.exists()
	folded := over && !v.history.exists(func(o *Operation) bool { return v.history.base.has(o) || mine.settled(o) })
	made, standing := v.history.made(gap), s.standing(v)
	unlock()
	if err := s.openInBackup(ctx, r, kind, gap, cmp.Or(lost, mine.Local) != ""); err != nil {
		return true, err
	}
	if lost != "" && mine.Local != "" && lost != mine.Local {
		if ends, again, err := s.besideLost(ctx, r, kind, lost, mine.Local); ends || again || err != nil {
			return again, err
		}
	}
	switch {
	case folded && (len(gap) == 0 || lost == "") && cmp.Or(mine.Local, lost) != "": // a checkpoint stands for its deletion
		return s.deleteAgain(ctx, r, kind, cmp.Or(mine.Local, lost))
	case len(gap) == 0 && mine.Local == "" && lost != "" && !kind.Natural():
		return s.takeOver(ctx, r, kind, lost)
	case len(gap) == 0:
		return false, s.endRecheck(ctx, r, cmp.Or(mine.Local, lost), nil)
	case lost == "" && mine.Local == "" && slices.ContainsFunc(gap, standing.doubtful): // what it has made is found by what is done next
		return false, s.endRecheck(ctx, r, "", nil)
	case lost == "" && mine.Local == "": // neither had an object: nothing can be there
		return false, s.endRecheck(ctx, r, "", gap)
	case lost == "":
		return false, s.deletesAgain(ctx, r, mine.Local, gap, nil)
	}
	shown, err := s.read(ctx, kind, lost)
	switch {
	case isGone(shown, err): // the application was restored as well, to a time before the object: nothing of the gap is in it
		return false, s.endRecheck(ctx, r, mine.Local, nil)
	case err != nil || shown.Status != http.StatusOK:
		return true, s.later(ctx, r, gap[0], shown, err, s.heard(ctx, kind.Service, r.id, shown, err, false))
	}
	if waits, err := s.handedOver(ctx, r, kind, lost, gap[0]); waits || err != nil {
		return true, err
	}
	ours, taken, err := s.isOurs(ctx, r, kind, lost, shown)
	if err == nil && !ours && !taken && mine.Local == "" {
		err = s.doubtMade(ctx, r, kind, lost, mine.Made, shown, gap)
	}
	switch {
	case err != nil:
		return false, err
	case !ours:
		return false, s.endRecheck(ctx, r, mine.Local, nil)
	case over && slices.ContainsFunc(gap, func(o *Operation) bool { return o.Type == TypeDelete }): // one lost run had deleted it, another had it again
		return false, s.deletesAgain(ctx, r, lost, gap, made)
	}
	sent, values, err := s.doubts(ctx, r, lost, gap)
	if err == nil && !values.Empty() {
		again, err = s.correct(ctx, r, kind, Step{Kind: StepCorrect, Operations: sent, Correction: values}, lost)
	}
	if again || err != nil {
		return again, err
	}
	return false, s.endRecheck(ctx, r, lost, gap)
}

// takeOver takes the object that a lost run had for the replica, on its word, unless the application has it no more, or another resource has its
// identifier by now: one that was restored assigns the same ones again. It reports whether it is to be tried again later. The caller holds
// the turn.
func (s *Site) takeOver(ctx context.Context, r *resource, k *Kind, local LocalID) (again bool, err error) {
	shown, err := s.read(ctx, k, local)
	switch {
	case isGone(shown, err):
		return false, s.endRecheck(ctx, r, "", nil)
	case err != nil || shown.Status != http.StatusOK:
		s.heard(ctx, k.Service, r.id, shown, err, false)
		return true, nil
	}
	taken, err := s.isTaken(ctx, r, k, local)
	if err != nil {
		return true, err
	}
	if taken {
		local = ""
	}
	return false, s.endRecheck(ctx, r, local, nil)
}

// deletesAgain leaves a deletion that a lost run had run to be sent again for the object local, which made have made. It has been let
// pass before.
func (s *Site) deletesAgain(ctx context.Context, r *resource, local LocalID, gap, made []*Operation) error {
	for _, o := range gap {
		s.deletions.heard(o, 0, s.cfg.Now())
	}
	return s.endRecheck(ctx, r, local, made)
}

// made returns the creates among a gap that its first delete has ended, with what they have seen.
func (h *History) made(gap []*Operation) []*Operation {
	i := slices.IndexFunc(gap, func(o *Operation) bool { return o.Type == TypeDelete })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(gap[:i]), func(o *Operation) bool {
		return !slices.ContainsFunc(gap[:i], func(c *Operation) bool {
			return c.Type == TypeCreate && h.discards(gap[i], c) && (c == o || h.Before(o, c))
		})
	})
}

// deleteAgain deletes the object that this site had in a backup of before its deletion, for which a checkpoint stands, if the
// application was restored as well. It reports whether it is to be tried again later. The caller holds the turn.
func (s *Site) deleteAgain(ctx context.Context, r *resource, k *Kind, local LocalID) (again bool, err error) {
	o := &Operation{ID: OperationID(s.cfg.NewID()), Type: TypeDelete, Method: http.MethodDelete, Path: k.Item}
	if taken, err := s.isTaken(ctx, r, k, local); err != nil {
		return true, err
	} else if taken {
		return false, s.endRecheck(ctx, r, "", nil)
	}
	defer r.crossing()()
	reply, err := s.call(ctx, k, o, local, nil, "")
	ctx = context.WithoutCancel(ctx)
	alone := s.heard(ctx, k.Service, r.id, reply, err, true)
	if judge(TypeDelete, reply, err) != verdictDone {
		return true, s.later(ctx, r, o, reply, err, alone)
	}
	return false, s.endRecheck(ctx, r, "", nil)
}

// doubts publishes what of the gap a person has to decide about, or is to be sent again though it may have run. It returns the
// operations whose values can be seen and set again, and these values, without what the gap has ended.
func (s *Site) doubts(ctx context.Context, r *resource, local LocalID, gap []*Operation) ([]*Operation, *Change, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	done, before := among(gap), v.history.fold(pick{in: func(o *Operation) bool { return v.settled(v.self, o) }})
	settled := func(o *Operation) bool { return v.settled(v.self, o) || done(o) }
	fold, lives := v.history.fold(pick{in: settled}), among(v.history.Living(settled))
	var entries []Entry
	var sent []*Operation
	for _, o := range gap {
		// The application of a run that has done it anew, and is lost, too, may have been set back with it.
		told := v.told(o) && v.outcomes[v.self][o.ID].State != StateApplied
		switch {
		case !lives(o) || told || o.Type == TypeAction && v.history.again(o, v.settledAt(v.self)): // void, or it is said elsewhere what became of it
		case o.Type == TypeAction && !v.history.base.keepsValues(o), o.Type == TypeAbsolute && fold.Absolute[o.Path] == o:
			entries = append(entries, s.outcomeEntry(o, doubted(v.kind, o)))
		default:
			sent = append(sent, o)
		}
	}
	if len(entries) > 0 {
		err = s.write(ctx, r, append(entries, s.replicaEntry(v, local)), &Batch{})
	}
	touched := v.history.touching(sent, settled)
	for _, o := range v.history.Living(func(o *Operation) bool { return v.settled(v.self, o) }) {
		if !lives(o) { // a delete of the gap has ended it, and another create is there
			touched = append(touched[:len(touched):len(touched)], o)
		}
	}
	if len(sent) == 0 && len(touched) > 0 {
		sent = slices.DeleteFunc(slices.Clone(gap), func(o *Operation) bool { return o.Type != TypeDelete })
	}
	if len(sent) == 0 {
		return nil, nil, err
	}
	return sent, fold.restoring(touched, before), err
}

// told reports whether it is said what has become of an operation here: not where it only waits for that, or for a person.
func (v *view) told(o *Operation) bool {
	out, told := v.outcomes[v.self][o.ID]
	return told && (out.Again || !out.Blocks && out.State != StatePending)
}

// doubted is what is published of an action, or of opaque bytes, that a lost run had run and whose effect nobody can see.
func doubted(k *Kind, o *Operation) Outcome {
	const why = "this site was restored from a backup"
	if o.Type == TypeAction && !resendable(k, o) {
		return Outcome{State: StateUncertain, Blocks: true, Again: true, Error: why + ": whether its application still shows it is not known"}
	}
	return Outcome{State: StatePending, Again: true, First: o.Type == TypeAction, Error: why}
}

// doubtsFolded returns what is to be published of the actions of unknown effect that a checkpoint keeps and that known, what this run had,
// had not settled.
func (s *Site) doubtsFolded(v, known *view) (entries []Entry) {
	for _, o := range v.history.Living(v.history.base.has) {
		_, told := v.outcomes[v.self][o.ID]
		if o.Type == TypeAction && o.Change == nil && !told && !known.settled(v.self, o) {
			entries = append(entries, s.outcomeEntry(o, doubted(v.kind, o)))
		}
	}
	return entries
}

// endRecheck publishes that the replica has the identifier local and that ops are settled.
func (s *Site) endRecheck(ctx context.Context, r *resource, local LocalID, ops []*Operation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, err := s.open(ctx, r)
	if err != nil {
		return err
	}
	mine := v.withSettled(local, s.cfg.Now(), ops...)
	if base := v.history.base; base != nil && mine.Lost != nil { // of what a checkpoint stands for, the lost run's word is taken
		for name, n := range base.Seen {
			mine.Settled[name] = max(mine.Settled[name], min(n, mine.Lost.Settled[name]))
		}
	}
	lost := mine.Lost
	if mine.Lost = lost.without(local); lost != nil && mine.Lost == nil {
		mine.Behind = &Lost{Ended: lost.Ended, Progress: lost.Progress}
		mine = mine.caughtUp()
	}
	b := &Batch{}
	for _, o := range ops {
		b.Settled = append(b.Settled, o.ID)
	}
	entries, lives := []Entry{v.replicaAs(mine)}, among(v.history.Living(anyOperation))
	for _, o := range ops {
		_, waited := v.outcomes[v.self][o.ID]
		shows := local != "" || o.Type == TypeDelete || o.Type == TypePlace
		switch {
		case v.told(o):
		case !shows && !lives(o): // nothing shows it, and nothing will
			entries = append(entries, s.outcomeEntry(o, Outcome{State: StateSuperseded}))
		case shows && waited:
			entries = append(entries, s.outcomeEntry(o, Outcome{State: StateApplied}))
		}
	}
	if err := s.write(ctx, r, entries, b); err != nil {
		return fmt.Errorf("publish what is left of what a lost run did: %w", err)
	}
	for _, o := range ops {
		s.opened.Delete(o.ID)
	}
	if mine.Lost == nil {
		s.twin.looked(r.id)
	}
	return nil
}
