package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skerry/skerry/engine/vivaldi"
)

// admission is what the mesh document says about a site that was let in. Its key is "issuer/site".
type admission struct {
	Invitation string `json:"invitation"`
	// Name is what the site called itself. It counts until the site says more of itself.
	Name SiteName  `json:"name"`
	At   time.Time `json:"at"`
}

// mesh is the mesh document decoded: who belongs to the mesh, what they are called and where they are.
type mesh struct {
	// change is held while this site writes the document or takes changes in. It is taken before mu.
	change sync.Mutex

	mu       sync.RWMutex
	id       DocumentID
	founder  SiteID
	meshID   string
	aboutRaw []byte
	own      SiteRecord // what this run has said of the site last
	sites    map[SiteID]SiteRecord
	// rulesChanged says that a site's rules are others than before, until what waits for that has been hurried.
	rulesChanged bool
	admitted     map[SiteID]admission
	// removed tells since when sites are out of the mesh, news are those of them that were heard of just now, gone those that
	// are no members any more.
	removed     map[SiteID]time.Time
	news        []SiteID
	gone        map[SiteID]bool
	invitations map[string]Invitation // by "issuer/id": no site can hide another's
	zones       map[ZoneName]zone
}

func (m *mesh) init() {
	m.sites = map[SiteID]SiteRecord{}
	m.admitted = map[SiteID]admission{}
	m.removed = map[SiteID]time.Time{}
	m.gone = map[SiteID]bool{}
	m.invitations = map[string]Invitation{}
	m.zones = map[ZoneName]zone{}
}

func (m *mesh) documentID() DocumentID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.id
}

// take takes an entry in. An admission counts only when its author is a member.
func (m *mesh) take(e Entry) error {
	author, rest, _ := strings.Cut(e.Key, "/")
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Map {
	case MapSites:
		var r SiteRecord
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return fmt.Errorf("record of site %s: %w: %w", author, ErrRefused, err)
		}
		m.rulesChanged = m.rulesChanged || !maps.Equal(m.sites[SiteID(author)].Rules, r.Rules)
		if r.Coordinate != nil && !r.Coordinate.Valid() {
			r.Coordinate = nil
		}
		m.sites[SiteID(author)] = r
	case MapMembers:
		if id, ok := removalOf(rest); ok {
			return m.takeRemoval(id, e.Value)
		}
		var a admission
		if err := decodeStrict(e.Value, &a); err != nil {
			return fmt.Errorf("admission %s: %w: %w", e.Key, ErrRefused, err)
		}
		if old, ok := m.admitted[SiteID(rest)]; !ok || a.At.Before(old.At) {
			m.admitted[SiteID(rest)] = a
		}
	case MapInvitations:
		var i Invitation
		if err := decodeStrict(e.Value, &i); err != nil || string(i.Issuer) != author || i.ID != rest {
			return fmt.Errorf("invitation %s: %w", e.Key, ErrRefused)
		}
		m.invitations[e.Key] = i
	case MapZones:
		var z zoneEntry
		if err := decodeStrict(e.Value, &z); err != nil || !z.valid(rest) {
			return fmt.Errorf("zone %s: %w", e.Key, ErrRefused)
		}
		m.takeZone(SiteID(author), ZoneName(rest), z)
	}
	return nil
}

// loadMesh reads the mesh document, if this site is part of a mesh already.
func (s *Site) loadMesh(ctx context.Context) error {
	row, err := s.cfg.Store.MeshDocument(ctx)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the mesh document: %w", err)
	}
	entries, err := s.cfg.Documents.Entries(ctx, row.ID)
	if err != nil {
		return fmt.Errorf("read the mesh document: %w", err)
	}
	return s.useMesh(row.ID, row.About, entries)
}

func (s *Site) useMesh(id DocumentID, raw []byte, entries []Entry) error {
	var about About
	if err := json.Unmarshal(raw, &about); err != nil {
		return fmt.Errorf("read the mesh document: %w", err)
	}
	if about.Schema != SchemaMesh || len(about.Placement) != 1 {
		return fmt.Errorf("read the mesh document: %w: it does not describe a mesh", ErrRefused)
	}
	m := &s.mesh
	m.mu.Lock()
	m.id, m.aboutRaw, m.founder, m.meshID = id, raw, about.Placement[0], string(about.Key)
	m.mu.Unlock()
	for _, e := range entries {
		if err := m.take(e); err != nil {
			s.cfg.Log.Warn("entry of the mesh document left out", "err", err)
		}
	}
	return nil
}

