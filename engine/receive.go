package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Receive implements Replicas: it takes in what another member sent, makes it durable and sees to what follows.
func (s *Site) Receive(ctx context.Context, from SiteID, e Envelope) error {
	if !s.IsMember(from) {
		return fmt.Errorf("receive from %s: %w: not a member", from, ErrRefused)
	}
	if e.Document == s.mesh.documentID() {
		return s.receiveMesh(ctx, e)
	}
	own, err := s.receive(ctx, from, e)
	if errors.Is(err, ErrMissing) {
		s.hasMore(from)
	}
	if own {
		err = errors.Join(err, s.toldRestored(ctx))
	}
	return err
}

// receive takes a document of a resource in. Own: there were changes in it that this site has made and did not know.
func (s *Site) receive(ctx context.Context, from SiteID, e Envelope) (own bool, err error) {
	if err := s.Writable(); err != nil {
		return false, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
	}
	root, about, err := s.rootOf(e)
	if err != nil {
		return false, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
	}
	err = s.guarded(ctx, root.id, "receive", func() error {
		if about.Schema == SchemaChoice {
			own, err = s.receiveChoice(ctx, from, e)
		} else {
			own, err = s.receiveResource(ctx, from, e, root, about)
		}
		return err
	})
	return own, err
}

func (s *Site) receiveResource(ctx context.Context, from SiteID, e Envelope, root *epoch, about About) (own bool, err error) {
	r, v, unlock, err := s.locked(ctx, root.id)
	defer unlock()
	first := errors.Is(err, ErrNotFound)
	b := &Batch{}
	var known *view
	whole := false
	switch {
	case err == nil && !v.listens(from, e, about.Epoch):
		return false, s.showAlike(ctx, r, from, e, about.Epoch)
	case first && about.Epoch > 0:
		v, err = s.beginLate(r, root, e, nil, b)
	case err == nil && e.Checkpoint != nil && about.Epoch > v.current().number:
		first, known = true, v
		v, err = s.beginLate(r, root, e, known, b)
	case err == nil && e.Checkpoint != nil && about.Epoch == v.current().number && v.orphaned():
		whole, known = true, v
		v, err = s.makeWhole(ctx, r, e.Checkpoint)
	case first:
		v, err = s.begin(r, e)
	case err == nil:
		var open bool
		if open, err = s.hears(v, e, about.Epoch); err == nil && !open {
			return false, s.showAlike(ctx, r, from, e, about.Epoch)
		}
	}
	if err != nil {
		return own, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
	}
	stored := !first
	defer func() {
		if !stored { // a document begins with its first stored change
			s.forget(r)
		}
	}()
	if v.history.Len()+v.history.Held()+v.refused >= 2*maxOperations {
		s.cfg.Log.Error("a resource has too many operations: no more are taken in", "resource", string(v.about.Key),
			"peer", string(from), "operations", v.history.Len())
		return own, fmt.Errorf("receive document %s from %s: %w: it has too many operations", e.Document, from, ErrRefused)
	}
	v.from = about.Epoch
	before, ended, outcomes := v.replicas[s.cfg.Self], v.endedBy(), maps.Clone(v.outcomes[s.cfg.Self])
	rows, mergeErr := s.merge(ctx, v, e)
	own = s.ownAmong(rows)
	v.numbered(about.Epoch).count(rows)
	// What is not for this site yet is kept only where the rest of it is to come.
	outside := v.part(v.self) == partNone && !((e.Joins || e.Leaves) && e.More)
	if (len(rows) > 0 || whole) && (!first || !outside) {
		b.Changes = rows
		var again []Entry
		if known != nil {
			if err := s.settleFolded(ctx, v, known, b); err != nil {
				return own, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
			}
			again, err = s.issueAgain(v, known)
		}
		if own && err == nil {
			s.waitForOthers()
			late := about.Epoch > 0 && first // what was before is not known one by one
			if again, err = s.takeBack(ctx, v, known, e.Document, before, ended, late, again); err == nil && !late {
				again = append(again, s.takeBackOutcomes(v, before, outcomes)...)
			}
		}
		switch {
		case err != nil:
		case len(again) > 0:
			err = s.write(ctx, r, again, b)
		default:
			err = s.store(ctx, r, b)
		}
		if err != nil {
			return own, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
		}
		stored = true
		if whole {
			if err := s.countAfter(ctx, r); err != nil {
				return own, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
			}
		}
		if v.history.Outside() || v.reordered { // its origin did not know what every member had settled: it is merged with all that the document has
			s.forget(r)
			if v, err = s.open(ctx, r); err == nil {
				v.touchAll()
				err = s.store(ctx, r, &Batch{})
			}
			if err != nil {
				return own, fmt.Errorf("receive document %s from %s: %w", e.Document, from, err)
			}
		}
		delay := time.Duration(0)
		if e.More && v.current().number == about.Epoch { // the rest may tell that this site has done what is next, in a run of its agent that is lost
			delay = s.cfg.RetryMax
		}
		s.queue.add(job{document: r.id}, delay)
	}
	switch {
	case v.orphaned():
		return own, fmt.Errorf("receive document %s from %s: %w: what the resource was before this epoch", e.Document, from, ErrMissing)
	case mergeErr != nil:
		return own, fmt.Errorf("receive document %s from %s: %w", e.Document, from, mergeErr)
	case outside && (e.Joins || e.Leaves || e.Left || !first) && v.split(e): // of what is known here, the rest is still to come
		return own, fmt.Errorf("receive document %s from %s: %w: what has added this site", e.Document, from, ErrMissing)
	case outside:
		return own, fmt.Errorf("receive document %s from %s: %w: this site has no part in it", e.Document, from, ErrRefused)
	case v.part(from) == partNone && v.split(e):
		return own, fmt.Errorf("receive document %s from %s: %w: what has added that site", e.Document, from, ErrMissing)
	case v.part(from) == partNone:
		return own, fmt.Errorf("receive document %s from %s: %w: the site has no part in it", e.Document, from, ErrRefused)
	}
	return own, s.showAlike(ctx, r, from, e, about.Epoch)
}

