package engine

import (
	"context"
	"fmt"
	"slices"
)

// beginLate makes the view of a resource of which this site has not heard while it had the documents that a member's
// checkpoint stands for: it is new to the placement, or was restored from a backup. It adds to b what has to be stored with
// the first changes. Known is what this site had, nil for nothing.
func (s *Site) beginLate(r *resource, root *epoch, e Envelope, known *view, b *Batch) (*view, error) {
	if e.Checkpoint == nil {
		return nil, fmt.Errorf("%w: what the resource was before this epoch", ErrMissing)
	}
	v, err := s.begin(r, e)
	if err != nil {
		return nil, err
	}
	number := v.about.Epoch
	v.document, v.aboutRaw, v.about.Epoch = root.id, root.raw, 0
	if err := v.begin(e.Checkpoint); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, o := range v.history.ordered {
		if !s.admits(v, o) || o.Change != nil && o.Change.Validate() != nil {
			return nil, fmt.Errorf("%w: a checkpoint with an operation %s that the catalog does not know", ErrRefused, o.ID)
		}
	}
	if known != nil {
		for _, old := range known.epochs {
			b.Dropped = append(b.Dropped, old.id)
		}
	}
	b.Documents = append(b.Documents, DocumentRow{ID: root.id, About: root.raw, Epoch: number},
		DocumentRow{ID: e.Document, About: e.About, Checkpoint: e.Checkpoint})
	return v, nil
}

// orphaned reports whether nobody has any more what this site lacks of the epoch before the current one: it was restored from a
// backup that was made while that epoch ended.
func (v *view) orphaned() bool {
	if v.part(v.self) != partMember || v.whole() {
		return false
	}
	others := slices.DeleteFunc(v.members(), func(m SiteID) bool { return m == v.self })
	return len(others) > 0 && !slices.ContainsFunc(others, func(m SiteID) bool { return !v.writesIn(m, v.current()) || !v.replicas[m].Over })
}

// startOver forgets what this site has of a resource, so that it is sent all that the others have, with the checkpoint that stands
// for what they have not. They have all of it: this process has written nothing there, and the run that is lost said that it had all
// of the epoch before, which rests on everything in the backup. The caller holds r.mu, and r.view is loaded.
func (s *Site) startOver(ctx context.Context, r *resource) error {
	v := r.view
	b := &Batch{Dropped: []DocumentID{v.document}}
	for _, e := range v.epochs {
		if e.id != v.document {
			b.Dropped = append(b.Dropped, e.id)
		}
	}
	s.forget(r)
	if err := s.commit(ctx, b); err != nil {
		return fmt.Errorf("start over with %s: %w", v.about.Key, err)
	}
	s.cfg.Log.Warn("this site lacks of a resource what nobody has any more: it gets what the others have instead", "resource", string(v.about.Key))
	return fmt.Errorf("start over with %s: %w: what the resource was before this epoch", v.about.Key, ErrMissing)
}

// issueAgain returns the entries that issue those operations of this site once more that no other has heard of, on top of
// what v knows. This site's application has done them.
func (s *Site) issueAgain(v, known *view) ([]Entry, error) {
	var entries []Entry
	var again []*Operation
	for _, o := range known.history.ordered {
		if o.Origin != s.cfg.Self || known.history.base.has(o) || o.Time <= v.history.base.Upto[o.Origin] || v.history.Get(o.ID) != nil {
			continue
		}
		once := *o
		s.stamp(v, &once)
		// Nobody could take in what has not seen what is folded away.
		once.Seen = join(once.Seen, without(v.history.base.Seen, once.Epoch))
		delete(once.Seen, once.line)
		once.Seq += uint64(len(again))
		for _, p := range again {
			once.Time = max(once.Time, p.Time+1)
		}
		again = append(again, &once)
		b, err := once.Encode()
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Map: MapOperations, Key: once.Key(), Value: b})
	}
	if len(again) == 0 {
		return nil, nil
	}
	return append(entries, s.replicaEntry(v, v.local(), again...)), nil
}
