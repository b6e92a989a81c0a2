package members

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Invite makes an invitation, durable when it returns. The secret is in the answer only; the mesh knows its hash. The error may
// be a *engine.Refusal.
func (m *Members) Invite(ctx context.Context, expires time.Duration, uses int) (engine.Invitation, []byte, error) {
	secret := make([]byte, 32)
	m.cfg.Random(secret)
	i := engine.Invitation{ID: m.cfg.NewID(), Issuer: m.cfg.Self, Secret: sha256.Sum256(secret), Uses: uses}
	err := m.change(ctx, func(d *draft) error {
		i.CreatedAt, i.ExpiresAt = d.now, d.now.Add(expires)
		r, err := d.Invite(i, d.now)
		if err != nil {
			return err
		}
		return d.put(r)
	})
	if err != nil {
		return engine.Invitation{}, nil, fmt.Errorf("make an invitation: %w", err)
	}
	return i, secret, nil
}

// Invitations lists those of all sites, newest first.
func (m *Members) Invitations() []engine.Invitation { return look(m, (*mesh.State).Invitations) }

// Inviting reports whether an invitation of this site is open now, so that strangers may knock.
func (m *Members) Inviting() bool {
	now := m.cfg.Now()
	return look(m, func(s *mesh.State) bool { return s.Inviting(now) })
}

// Revoke ends an invitation of this site. ErrNotFound: it has made none of that identifier.
func (m *Members) Revoke(ctx context.Context, id string) error {
	return m.change(ctx, func(d *draft) error {
		r, err := d.Revoke(id)
		if err != nil {
			return err
		}
		return d.put(r)
	})
}

// Admit checks the invitation and lets the site in; it returns all records of the mesh. The error may be a *engine.Refusal whose
// Detail may be shown to the stranger.
func (m *Members) Admit(ctx context.Context, r engine.JoinRequest) ([]engine.SignedRecord, error) {
	var all []engine.SignedRecord
	err := m.change(ctx, func(d *draft) error {
		records, err := d.Admit(r, d.now)
		if err != nil {
			return err
		}
		err = d.put(records...)
		all = d.Records()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("admit %.100q: %w", r.Record.Name, err)
	}
	return all, nil
}
