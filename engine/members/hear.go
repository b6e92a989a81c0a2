package members

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Take takes in records that a member has sent in a letter, or in a comparison, where sent is empty. It returns once all that
// can be taken in is durable, whatever is wrong with the rest; what is news is passed on to members that the letter was not
// sent to. ErrMissing: some of it builds on what is not here. ErrRefused: it is not what an honest site sends. ErrTooLarge: it
// is more than one site may say. ErrStorage: later. ErrCloned.
func (m *Members) Take(ctx context.Context, from engine.SiteID, records []engine.SignedRecord, sent []engine.SiteID) error {
	if !m.IsMember(from) {
		return fmt.Errorf("take records of the mesh from %.60q: %w: no member", from, engine.ErrRefused)
	}
	verified, wrong := m.verify(records)
	if len(verified) == 0 {
		return wrong
	}
	if m.Cloned() {
		return errors.Join(wrong, m.insist(ctx, verified))
	}
	var heard []engine.SignedRecord
	var refused error
	err := m.change(ctx, func(d *draft) error {
		refused = d.hear(verified)
		heard = d.news.Records
		d.heedRemovals()
		return d.meet()
	})
	if err != nil {
		return errors.Join(wrong, fmt.Errorf("take records of the mesh from %s: %w", from, err))
	}
	if len(heard) > 0 && len(sent) > 0 {
		m.send(heard, append(slices.Clone(sent), from))
	}
	return errors.Join(wrong, refused)
}

// Adopt makes the mesh of this identifier and this founder this site's own, by the records that it got when it was let in. All that is
// believed of the mesh follows from the founder's key. ErrRefused: they are not of that mesh, or do not let this site in; nothing has
// happened.
func (m *Members) Adopt(ctx context.Context, id string, founder engine.SiteID, records []engine.SignedRecord) error {
	verified, err := m.verify(records)
	if err != nil {
		return fmt.Errorf("adopt the mesh: %w", err)
	}
	err = m.change(ctx, func(d *draft) error {
		left := d.hear(verified)
		switch {
		case d.ID() != id || d.Founder() != founder:
			return fmt.Errorf("%w: the inviter belongs to mesh %q of %.60q, the invitation is for %q of %.60q", engine.ErrRefused, d.ID(), d.Founder(), id, founder)
		case !d.IsMember(d.Self()):
			return errors.Join(fmt.Errorf("%w: this site is not among its members", engine.ErrRefused), left)
		case left != nil:
			d.after = append(d.after, func() { m.cfg.Log.Warn("records of the mesh are left out", "err", left) })
		}
		return d.meet()
	})
	if err != nil {
		return fmt.Errorf("adopt the mesh: %w", err)
	}
	return nil
}

// verify returns those records that are not known, of which the signature is checked. The error is why others are left out.
func (m *Members) verify(records []engine.SignedRecord) (verified []engine.SignedRecord, err error) {
	wanted := look(m, func(s *mesh.State) []engine.SignedRecord {
		return slices.DeleteFunc(slices.Clone(records), func(r engine.SignedRecord) bool { return !s.Wants(r) })
	})
	var wrong []error
	for _, r := range wanted {
		if err := m.cfg.Documents.Verify(r.Author, mesh.Message(r.Record), r.Signature); err != nil {
			wrong = append(wrong, fmt.Errorf("a record of %.60q: %w", r.Author, err))
			continue
		}
		verified = append(verified, r)
	}
	return verified, errors.Join(wrong...)
}