// InMesh reports whether this site belongs to a mesh.
func (s *Site) InMesh() bool { return s.mesh.documentID() != "" }

// MeshID identifies the mesh; it is empty before this site belongs to one.
func (s *Site) MeshID() string {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	return s.mesh.meshID
}

// Found makes a new mesh, whose first site this is.
func (s *Site) Found(ctx context.Context, record SiteRecord) error {
	about := About{Schema: SchemaMesh, Key: ResourceID(s.cfg.NewID()), Placement: []SiteID{s.cfg.Self}}
	raw, id, err := s.cfg.Documents.Encode(about)
	if err != nil {
		return fmt.Errorf("make the mesh document: %w", err)
	}
	if _, err := s.cfg.Documents.Create(id, raw); err != nil {
		return fmt.Errorf("make the mesh document: %w", err)
	}
	if err := s.useMesh(id, raw, nil); err != nil {
		return err
	}
	return s.Announce(ctx, record)
}

// Adopt makes the mesh that e describes this site's own, after another site has admitted it.
func (s *Site) Adopt(ctx context.Context, e Envelope) error {
	if _, err := s.cfg.Documents.Create(e.Document, e.About); err != nil {
		return fmt.Errorf("adopt the mesh: %w", err)
	}
	rows, entries, err := s.cfg.Documents.Merge(ctx, e.Document, e.Changes, anyone)
	if err != nil {
		return fmt.Errorf("adopt the mesh: %w", err)
	}
	if err := s.useMesh(e.Document, e.About, entries); err != nil {
		return err
	}
	if !s.IsMember(s.cfg.Self) {
		return fmt.Errorf("adopt the mesh: %w: this site is not among its members", ErrRefused)
	}
	s.takeUpRemovals()
	return s.storeMesh(ctx, &Batch{Changes: rows})
}

// Announce publishes what this site says of itself, if that has changed.
func (s *Site) Announce(ctx context.Context, record SiteRecord) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	old := s.ownRecord()
	record.At, record.Run, record.Rules = old.At, s.runID, s.known.Load().rules
	if at := s.Coordinate(); at != (vivaldi.Coordinate{}) {
		record.Coordinate = &at
	}
	record.Heard, record.Restored, record.Cloned, record.Gone = old.Heard, old.Restored, old.Cloned, old.Gone
	if string(compactStruct(old)) == string(compactStruct(record)) {
		return nil
	}
	return s.writeRecord(ctx, record)
}

// writeMesh makes one change of the mesh document. The caller holds mesh.change.
func (s *Site) writeMesh(ctx context.Context, entries ...Entry) error {
	if err := s.Writable(); err != nil {
		return err
	}
	id := s.mesh.documentID()
	change, err := s.cfg.Documents.Write(ctx, id, entries)
	if err != nil {
		return fmt.Errorf("write the mesh document: %w", err)
	}
	if err := s.storeMesh(ctx, &Batch{Changes: []ChangeRow{change}}); err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.mesh.take(e); err != nil {
			return err
		}
	}
	if s.network != nil {
		s.network.Publish(s.memberIDs(), Envelope{Document: id, About: s.mesh.aboutRaw, Changes: []SignedChange{change.SignedChange}})
	}
	return nil
}

func (s *Site) storeMesh(ctx context.Context, b *Batch) error {
	id := s.mesh.documentID()
	heads, err := s.cfg.Documents.Heads(ctx, id)
	if err != nil {
		return fmt.Errorf("store the mesh document: %w", err)
	}
	b.Documents = append(b.Documents, DocumentRow{ID: id, About: s.mesh.aboutRaw, Mesh: true, Heads: heads})
	if err := s.commit(ctx, b); err != nil {
		s.cfg.Documents.Forget(id)
		return fmt.Errorf("store the mesh document: %w", err)
	}
	return nil
}

