package members

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Invite makes an invitation, durable when it returns. The secret is in the answer only; the mesh knows its hash. The certificates that
// it gives are good for term; zero: without an end. The error may be a *engine.Refusal.
func (o Orders) Invite(ctx context.Context, expires time.Duration, uses int, term time.Duration) (engine.Invitation, []byte, error) {
	secret := make([]byte, 32)
	o.m.cfg.Random(secret)
	i := engine.Invitation{ID: o.m.cfg.NewID(), Issuer: o.m.cfg.Self, Secret: sha256.Sum256(secret), Uses: uses, Term: int64(term / time.Second)}
	err := o.m.change(ctx, func(d *draft) error {
		i.CreatedAt, i.ExpiresAt = d.now, d.now.Add(expires)
		r, err := d.own().Invite(i, d.now)
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
func (o Orders) Revoke(ctx context.Context, id string) error {
	return o.m.change(ctx, func(d *draft) error {
		r, err := d.own().Revoke(id)
		if err != nil {
			return err
		}
		return d.put(r)
	})
}

// Admit checks the invitation and lets the site in; it returns all records of the mesh. The error may be a *engine.Refusal whose
// Detail may be shown to the stranger.
func (o Orders) Admit(ctx context.Context, r engine.JoinRequest) ([]engine.SignedRecord, error) {
	var all []engine.SignedRecord
	err := o.m.change(ctx, func(d *draft) error {
		records, err := d.own().Admit(r, d.now)
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
