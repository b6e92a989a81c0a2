package mesh

import (
	"cmp"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// entries are how all members came in, and those who were.
type entries struct {
	of map[engine.SiteID]entry
	// order are the sites by when they joined.
	order []engine.SiteID
}

type entry struct {
	at   int64 // Unix microseconds
	name engine.SiteName
}

// joined tells how sites came in. Of several admissions of a site the earliest counts; but nobody came in before whoever let
// it in, whatever that site says: so nobody can give a later site an earlier one's name.
func (s *State) joined() *entries {
	if s.entries != nil {
		return s.entries
	}
	of := map[engine.SiteID]entry{}
	s.entries = &entries{of: of}
	if s.id == "" {
		return s.entries
	}
	origin := s.records[s.founder][engine.RecordKey{Kind: engine.RecordMesh}].said.(engine.MeshOrigin)
	of[s.founder] = entry{at: origin.At}
	for ready := []engine.SiteID{s.founder}; len(ready) > 0; {
		by := ready[0]
		ready = ready[1:]
		for key, r := range s.records[by] {
			a, ok := r.said.(engine.Admission)
			if !ok {
				continue
			}
			id, e := engine.SiteID(key.About), entry{max(a.At, of[by].at+1), a.Name}
			if old, known := of[id]; !known || cmp.Or(cmp.Compare(e.at, old.at), cmp.Compare(e.name, old.name)) < 0 {
				of[id] = e
				ready = append(ready, id)
			}
		}
	}
	s.entries.order = slices.SortedFunc(maps.Keys(of), func(a, b engine.SiteID) int {
		return cmp.Or(cmp.Compare(of[a].at, of[b].at), cmp.Compare(a, b))
	})
	return s.entries
}

// Members lists the members, by when they joined. A site that was removed is one until it is gone. Where two claim one name,
// the one that joined earlier keeps it, and that of the other is empty.
func (s *State) Members() []engine.Member {
	if s.members != nil {
		return s.members
	}
	joined := s.joined()
	s.members = make([]engine.Member, 0, len(joined.order))
	taken := map[engine.SiteName]bool{}
	for _, id := range joined.order {
		if s.gone[id] {
			continue
		}
		m := engine.Member{ID: id, Joined: engine.Time(joined.of[id].at)}
		m.SiteRecord, _ = s.Site(id)
		m.Name = cmp.Or(m.Name, joined.of[id].name)
		if at, removed := s.removed[id]; removed {
			m.Removed = engine.Time(at)
		}
		if taken[m.Name] {
			m.Name = ""
		}
		taken[m.Name] = true
		s.members = append(s.members, m)
	}
	return s.members
}

// ID identifies the mesh; empty: this site belongs to none. Founder is the site that has founded it.
func (s *State) ID() string { return s.id }

// Founder is the site that has founded the mesh.
func (s *State) Founder() engine.SiteID { return s.founder }

// Self is the site whose state it is.
func (s *State) Self() engine.SiteID { return s.self }

// IsMember reports whether a site is a member: it may be talked to.
func (s *State) IsMember(id engine.SiteID) bool { return s.admitted[id] && !s.gone[id] }

// WasAdmitted reports whether a site is a member, or was one.
func (s *State) WasAdmitted(id engine.SiteID) bool { return s.admitted[id] }

// Removed tells since when a site is out of the mesh, whether or not it is gone already, in Unix microseconds; ok is false
// where it is not.
func (s *State) Removed(id engine.SiteID) (at int64, ok bool) {
	at, ok = s.removed[id]
	return at, ok
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

// Name is what a site calls itself, or was called when it was let in; of one that is unknown, its identifier.
func (s *State) Name(id engine.SiteID) engine.SiteName {
	record, _ := s.Site(id)
	return cmp.Or(record.Name, s.joined().of[id].name, engine.SiteName(id))
}
