package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Lost is part of what a site publishes of its replica after it was restored from a backup, until it has looked: what the
// run of its agent that is lost had published last. Its application may show that or not, for it may have been restored
// as well.
type Lost struct {
	Local LocalID `json:"local_id,omitempty"`
	// Had is what the run had settled whose object Local is, where there are Others: those of other lost runs, which did not know of each other.
	Had    map[Line]uint64 `json:"had,omitzero"`
	Others []LostObject    `json:"others,omitempty"`
	// Ended are the epochs in which the others had dropped the one before, as far as the site knew in the backup.
	Ended map[SiteID]uint64 `json:"ended,omitempty"`
	Progress
}

// LostObject is what a lost run has made of a resource, with what it had settled there.
type LostObject struct {
	Local   LocalID         `json:"local_id"`
	Settled map[Line]uint64 `json:"settled"`
}

// check checks what a Lost from outside must fulfil: others come beside an object, of which it is known what was settled there.
func (l *Lost) check() error {
	unnamed := func(o LostObject) bool { return o.Local == "" }
	if l != nil && len(l.Others) > 0 && (l.Local == "" || l.Had == nil || slices.ContainsFunc(l.Others, unnamed)) {
		return errors.New("lost objects that are none")
	}
	return nil
}

// objects lists what lost runs had, that of the last first.
func (l *Lost) objects() []LostObject {
	switch {
	case l.Local == "":
		return nil
	case l.Had == nil:
		return []LostObject{{l.Local, l.Settled}}
	}
	return append([]LostObject{{l.Local, l.Had}}, l.Others...)
}

// without returns what is still to be looked for once at is the replica, or, where it is none of theirs, once that of the last has been looked
// for; nil: nothing.
func (l *Lost) without(at LocalID) *Lost {
	if l == nil || len(l.Others) == 0 || l.check() != nil {
		return nil
	}
	next, rest := *l, l.objects()
	i := max(0, slices.IndexFunc(rest, func(o LostObject) bool { return o.Local == at }))
	rest = slices.Delete(rest, i, i+1)
	next.Local, next.Had, next.Others = rest[0].Local, rest[0].Settled, rest[1:]
	return &next
}

// ownAmong reports whether any of rows, which came from another site, is a change that this site made itself, in a run that
// this one knows nothing of.
func (s *Site) ownAmong(rows []ChangeRow) bool {
	return slices.ContainsFunc(rows, func(r ChangeRow) bool { return r.Author == s.cfg.Self })
}

