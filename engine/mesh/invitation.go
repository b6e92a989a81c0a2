package mesh

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/skerry/skerry/engine"
)

// Invitations lists those of all sites, newest first. One that is over is among them until its place is needed.
func (s *State) Invitations() []engine.Invitation {
	list := []engine.Invitation{}
	for _, mine := range s.records {
		for _, r := range mine {
			if i, ok := r.said.(engine.Invitation); ok {
				list = append(list, i)
			}
		}
	}
	slices.SortFunc(list, func(a, b engine.Invitation) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Issuer, b.Issuer), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// usable reports whether an invitation lets sites in.
func usable(i engine.Invitation, now time.Time) bool {
	return !i.Revoked && i.Uses > 0 && now.Before(i.ExpiresAt)
}

// Inviting reports whether an invitation of this site is open.
func (s *State) Inviting(now time.Time) bool {
	for _, r := range s.records[s.self] {
		if i, ok := r.said.(engine.Invitation); ok && usable(i, now) {
			return true
		}
	}
	return false
}

// invitation finds one of this author's own and its key; ok is false where there is none.
func (a Author) invitation(id string) (engine.Invitation, engine.RecordKey, bool) {
	for key, r := range a.records[a.key] {
		if i, ok := r.said.(engine.Invitation); ok && i.ID == id {
			return i, key, true
		}
	}
	return engine.Invitation{}, engine.RecordKey{}, false
}

// Invite returns the record of a new invitation of this site, of which the caller gives ID, Secret, ExpiresAt and Uses: in the
// first place that is free, or whose invitation is over. The error is a *engine.Refusal.
func (a Author) Invite(i engine.Invitation, now time.Time) (engine.MeshRecord, error) {
	i.Issuer, i.CreatedAt, i.Revoked = a.key, now, false
	if err := a.mayOrder(); err != nil {
		return engine.MeshRecord{}, err
	}
	if i.ID == "" || len(i.ID) > maxText || i.Uses > maxUses || i.Term < 0 || i.Term > maxTerm || !usable(i, now) {
		return engine.MeshRecord{}, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "invitation",
			Detail: fmt.Sprintf("an invitation is for 1 to %d sites and ends later than now", maxUses)}
	}
	for place := 1; place <= MaxInvitations; place++ {
		key := engine.RecordKey{Kind: engine.RecordInvitation, About: strconv.Itoa(place)}
		if old := a.records[a.key][key]; old == nil || !usable(old.said.(engine.Invitation), now) {
			return a.Next(key, i), nil
		}
	}
	return engine.MeshRecord{}, &engine.Refusal{Status: http.StatusConflict, Type: "invitation",
		Detail: fmt.Sprintf("%d invitations of this site are open: revoke one first", MaxInvitations)}
}

// Revoke returns the record that ends an invitation of this site. ErrNotFound: this site has made none of that identifier.
func (a Author) Revoke(id string) (engine.MeshRecord, error) {
	i, key, ok := a.invitation(id)
	if !ok {
		return engine.MeshRecord{}, fmt.Errorf("revoke invitation %.60q: %w", id, engine.ErrNotFound)
	}
	i.Revoked = true
	return a.Next(key, i), nil
}

// Admit returns the records that let a site in: its certificate, and the invitation with one use less. There are none where it has a
// certificate already: one whose first try was cut off comes again, and one that an authority has certified needs no invitation. The
// error is a *engine.Refusal whose Detail may be shown to the stranger.
func (a Author) Admit(r engine.JoinRequest, now time.Time) ([]engine.MeshRecord, error) {
	refuse := func(status int, format string, args ...any) ([]engine.MeshRecord, error) {
		return nil, &engine.Refusal{Status: status, Type: "invitation", Detail: fmt.Sprintf(format, args...)}
	}
	if _, removed := a.removed[r.Site]; removed {
		return refuse(http.StatusForbidden, "this site was taken out of the mesh for good; to come back as a new one, begin with an empty data directory")
	}
	if a.Good(r.Site, now) {
		return nil, nil
	}
	i, key, ok := a.invitation(r.Invitation)
	hash := sha256.Sum256(r.Secret)
	if !ok || subtle.ConstantTimeCompare(hash[:], i.Secret[:]) != 1 {
		return refuse(http.StatusForbidden, "this invitation is not one of this site's")
	}
	if !usable(i, now) {
		return refuse(http.StatusForbidden, "this invitation is used up, revoked or expired; ask for a new one")
	}
	if CheckSite(r.Record) != nil {
		return refuse(http.StatusUnprocessableEntity, "a site says too much of itself, or is called %.100q", r.Record.Name)
	}
	until := time.Time{}
	if i.Term > 0 {
		until = now.Add(time.Duration(i.Term) * time.Second)
	}
	i.Uses--
	certificate, err := a.certify(r.Site, r.Record.Name, i.ID, until, now)
	if err != nil {
		return nil, err
	}
	return []engine.MeshRecord{certificate, a.after(1, key, i)}, nil
}
