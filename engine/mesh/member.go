package mesh

import (
	"cmp"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// Members lists the members, by when they joined. A site that was removed is one until it is gone. Names are those of the
// certificates, whatever a site says of itself. Where two have one name, the one that got it first keeps it, and that of the
// other is empty; of one that was removed it is free for others.
func (s *State) Members() []engine.Member {
	if s.members != nil {
		return s.members
	}
	s.members = make([]engine.Member, 0, len(s.admitted))
	named := map[engine.SiteID]uint64{}
	for id := range s.admitted {
		if s.gone[id] {
			continue
		}
		m := engine.Member{ID: id}
		m.SiteRecord, _ = s.Site(id)
		m.Bulletin = s.Bulletin(id)
		if c, r := s.certificate(id); r != nil {
			named[id] = cmp.Or(c.Named, r.Number)
			m.Name, m.Joined, m.Certified = c.Name, engine.Time(c.At), r.raw.Author
			m.From, m.Until = moment(c.From), moment(c.Until)
		} else {
			m.Joined, m.Certified = engine.Time(s.origin().At), id
		}
		if at, removed := s.removed[id]; removed {
			m.Removed, m.Revoked = engine.Time(at), s.Revoked(id)
		}
		s.members = append(s.members, m)
	}
	slices.SortFunc(s.members, func(a, b engine.Member) int { // by who keeps a name
		return cmp.Or(out(a)-out(b), cmp.Compare(named[a.ID], named[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	taken := map[engine.SiteName]bool{}
	for i := range s.members {
		m := &s.members[i]
		if taken[m.Name] {
			m.Name = ""
		}
		taken[m.Name] = true
	}
	slices.SortFunc(s.members, func(a, b engine.Member) int {
		return cmp.Or(a.Joined.Compare(b.Joined), cmp.Compare(named[a.ID], named[b.ID]), cmp.Compare(a.ID, b.ID))
	})
	return s.members
}

func out(m engine.Member) int {
	if m.Removed.IsZero() {
		return 0
	}
	return 1
}

// moment is a time of a record; zero: none.
func moment(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return engine.Time(at)
}

// origin is how the mesh began; it is not called before it has.
func (s *State) origin() engine.MeshOrigin {
	return s.records[s.founder][engine.RecordKey{Kind: engine.RecordMesh}].said.(engine.MeshOrigin)
}

// ID identifies the mesh; empty: this site belongs to none. Founder is the site that has founded it.
func (s *State) ID() string { return s.id }

// Founder is the site that has founded the mesh.
func (s *State) Founder() engine.SiteID { return s.founder }

// Self is the site whose state it is.
func (s *State) Self() engine.SiteID { return s.self }

// IsMember reports whether a site is a member.
func (s *State) IsMember(id engine.SiteID) bool { return s.admitted[id] && !s.gone[id] }

// Good reports whether a site is a member that may be talked to now: its certificate is good. One whose clock is a little
// behind takes a new one for good.
func (s *State) Good(id engine.SiteID, now time.Time) bool {
	if !s.IsMember(id) || s.Revoked(id) {
		return false
	}
	c, _ := s.certificate(id)
	return now.Add(fresh).UnixMicro() >= c.From && (c.Until == 0 || now.UnixMicro() < c.Until)
}

// fresh is by how much the clock of whoever reads a certificate may be behind the one of the authority.
const fresh = time.Hour

// WasAdmitted reports whether a site is a member, or was one.
func (s *State) WasAdmitted(id engine.SiteID) bool { return s.admitted[id] }

// Removed tells since when a site is out of the mesh, whether or not it is gone already, in Unix microseconds; ok is false
// where it is not.
func (s *State) Removed(id engine.SiteID) (at int64, ok bool) {
	at, ok = s.removed[id]
	return at, ok
}

// Revoked reports whether a site's key is not trusted any more.
func (s *State) Revoked(id engine.SiteID) bool {
	return s.shared[engine.RecordKey{Kind: engine.RecordRevocation, About: string(id)}] != nil
}

// SetGone ends the membership of a site that was removed, which shares nothing more or has kept silent for too long. It is
// not kept with the records: each site sees that for itself.
func (s *State) SetGone(id engine.SiteID) {
	if _, removed := s.removed[id]; removed {
		s.gone[id], s.members = true, nil
	}
}

// Site returns what a site says of itself; ok is false where it has not said anything yet.
func (s *State) Site(id engine.SiteID) (record engine.SiteRecord, ok bool) {
	r := s.records[id][engine.RecordKey{Kind: engine.RecordSite}]
	if r == nil {
		return engine.SiteRecord{}, false
	}
	return r.said.(engine.SiteRecord), true
}

// Own is what this site has said of itself last.
func (s *State) Own() engine.SiteRecord {
	record, _ := s.Site(s.self)
	return record
}

// Name is what the certificate of a site calls it, though another may have that name; of one without, its identifier.
func (s *State) Name(id engine.SiteID) engine.SiteName {
	if c, r := s.certificate(id); r != nil {
		return c.Name
	}
	if s.admitted[id] { // the founder
		record, _ := s.Site(id)
		return cmp.Or(record.Name, engine.SiteName(id))
	}
	return engine.SiteName(id)
}