// merge takes in the changes of an envelope. An operation among them may have added the site that wrote others, so that they
// are tried again as long as there is somebody new who may write.
func (s *Site) merge(ctx context.Context, v *view, e Envelope) (rows []ChangeRow, err error) {
	unknown, late, closed, members := false, false, v.closed(v.from), v.members()
	writes := func(a SiteID) bool {
		tooLate := closed && a != v.self && slices.Contains(members, a)
		unknown, late = unknown || !v.writers[a], late || tooLate
		return v.writers[a] && !tooLate
	}
	for again := true; again; {
		var more []ChangeRow
		var entries []Entry
		more, entries, err = s.cfg.Documents.Merge(ctx, e.Document, e.Changes, writes)
		rows = append(rows, more...)
		learned := v.learn(entries)
		for _, entry := range entries {
			if o := s.takeIn(v, entry); o != nil {
				s.watchClock(v, o)
			}
		}
		again = errors.Is(err, ErrRefused) && learned // what has added a site may come along with what that has written since
	}
	if late && errors.Is(err, ErrRefused) {
		err = fmt.Errorf("%w: that its author has taken it back: %v", ErrMissing, err)
	}
	if unknown && errors.Is(err, ErrRefused) && v.split(e) {
		err = fmt.Errorf("%w: what has added a site: %v", ErrMissing, err)
	}
	return rows, err
}

// begin makes a document that another site made first. Nothing of it is on disk before its first changes are.
func (s *Site) begin(r *resource, e Envelope) (*view, error) {
	about, err := s.cfg.Documents.Create(e.Document, e.About)
	if err != nil {
		return nil, err
	}
	kind := s.known.Load().by[kindKey{about.Service, about.Kind}]
	if !about.Schema.ofResource() || kind == nil {
		s.cfg.Documents.Forget(e.Document)
		if about.Schema.ofResource() && s.cfg.Unknown != nil && s.cfg.Unknown(about.Service, about.Kind) {
			return nil, fmt.Errorf("the application has no %s.%s yet, or has not told of it", about.Service, about.Kind)
		}
		return nil, fmt.Errorf("%w: the catalog has no kind %s.%s", ErrRefused, about.Service, about.Kind)
	}
	r.view = newView(s.cfg.Self, s.name, e.Document, about, e.About, kind)
	r.view.clock, r.view.patience = s.cfg.Now, s.cfg.LeaveWithin
	return r.view, nil
}