// anyone is who may write a document whose authors are checked elsewhere.
func anyone(SiteID) bool { return true }

// receiveMesh takes changes of the mesh document in, one by one, because each author must be a member when it writes.
func (s *Site) receiveMesh(ctx context.Context, e Envelope) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	var stored []ChangeRow
	var failed error
	if s.twin.isCloned() {
		return fmt.Errorf("receive the mesh document: %w", ErrCloned)
	}
	for _, c := range e.Changes {
		if !s.wasAdmitted(c.Author) { // what a site wrote before it was removed may come through others
			failed = fmt.Errorf("receive the mesh document: %w: %s is not known to be a member", ErrMissing, c.Author)
			break
		}
		rows, put, err := s.cfg.Documents.Merge(ctx, e.Document, []SignedChange{c}, anyone)
		for _, p := range put {
			if err := s.mesh.take(p); err != nil {
				s.cfg.Log.Warn("entry of the mesh document left out", "err", err)
			}
		}
		stored = append(stored, rows...)
		if err != nil {
			failed = fmt.Errorf("receive the mesh document: %w", err)
			break
		}
	}
	if len(stored) > 0 {
		if err := s.storeMesh(ctx, &Batch{Changes: stored}); err != nil {
			return err
		}
		s.hurryRules()
		s.heedRemovals(ctx)
		if s.ownAmong(stored) {
			return errors.Join(failed, s.meetTwin(ctx))
		}
	}
	return failed
}

// Self implements Membership.
func (s *Site) Self() SiteID { return s.cfg.Self }

// IsMember implements Membership. A site that was removed is one until it has left.
func (s *Site) IsMember(id SiteID) bool {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	return s.mesh.wasAdmitted(id) && !s.mesh.gone[id]
}

// wasAdmitted reports whether a site is a member, or was one.
func (s *Site) wasAdmitted(id SiteID) bool {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	return s.mesh.wasAdmitted(id)
}

// wasAdmitted is asked by who holds m.mu.
func (m *mesh) wasAdmitted(id SiteID) bool {
	_, ok := m.admitted[id]
	return m.id != "" && (ok || id == m.founder)
}

func (s *Site) memberIDs() []SiteID {
	m := &s.mesh
	m.mu.RLock()
	defer m.mu.RUnlock()
	ids := slices.Collect(maps.Keys(m.admitted))
	if _, ok := m.admitted[m.founder]; !ok && m.founder != "" {
		ids = append(ids, m.founder)
	}
	ids = slices.DeleteFunc(ids, func(id SiteID) bool { return m.gone[id] })
	slices.Sort(ids)
	return ids
}

// Members implements Membership. Where two claim one name, the one that joined earlier keeps it.
func (s *Site) Members() []Member {
	ids := s.memberIDs()
	m := &s.mesh
	m.mu.RLock()
	defer m.mu.RUnlock()
	members := make([]Member, 0, len(ids))
	for _, id := range ids {
		record := m.sites[id]
		record.Name = cmp.Or(record.Name, m.admitted[id].Name)
		members = append(members, Member{ID: id, SiteRecord: record, Joined: m.admitted[id].At, Removed: m.removed[id]})
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Or(a.Joined.Compare(b.Joined), cmp.Compare(a.ID, b.ID)) })
	taken := map[SiteName]bool{}
	for i := range members {
		if taken[members[i].Name] {
			members[i].Name = ""
		}
		taken[members[i].Name] = true
	}
	return members
}

// name is what people call a site.
func (s *Site) name(id SiteID) SiteName {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	return cmp.Or(s.mesh.sites[id].Name, s.mesh.admitted[id].Name, SiteName(id))
}

// Invite makes an invitation. The secret is in the answer only; the mesh document keeps its hash.
func (s *Site) Invite(ctx context.Context, expires time.Duration, uses int) (Invitation, []byte, error) {
	secret := make([]byte, 32)
	s.cfg.Random(secret)
	now := s.cfg.Now()
	i := Invitation{
		ID: s.cfg.NewID(), Issuer: s.cfg.Self, Secret: sha256.Sum256(secret),
		ExpiresAt: now.Add(expires), Uses: uses, CreatedAt: now,
	}
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	if err := s.writeMesh(ctx, s.invitationEntry(i)); err != nil {
		return Invitation{}, nil, fmt.Errorf("make an invitation: %w", err)
	}
	return i, secret, nil
}