// takeBack adds to what this site writes next an entry of its replica that takes back what the lost run has written in a document:
// it counts nothing as settled that this run did not, and remembers what the other did. Before is what this run knew of the
// replica. Late says that a checkpoint stands for what is to be looked for: then the lost run's word is taken, and what its
// application shows is looked at, at once where this run does not know the object under its identifier; where that run has deleted the
// object which known, what this run had, tells of, that is looked for.
// Ended is what this run knew of who has dropped what. What several lost runs have made, each without knowing of the others, is all looked for.
// The lost run's last word stands, unless this run has written something before it heard that: it leaves anew then. The caller holds the
// lock of the resource.
func (s *Site) takeBack(ctx context.Context, v, known *view, id DocumentID, before Replica, ended map[SiteID]uint64, late bool, entries []Entry) ([]Entry, error) {
	former := v.part(v.self) == partFormer
	switch {
	case former && late:
		return entries, nil
	case late:
		mine := v.withSettled(v.local(), s.cfg.Now())
		mine.Observed = nil
		if known != nil && known.local() != "" && mine.Local == "" && !v.exists() {
			mine.Lost = &Lost{Local: known.local(), Progress: Progress{Epoch: v.from, Settled: mine.Settled}}
			s.twin.looks(v)
			return append(entries, v.replicaAs(mine)), nil
		}
		if !v.kind.Natural() && mine.Local != "" && mine.Lost == nil && (known == nil || known.local() != mine.Local) { // the application may give that identifier again
			mine.Lost = &Lost{Local: mine.Local, Progress: Progress{Epoch: v.from, Settled: mine.Settled}}
			mine.Local = ""
			s.twin.looks(v)
		}
		if len(entries) == 0 { // else they have one
			entries = []Entry{v.replicaAs(mine)}
		}
		if known != nil && known.local() != "" { // else its object is new
			entries = append(entries, s.doubtsFolded(v, known)...)
		}
		return entries, nil
	}
	values, err := s.cfg.Documents.Values(ctx, id, MapReplicas, string(s.cfg.Self))
	if err != nil {
		return nil, fmt.Errorf("take back what a lost run wrote: %w", err)
	}
	if former && len(values) < 2 {
		return entries, nil
	}
	mine := before
	lost := Lost{Ended: ended, Progress: Progress{Epoch: v.from, Settled: map[Line]uint64{}}}
	add := func(p Progress) {
		lost.Epoch = max(lost.Epoch, p.Epoch)
		for l, n := range p.Settled {
			lost.Settled[l] = max(lost.Settled[l], n)
		}
	}
	var had []LostObject // that of the last first
	has := func(objects ...LostObject) {
		for _, o := range slices.Backward(objects) {
			same := func(other LostObject) bool { return other.Local == o.Local }
			if i := slices.IndexFunc(had, same); i >= 0 {
				o.Settled = join(o.Settled, had[i].Settled)
				had = slices.Delete(had, i, i+1)
			}
			if o.Local != "" {
				had = append([]LostObject{o}, had...)
			}
		}
	}
	if known := before.lost(); known != nil {
		lost.Ended = known.Ended
		has(known.objects()...)
		add(known.Progress)
	}
	var said []Replica
	for _, b := range values {
		var r Replica
		if err := decodeStrict(b, &r); err != nil || maps.Equal(r.Settled, before.Settled) && r.At.Equal(before.At) {
			continue
		}
		if r.epoch = v.from; r.epoch < before.epoch && r.Lost == nil && r.Local == before.Local && before.hasAll(r.Settled) {
			continue // what this run itself has said there last, or knows as well
		}
		said = append(said, r)
	}
	slices.SortStableFunc(said, func(a, b Replica) int { return a.At.Compare(b.At) })
	made := mine.Made
	for _, r := range said {
		objects := []LostObject{{r.Local, r.Settled}}
		if r.Lost != nil {
			objects = append(r.Lost.objects(), objects...)
		}
		there := func(o LostObject) bool { return o.Local != "" }
		if has(objects...); !slices.ContainsFunc(objects, there) && r.hasAll(lost.Settled) { // else it did not know what another one had made
			had = nil
		}
		add(Progress{v.from, r.Settled})
		if known := r.lost(); known != nil {
			add(known.Progress)
		}
		if made = max(made, r.Made); v.from >= before.epoch {
			mine = r
		}
	}
	mine.Made = made
	if i := slices.IndexFunc(had, func(o LostObject) bool { return o.Local == before.Local }); i > 0 { // this run has it, too
		has(had[i])
	}
	if len(had) > 0 {
		lost.Local = had[0].Local
	}
	if len(had) > 1 {
		lost.Had, lost.Others = had[0].Settled, had[1:]
	}
	mine.Settled, mine.Local, mine.Observed, mine.Left = before.Settled, before.Local, nil, nil
	mine.At, mine.Lost, mine.Behind = s.cfg.Now(), &lost, nil
	s.twin.looks(v)
	again, err := s.saidBefore(ctx, v)
	return append(again, v.replicaAs(mine)), err
}

// saidBefore returns what this site has said in the epoch before the current one, and nowhere since, beside operations and of its replica: the
// others have all that it says to have written there, and take nothing more of it in.
func (s *Site) saidBefore(ctx context.Context, v *view) ([]Entry, error) {
	if len(v.epochs) == 1 || !v.counted() {
		return nil, nil
	}
	entries, err := s.cfg.Documents.Entries(ctx, v.epochs[0].id)
	if err != nil {
		return nil, fmt.Errorf("say again what was said before this epoch: %w", err)
	}
	return slices.DeleteFunc(entries, func(e Entry) bool {
		author, _, _ := strings.Cut(e.Key, "/")
		return SiteID(author) != v.self || e.Map == MapOperations || e.Map == MapReplicas || v.writtenIn[string(e.Map)+"/"+e.Key] > v.epochs[0].number
	}), nil
}

