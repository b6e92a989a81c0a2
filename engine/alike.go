package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// showFormer says what stands between this site and another one, of which one has left.
func (d *DocumentRow) showFormer(site SiteID, heads [32]byte) {
	if d.Former == nil {
		d.Former = map[SiteID][32]byte{}
	}
	d.Former[site] = heads
}

// shownAll reports whether a site is shown the document as it is, so that what it has missed of its placement comes to it.
func (v *view) shownAll(site SiteID) bool {
	p := v.part(site)
	return v.part(v.self) != partFormer && (p == partMember || p == partLeaving)
}

// showAlike has this site show another one, which has left, what that one shows it, so that comparisons find nothing. A site that has
// left hears nothing more: not that an epoch is over which it was in, nor that one has come back whose last word stands between them. Of
// two that have left the one that shows nothing gives way, or the later by its identifier. The caller holds r.mu.
func (s *Site) showAlike(ctx context.Context, r *resource, from SiteID, e Envelope, number uint64) error {
	v, err := s.open(ctx, r)
	if len(e.Shown) != 32 || errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	of, err := s.epochOf(v.about, number)
	if err != nil {
		return err
	}
	mine := v.part(v.self)
	if of.id != e.Document || number > v.current().number || mine == partNone || !v.writers[from] || v.shownAll(from) {
		return nil
	}
	b, heads := &Batch{}, [32]byte(e.Shown)
	row, err := s.rowOf(ctx, of.id, b)
	if errors.Is(err, ErrNotFound) {
		row, err = DocumentRow{ID: of.id, About: of.raw, Epoch: v.current().number}, nil
	}
	if err != nil {
		return fmt.Errorf("show epoch %d of %s like %s: %w", number, v.about.Key, from, err)
	}
	shown, shows := row.Former[from]
	if shows && (shown == heads || mine == partFormer && v.self < from) {
		return nil
	}
	row.Former = maps.Clone(row.Former)
	row.showFormer(from, heads)
	if v.numbered(number) != nil {
		v.between[of.id] = row.Former
	} else {
		still := append(slices.Clone(v.shownStill[number]), from)
		slices.Sort(still)
		v.shownStill[number] = slices.Compact(still)
		oldest, err := s.rowOf(ctx, v.epochs[0].id, b)
		if err == nil {
			oldest.Checkpoint, err = v.alsoShown(oldest.Checkpoint)
		}
		if err != nil {
			return fmt.Errorf("show epoch %d of %s like %s: %w", number, v.about.Key, from, err)
		}
		b.Documents = append(b.Documents, row, oldest)
	}
	return s.store(ctx, r, b)
}