// watchClock says when an operation comes from the future, and takes note of a deletion that comes late.
func (s *Site) watchClock(v *view, o *Operation) {
	s.hearDeletion(o)
	if ahead := time.UnixMicro(o.Time).Sub(s.cfg.Now()); ahead > farOff {
		s.cfg.Log.Warn("clock of another site is ahead of this one's: its later writes win until the clocks agree",
			"site", string(s.name(o.Origin)), "ahead", ahead.Round(time.Millisecond), "operation", string(o.ID))
	}
}

// Summaries implements Replicas.
func (s *Site) Summaries(ctx context.Context, with SiteID, from, to DocumentID) ([]Summary, error) {
	if !s.IsMember(with) {
		return nil, fmt.Errorf("summaries for %s: %w: not a member", with, ErrRefused)
	}
	return s.cfg.Ledger.Summaries(ctx, with, from, to)
}

// Version implements Replicas. Of a document that it lacks the beginning of, this site says that it has nothing.
func (s *Site) Version(ctx context.Context, id DocumentID) (Version, error) {
	row, err := s.cfg.Store.Document(ctx, id)
	if err == nil && row.Heads == ([32]byte{}) || errors.Is(err, ErrNotFound) {
		return Version{}, nil
	}
	if err != nil {
		return nil, err
	}
	return s.cfg.Ledger.Version(ctx, id)
}

// Missing implements Replicas.
func (s *Site) Missing(ctx context.Context, with SiteID, id DocumentID, have Version, limit int) (Envelope, bool, error) {
	row, err := s.cfg.Store.Document(ctx, id)
	if err != nil {
		return Envelope{}, false, err
	}
	heads, former := row.Former[with]
	belongs, leaves := slices.Contains(row.Sites, with), slices.Contains(row.Leaving, with)
	if !s.IsMember(with) || !row.Mesh && !belongs && !former && !leaves {
		return Envelope{}, false, ErrNotFound // whether it exists is not that site's to know
	}
	rows, more, err := s.cfg.Ledger.Changes(ctx, id, have, limit)
	if err != nil {
		return Envelope{}, false, fmt.Errorf("changes of document %s: %w", id, err)
	}
	e := Envelope{Document: id, About: row.About, Changes: make([]SignedChange, 0, len(rows)), Joins: belongs, Left: former, Leaves: leaves}
	until := Version(nil)
	if former {
		left := false
		if until, left, err = s.until(ctx, row, with); err != nil {
			return Envelope{}, false, fmt.Errorf("changes of document %s: %w", id, err)
		}
		if left {
			e.Shown = heads[:]
		}
	}
	for _, c := range rows {
		if !former || c.Seq <= until[c.Actor] || c.Author == with { // its own, which it lacks, it was set back to before
			e.Changes = append(e.Changes, c.SignedChange)
		}
	}
	if len(have) == 0 && !former {
		e.Checkpoint = row.Checkpoint
	}
	more = more && len(e.Changes) > 0
	if e.More = more; !more && !row.Mesh {
		e.More, err = s.goesOn(ctx, row)
	}
	return e, more, err
}

// until tells what of a document there is between this site and another one of which one has left, and whether this one has.
func (s *Site) until(ctx context.Context, row DocumentRow, with SiteID) (until Version, left bool, err error) {
	root, about, err := s.rootOf(Envelope{Document: row.ID, About: row.About})
	if err != nil {
		return nil, false, err
	}
	err = s.guarded(ctx, root.id, "give", func() error {
		until, left, err = s.untilHere(ctx, row, root.id, about, with)
		return err
	})
	return until, left, err
}

func (s *Site) untilHere(ctx context.Context, row DocumentRow, id DocumentID, about About, with SiteID) (until Version, left bool, err error) {
	_, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return nil, false, err
	}
	left = v.part(v.self) == partFormer
	last := v.lastBetween(with)
	if last == "" { // it belongs to the placement again, in a later epoch
		return nil, left, nil
	}
	if v.leftAfter(last, about.Epoch) {
		until, err = s.cfg.Ledger.Version(ctx, row.ID)
		return until, left, err
	}
	_, until, err = s.cfg.Documents.WrittenAt(ctx, row.ID, MapReplicas, string(last))
	if errors.Is(err, ErrNotFound) { // it is over here, and a checkpoint stands for what was between them
		return nil, left, nil
	}
	return until, left, err
}