// takeBackOutcomes returns the entries that say of what this run has applied that it has, where the lost run had not, or did not know, and of
// what this run has yet to do again that the lost run may have done it. What a create of the lost run may have made beside, a person looks for.
// Outcomes are what this run knew of.
func (s *Site) takeBackOutcomes(v *view, before Replica, outcomes map[OperationID]Outcome) (entries []Entry) {
	if v.part(v.self) == partFormer {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(v.outcomes[v.self])) {
		was, told := outcomes[id]
		o, is := v.history.Get(id), v.outcomes[v.self][id]
		switch {
		case o == nil || !before.settled(o):
		case !told && is.State == StateUncertain && is.Blocks && o.Type == TypeCreate && !resendable(v.kind, o):
			why := fmt.Sprintf("this site was restored from a backup, and it is not known whether it had made another %s, beside what has been made since: "+
				"look for it, take over what is in it, delete it and say that this is done", v.kind.Name)
			entries = append(entries, s.outcomeEntry(o, Outcome{State: StateUncertain, Cause: ConflictExists, Error: why}))
		case !told && (is.State == StateSuperseded || is.Blocks):
			entries = append(entries, s.outcomeEntry(o, Outcome{State: StateApplied}))
		case was.Again && !is.Again && is.State == StateApplied:
			entries = append(entries, s.outcomeEntry(o, doubted(v.kind, o)))
		}
	}
	return entries
}

// toldByLost settles a request that was open in the backup this site was restored from: the lost run has published it, or a
// person decides, for it may have been sent, and other things after it. It returns false for any other request.
func (s *Site) toldByLost(ctx context.Context, r *resource, c *crossing) (bool, error) {
	if _, left := s.left.Load(c.Operation.ID); !left {
		return false, nil
	}
	published, err := s.publishedByLost(ctx, r, c)
	switch {
	case published || err != nil:
		return published, err
	case s.twin.wasRestored() && (!c.Asked || c.Again): // also where a person had said before the backup that it is to be sent again
		c.Asked, c.Again, c.Why = true, false, "this site was restored from a backup in which the request had had no answer yet"
		return true, s.ask(ctx, c)
	}
	return false, nil
}

// publishedByLost closes a request that the lost run has published, also where a person was asked about it before that was heard. What it
// may have made is looked for with what else that run had done.
func (s *Site) publishedByLost(ctx context.Context, r *resource, c *crossing) (bool, error) {
	row, err := s.cfg.Store.Operation(ctx, c.Operation.ID)
	published, made := err == nil && row.Document != "" && c.Document == "", false
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, fmt.Errorf("look whether operation %s was published: %w", c.Operation.ID, err)
	}
	if published {
		r = s.registry.acquire(row.Document)
		defer s.registry.release(r)
	}
	if r != nil {
		unlock := r.lock()
		defer unlock()
		v, err := s.open(ctx, r)
		if err == nil {
			o := v.history.Get(c.Operation.ID)
			published = published || o != nil
			made = o != nil && o.Type == TypeCreate && v.replicas[s.cfg.Self].Lost != nil && v.part(s.cfg.Self) == partMember && slices.Contains(v.gap(v.replicas[s.cfg.Self].Lost.Settled), o)
		}
		unlock()
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	if !published {
		return false, nil
	}
	c.Asked = false
	if made {
		return true, nil
	}
	return true, s.endTold(ctx, c, &Batch{Settled: []OperationID{c.Operation.ID}})
}

// openInBackup ends the requests for creates of a gap that were open in the backup: the lost run has published them. Where nobody knows
// what they have made, it is looked for. The caller holds the turn.
func (s *Site) openInBackup(ctx context.Context, r *resource, k *Kind, gap []*Operation, known bool) error {
	for _, o := range gap {
		c, open := s.openIntent(ctx, o.ID)
		if o.Type != TypeCreate || !open {
			continue
		}
		done := &Batch{}
		if known {
			done.Settled = []OperationID{o.ID}
		} else if err := s.mayHaveMade(ctx, r, k, o, s.firstKey(o)); err != nil {
			return err
		}
		if err := s.endTold(ctx, c, done); err != nil {
			return err
		}
	}
	return nil
}

// endTold adds to done that nobody is asked any more about a request that the lost run has published.
func (s *Site) endTold(ctx context.Context, c *crossing, done *Batch) error {
	if err := s.askedNoMore(ctx, c.Operation.ID, done); err != nil {
		return err
	}
	return s.commit(ctx, done)
}
