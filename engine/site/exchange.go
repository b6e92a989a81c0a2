package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// exchange is what other sites take from this one and bring it: an engine.Exchange. It is safe for concurrent use.
type exchange struct{ site *Site }

// Fingerprints implements engine.Exchange.
func (x *exchange) Fingerprints(with engine.SiteID, ranges []engine.Range) []engine.Fingerprint {
	return x.site.prints.sums(with, ranges)
}

// Digests implements engine.Exchange.
func (x *exchange) Digests(ctx context.Context, with engine.SiteID, r engine.Range) ([]engine.Digest, error) {
	return x.site.cfg.Store.Digests(ctx, with, r)
}

// MeshFingerprint implements engine.Exchange.
func (x *exchange) MeshFingerprint() engine.Fingerprint { return x.site.cfg.Members.Fingerprint() }

// MeshRecords implements engine.Exchange.
func (x *exchange) MeshRecords() []engine.SignedRecord { return x.site.cfg.Members.Records() }

// shares reports whether another site may hear of a resource: it has, or had, a part in it.
func shares(r *resident, with engine.SiteID) bool { return r.stored && r.Part(with) != view.PartNone }

// Have implements engine.Exchange.
func (x *exchange) Have(ctx context.Context, with engine.SiteID, ids []engine.DocumentID) ([]engine.Have, error) {
	s := x.site
	list := make([]engine.Have, 0, len(ids))
	for _, id := range ids {
		have := engine.Have{Document: id}
		err := s.look(ctx, id, func(r *resident) {
			if shares(r, with) { // what it is told it has, it does not need to be sent
				have = r.Have()
			}
		})
		if err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrUnknown) {
			return nil, fmt.Errorf("what is here of document %s: %w", id, err)
		}
		list = append(list, have)
	}
	return list, nil
}

// Missing implements engine.Exchange.
func (x *exchange) Missing(ctx context.Context, with engine.SiteID, have []engine.Have, limit int) (*engine.Letter, int, error) {
	s := x.site
	l := &engine.Letter{}
	var own [][]byte
	size, covered := 0, 0
	for _, h := range have {
		n, more, err := x.missing(ctx, with, h, limit-size, l, &own)
		if err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrUnknown) {
			return nil, 0, fmt.Errorf("what %s lacks of document %s: %w", with, h.Document, err)
		}
		size += n
		if more {
			break
		}
		if covered++; size >= limit {
			break
		}
	}
	l.Batches = s.sign(own)
	return l, covered, nil
}

