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
	"github.com/skerry/skerry/engine/scope"
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

// invitation finds one of this site's own and its key; ok is false where there is none.
func (s *State) invitation(id string) (engine.Invitation, engine.RecordKey, bool) {
	for key, r := range s.records[s.self] {
		if i, ok := r.said.(engine.Invitation); ok && i.ID == id {
			return i, key, true
		}
	}
	return engine.Invitation{}, engine.RecordKey{}, false
}

// Invite returns the record of a new invitation of this site, of which the caller gives ID, Secret, ExpiresAt and Uses: in the
// first place that is free, or whose invitation is over. The error is a *engine.Refusal.
func (s *State) Invite(i engine.Invitation, now time.Time) (engine.MeshRecord, error) {
	i.Issuer, i.CreatedAt, i.Revoked = s.self, now, false
	if i.ID == "" || len(i.ID) > maxText || i.Uses > maxUses || !usable(i, now) {
		return engine.MeshRecord{}, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "invitation",
			Detail: fmt.Sprintf("an invitation is for 1 to %d sites and ends later than now", maxUses)}
	}
	for place := 1; place <= MaxInvitations; place++ {
		key := engine.RecordKey{Kind: engine.RecordInvitation, About: strconv.Itoa(place)}
		if old := s.records[s.self][key]; old == nil || !usable(old.said.(engine.Invitation), now) {
			return s.Next(key, i), nil
		}
	}
	return engine.MeshRecord{}, &engine.Refusal{Status: http.StatusConflict, Type: "invitation",
		Detail: fmt.Sprintf("%d invitations of this site are open: revoke one first", MaxInvitations)}
}

// Revoke returns the record that ends an invitation of this site. ErrNotFound: this site has made none of that identifier.
func (s *State) Revoke(id string) (engine.MeshRecord, error) {
	i, key, ok := s.invitation(id)
	if !ok {
		return engine.MeshRecord{}, fmt.Errorf("revoke invitation %.60q: %w", id, engine.ErrNotFound)
	}
	i.Revoked = true
	return s.Next(key, i), nil
}

// Admit returns the records that let a site in: its admission, and the invitation with one use less. There are none where it is a
// member already: one whose first try was cut off comes again. The error is a *engine.Refusal whose Detail may be shown to
// the stranger.
func (s *State) Admit(r engine.JoinRequest, now time.Time) ([]engine.MeshRecord, error) {
	refuse := func(status int, format string, args ...any) ([]engine.MeshRecord, error) {
		return nil, &engine.Refusal{Status: status, Type: "invitation", Detail: fmt.Sprintf(format, args...)}
	}
	i, key, ok := s.invitation(r.Invitation)
	hash := sha256.Sum256(r.Secret)
	if !ok || subtle.ConstantTimeCompare(hash[:], i.Secret[:]) != 1 {
		return refuse(http.StatusForbidden, "this invitation is not one of this site's")
	}
	if _, removed := s.removed[r.Site]; removed {
		return refuse(http.StatusForbidden, "this site was taken out of the mesh for good; to come back as a new one, begin with an empty data directory")
	}
	if s.IsMember(r.Site) {
		return nil, nil
	}
	switch name := r.Record.Name; {
	case !usable(i, now):
		return refuse(http.StatusForbidden, "this invitation is used up, revoked or expired; ask for a new one")
	case !validSite(r.Site) || CheckSite(r.Record) != nil || !scope.Name(string(name)):
		return refuse(http.StatusUnprocessableEntity, "a site cannot be called %.100q, or says too much of itself", name)
	case slices.ContainsFunc(s.Members(), func(m engine.Member) bool { return m.Name == name }):
		return refuse(http.StatusConflict, "the mesh has a site called %s already", name)
	case s.zones[engine.ZoneName(name)] != nil && !s.zones[engine.ZoneName(name)].said.(engine.ZoneRecord).Deleted:
		return refuse(http.StatusConflict, "the mesh has a zone called %s", name)
	case len(s.admitted) >= MaxMembers:
		return refuse(http.StatusConflict, "the mesh has %d sites; it takes no more", MaxMembers)
	}
	i.Uses--
	admission := engine.Admission{Invitation: i.ID, Name: r.Record.Name, At: now.UnixMicro()}
	return []engine.MeshRecord{
		s.Next(engine.RecordKey{Kind: engine.RecordAdmission, About: string(r.Site)}, admission),
		s.after(1, key, i),
	}, nil
}
