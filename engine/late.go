package engine

import (
	"context"
	"errors"
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
	number, checkpoint := v.about.Epoch, e.Checkpoint
	v.document, v.aboutRaw, v.about.Epoch = root.id, root.raw, 0
	if known != nil {
		if checkpoint, err = v.alsoKept(checkpoint, known); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	if err := s.found(v, checkpoint); err != nil {
		return nil, err
	}
	if known != nil {
		for _, old := range known.epochs {
			b.Dropped = append(b.Dropped, old.id)
		}
	}
	b.Documents = append(b.Documents, DocumentRow{ID: root.id, About: root.raw, Epoch: number},
		DocumentRow{ID: e.Document, About: e.About, Checkpoint: checkpoint})
	return v, nil
}

// found makes a view start with a member's checkpoint.
func (s *Site) found(v *view, checkpoint []byte) error {
	if err := v.begin(checkpoint); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for _, o := range v.history.ordered {
		if !s.admits(v, o) || o.Change != nil && o.Change.Validate() != nil || o.Place != nil && o.Place.Validate() != nil {
			return fmt.Errorf("%w: a checkpoint with an operation %s that the catalog does not know", ErrRefused, o.ID)
		}
	}
	return nil
}

// orphaned reports whether nobody has any more what this site lacks of the epoch before the current one: it did not belong to the
// placement while the others wrote that and is added again, or was restored from a backup that was made while that epoch ended; or nobody
// will hear what it has issued there since. It is given the checkpoint that stands for it then, because it says of the current document that
// it has nothing.
func (v *view) orphaned() bool {
	if p := v.part(v.self); p != partMember && p != partFormer || len(v.epochs) == 1 {
		return false
	}
	others := v.others()
	if len(others) == 0 || slices.ContainsFunc(others, func(m SiteID) bool { return !v.writesIn(m, v.current()) || !v.replicas[m].Over }) {
		return false
	}
	return !v.whole() || slices.ContainsFunc(others, v.lacksOf) || v.issuedUnheard(others)
}

// others are the members without this site.
func (v *view) others() []SiteID {
	return slices.DeleteFunc(v.members(), func(m SiteID) bool { return m == v.self })
}

// issuedUnheard reports whether this site has issued something in the epoch before the current one that one of others has not settled.
func (v *view) issuedUnheard(others []SiteID) bool {
	return slices.ContainsFunc(v.history.ordered, func(o *Operation) bool {
		unsettled := func(m SiteID) bool { r := v.replicas[m]; return !r.settled(o) }
		return o.Origin == v.self && o.Epoch < v.current().number && !v.history.base.has(o) && slices.ContainsFunc(others, unsettled)
	})
}

// lacksOf reports whether a site has settled operations of the epoch before the current one that are not here: a lost run of this site's agent
// may have issued them, so that what this run has made there tells nothing of them.
func (v *view) lacksOf(site SiteID) bool {
	for name, n := range v.replicas[site].Settled {
		if name.epoch() < v.current().number && v.history.Last(name) < n {
			return true
		}
	}
	return false
}

// makeWhole puts a member's checkpoint in the place of the epoch before the current one, which this site will not have whole. What it
// has of the current one stays. The caller holds r.mu, and r.view is loaded; what it has returned takes its place.
func (s *Site) makeWhole(ctx context.Context, r *resource, checkpoint []byte) (*view, error) {
	v := r.view
	if err := s.found(newView(v.self, v.name, v.document, v.about, v.aboutRaw, v.kind), checkpoint); err != nil {
		return nil, err
	}
	b, err := s.instead(ctx, v, checkpoint)
	if err != nil {
		return nil, err
	}
	old := v.epochs[0].id
	s.forget(r)
	if err := s.commit(ctx, b); err != nil {
		return nil, err
	}
	s.cfg.Documents.Forget(old)
	s.cfg.Log.Info("this site lacks of a resource what nobody has any more: it takes what the others have folded of it", "resource", string(v.about.Key))
	if v, err = s.open(ctx, r); err == nil {
		v.touchAll()
	}
	return v, err
}

// issueAgain returns the entries that issue those operations of this site once more that no other has heard of, on top of
// what v knows. This site's application has done them. What has taken the place of what one of them sets comes before it now: that one is
// applied once more, as it is elsewhere.
func (s *Site) issueAgain(v, known *view) ([]Entry, error) {
	var entries []Entry
	var again []*Operation
	shown := known.shown()
	for _, o := range known.history.ordered {
		if o.Origin != s.cfg.Self || o.Epoch == v.current().number || known.history.base.has(o) || o.Time <= v.history.base.Upto[o.Origin] || v.history.Get(o.ID) != nil {
			continue
		}
		once := *o
		s.stamp(v, &once)
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
		if !shown.has(o) {
			entries = append(entries, s.outcomeEntry(&once, Outcome{State: StatePending, Again: true, Ran: o.Type == TypeAction}))
		}
	}
	if len(again) == 0 {
		return nil, nil
	}
	return append(entries, s.replicaEntry(v, v.local(), again...)), nil
}

// has reports whether nothing has taken the place of what o sets.
func (f Fold) has(o *Operation) bool {
	if o.Type == TypeAbsolute {
		return f.Absolute[o.Path] == o
	}
	over := func(p Pointer) bool { return f.Cells[p].by != o }
	return o.Change == nil || !slices.ContainsFunc(sortedPointers(o.Change.Set), over) && !slices.ContainsFunc(o.Change.Unset, over)
}

// settleFolded adds to b the rows of the operations that this site has known and that only a checkpoint stands for now: every member had settled
// them.
func (s *Site) settleFolded(ctx context.Context, v, known *view, b *Batch) error {
	for _, o := range known.history.ordered {
		if v.history.Get(o.ID) != nil || !v.history.base.has(o) {
			continue
		}
		row, err := s.cfg.Store.Operation(ctx, o.ID)
		if errors.Is(err, ErrNotFound) || err == nil && row.Settled() {
			continue
		}
		if err != nil {
			return fmt.Errorf("settle operation %s: %w", o.ID, err)
		}
		for site, st := range row.Sites {
			if st.State == StatePending {
				row.Sites[site] = OperationStatus{State: StateApplied, At: s.cfg.Now()}
			}
		}
		if row.NeedsBlob {
			row.NeedsBlob, v.unneeded = false, append(v.unneeded, row.Blob.Hash)
		}
		row.State = worst(row.Sites)
		b.Operations = append(b.Operations, row)
	}
	return nil
}