// missing adds to a letter what a site lacks of one document, about limit bytes of it. More: that is not all.
func (x *exchange) missing(ctx context.Context, with engine.SiteID, h engine.Have, limit int, l *engine.Letter, own *[][]byte) (size int, more bool, err error) {
	s := x.site
	var checkpoint []byte
	var raw []byte
	var lowest uint64
	formerly, left, alike, shared, back := false, false, false, false, false
	var theirs, statuses []engine.SignedStatus
	var mine []byte
	var forked engine.Forks
	err = s.look(ctx, h.Document, func(r *resident) {
		if shared = shares(r, with); !shared {
			return
		}
		raw, lowest = r.Raw, r.Epochs[0].Number
		left = r.Part(with) == view.PartFormer
		formerly = left || r.Part(r.Self) == view.PartFormer
		if r.Me.Number > h.Statuses[r.Self] {
			mine = engine.Encode(&r.Me)
		}
		here := r.Have()
		for _, st := range r.SignedStatuses() {
			switch number := here.Statuses[st.Site]; {
			case number <= h.Statuses[st.Site]:
			case st.Site == with: // its disk was set back
				theirs = append(theirs, st)
			default:
				statuses = append(statuses, st)
			}
		}
		if st, ok := replica.HeardOf(r.Replica, with); ok {
			theirs = append(theirs, st)
		}
		back = r.Holds(with) && !r.At(with).Whole || r.At(with).Rejoins // it has not begun anew, or was set back since it had all of that
		alike = sameCounts(here.Changes, h.Changes)
		forked = maps.Clone(r.Forks)
	})
	switch {
	case err != nil:
		return 0, false, err
	case !shared:
		return 0, false, engine.ErrNotFound
	}
	nothing := !slices.ContainsFunc(slices.Collect(maps.Values(h.Changes)), func(lines map[engine.Line]uint64) bool { return len(lines) > 0 })
	epochs := slices.Sorted(maps.Keys(h.Changes))
	late := !nothing && !left && (lowest > epochs[len(epochs)-1] || back && lowest > epochs[0]) // it can have from nobody what is over here
	if lowest > 0 && (nothing || late) {
		rec, err := s.cfg.Store.Record(ctx, h.Document)
		if err != nil {
			return 0, false, err
		}
		checkpoint = rec.Checkpoint
	}
	stored, more, err := s.cfg.Store.Changes(ctx, h.Document, h.Changes, max(limit, 1))
	if err != nil {
		return 0, false, err
	}
	proofs, err := x.proofs(ctx, h, raw, forked)
	if err != nil {
		return 0, false, err
	}
	if alike && len(theirs)+len(statuses)+len(proofs) == 0 && mine == nil { // as many, and not the same: one of its lines has another end
		if stored, _, err = s.cfg.Store.Changes(ctx, h.Document, butLast(h.Changes, forked), max(limit, 1)); err != nil {
			return 0, false, err
		}
	}
	if formerly && len(stored) > 0 {
		more = false
	}
	var list []engine.Parcel
	for _, c := range stored {
		if n := len(list); n == 0 || list[n-1].Epoch != c.Epoch {
			list = append(list, engine.Parcel{About: raw, Epoch: c.Epoch})
		}
		last := &list[len(list)-1]
		last.Changes = append(last.Changes, c.SignedChange)
		size += len(c.Bytes) + 128
	}
	if len(list) == 0 && (nothing || late) || late && list[0].Epoch > lowest {
		list = slices.Insert(list, 0, engine.Parcel{About: raw, Epoch: lowest})
	}
	if len(list) > 0 {
		if list[0].Epoch == lowest {
			list[0].Checkpoint = checkpoint
			size += len(checkpoint)
		}
		list[len(list)-1].More = more
	}
	if !more {
		list = append(list, proofs...)
	}
	l.Parcels = append(l.Parcels, list...)
	l.Statuses = append(l.Statuses, theirs...) // before it does what its lost run may have done
	if more {
		return size, true, nil // what sites say comes with the last of it
	}
	l.Statuses = append(l.Statuses, statuses...)
	if mine != nil {
		*own = append(*own, mine)
	}
	return size + len(mine) + 512*len(statuses), false, nil
}

// sameCounts reports whether two sites have as many changes of each line.
func sameCounts(a, b map[uint64]map[engine.Line]uint64) bool {
	return maps.EqualFunc(a, b, func(x, y map[engine.Line]uint64) bool { return maps.Equal(x, y) })
}

// butLast is what a site has without the last change of each line; of forked lines, without the second half of them: they may have parted
// long before.
func butLast(have map[uint64]map[engine.Line]uint64, forked engine.Forks) map[uint64]map[engine.Line]uint64 {
	less := make(map[uint64]map[engine.Line]uint64, len(have))
	for epoch, lines := range have {
		less[epoch] = maps.Clone(lines)
		for line, n := range lines {
			if n > 0 {
				n--
			}
			if forked.Ends(line) {
				n /= 2
			}
			less[epoch][line] = n
		}
	}
	return less
}

// proofs are what proves the forks that a site does not know of, or only a later one of their line.
func (x *exchange) proofs(ctx context.Context, h engine.Have, about []byte, forked engine.Forks) (list []engine.Parcel, err error) {
	if !slices.ContainsFunc(slices.Collect(maps.Values(forked)), func(f engine.Fork) bool { return h.Forks.News(&f) }) {
		return nil, nil
	}
	all, err := x.site.cfg.Store.Forks(ctx, h.Document)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if h.Forks.News(&f.Fork) {
			list = append(list, engine.Parcel{About: about, Epoch: f.Epoch, Changes: f.Proof[:]})
		}
	}
	return list, nil
}

// Blob implements engine.Exchange.
func (x *exchange) Blob(ctx context.Context, with engine.SiteID, id engine.DocumentID, ref engine.BlobRef, first int64) (engine.Digests, io.ReadCloser, error) {
	s := x.site
	refers := false
	err := s.look(ctx, id, func(r *resident) {
		refers = shares(r, with) && slices.ContainsFunc(r.History.Ordered(), func(o *engine.Operation) bool { return o.Blob != nil && *o.Blob == ref })
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("open a body of document %s: %w", id, err)
	case !refers:
		return nil, nil, fmt.Errorf("open a body of document %s: %w", id, engine.ErrNotFound)
	}
	digests, err := s.cfg.Blobs.Digests(ref)
	if err != nil {
		return nil, nil, err
	}
	content, err := s.cfg.Blobs.Open(ref, first)
	return digests, content, err
}
