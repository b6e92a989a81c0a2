package engine

import "fmt"

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