func (s *Site) invitationEntry(i Invitation) Entry {
	return Entry{Map: MapInvitations, Key: string(s.cfg.Self) + "/" + i.ID, Value: compactStruct(i)}
}

// Invitations lists those of all sites, newest first.
func (s *Site) Invitations() []Invitation {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	list := slices.Collect(maps.Values(s.mesh.invitations))
	slices.SortFunc(list, func(a, b Invitation) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Revoke ends an invitation of this site. ErrNotFound: this site has made none of that id.
func (s *Site) Revoke(ctx context.Context, id string) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	s.mesh.mu.RLock()
	i, ok := s.mesh.invitations[string(s.cfg.Self)+"/"+id]
	s.mesh.mu.RUnlock()
	if !ok {
		return fmt.Errorf("revoke invitation %s: %w", id, ErrNotFound)
	}
	i.Revoked = true
	if err := s.writeMesh(ctx, s.invitationEntry(i)); err != nil {
		return fmt.Errorf("revoke invitation %s: %w", id, err)
	}
	return nil
}

func (i Invitation) usable(self SiteID, now time.Time) bool {
	return i.Issuer == self && !i.Revoked && i.Uses > 0 && now.Before(i.ExpiresAt)
}

// Inviting implements Membership.
func (s *Site) Inviting() bool {
	now := s.cfg.Now()
	return slices.ContainsFunc(s.Invitations(), func(i Invitation) bool { return i.usable(s.cfg.Self, now) })
}

// Admit implements Membership.
func (s *Site) Admit(ctx context.Context, r JoinRequest) (Envelope, error) {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	s.mesh.mu.RLock()
	i, ok := s.mesh.invitations[string(s.cfg.Self)+"/"+r.Invitation]
	s.mesh.mu.RUnlock()
	hash := sha256.Sum256(r.Secret)
	if !ok || subtle.ConstantTimeCompare(hash[:], i.Secret[:]) != 1 {
		return Envelope{}, &Refusal{Status: 403, Type: "invitation", Detail: "this invitation is not one of this site's"}
	}
	if s.Removed(r.Site) {
		return Envelope{}, &Refusal{Status: 403, Type: "invitation", Detail: "this site was taken out of the mesh for good; to come back as a new one, begin with an empty data directory"}
	}
	if !s.IsMember(r.Site) { // a site whose first try was cut off comes again
		if !i.usable(s.cfg.Self, s.cfg.Now()) {
			return Envelope{}, &Refusal{Status: 403, Type: "invitation", Detail: "this invitation is used up, revoked or expired; ask for a new one"}
		}
		for _, m := range s.Members() {
			if m.Name == r.Record.Name {
				return Envelope{}, &Refusal{Status: 409, Type: "invitation", Detail: fmt.Sprintf("the mesh has a site called %s already", m.Name)}
			}
		}
		if slices.ContainsFunc(s.Zones(), func(z Zone) bool { return string(z.Name) == string(r.Record.Name) }) {
			return Envelope{}, &Refusal{Status: 409, Type: "invitation", Detail: fmt.Sprintf("the mesh has a zone called %s", r.Record.Name)}
		}
		i.Uses--
		a := admission{Invitation: i.ID, Name: r.Record.Name, At: s.cfg.Now()}
		// First the member, then the use: in between, a site that is neither would be shown the door.
		err := s.writeMesh(ctx, Entry{Map: MapMembers, Key: string(s.cfg.Self) + "/" + string(r.Site), Value: compactStruct(a)},
			s.invitationEntry(i))
		if err != nil {
			return Envelope{}, fmt.Errorf("admit %s: %w", r.Record.Name, err)
		}
	}
	e, _, err := s.Missing(ctx, s.cfg.Self, s.mesh.documentID(), nil, 0)
	if err != nil {
		return Envelope{}, fmt.Errorf("admit %s: %w", r.Record.Name, err)
	}
	return e, nil
}
