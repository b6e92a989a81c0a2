package engine

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// ZoneName names a set of sites in scopes.
type ZoneName string

// Zone is a named set of sites. All members know the same zones, once they have heard of them.
type Zone struct {
	Name  ZoneName
	Sites []SiteID // sorted
	// By is the site that has set it, At when.
	By SiteID
	At time.Time
}

// zoneEntry is what a site says of a zone, in the mesh document under "author/name". Of what the sites say of one name the
// latest counts.
type zoneEntry struct {
	Sites   []SiteID  `json:"sites,omitempty"`
	At      time.Time `json:"at"` // later than what its author knew before
	Deleted bool      `json:"deleted,omitempty"`
}

const (
	// maxZoneName is the most bytes that the name of a zone may have.
	maxZoneName = 63
	// maxZone is the most sites that a zone may have.
	maxZone = 1024
)

// valid checks what another site says.
func (e *zoneEntry) valid(name string) bool {
	if name == "" || len(name) > maxZoneName || len(e.Sites) > maxZone || e.Deleted != (len(e.Sites) == 0) {
		return false
	}
	return !slices.ContainsFunc(e.Sites, func(id SiteID) bool { return id == "" || len(id) > maxSiteID })
}

// takeZone takes in what a site says of a zone. The caller holds m.mu.
func (m *mesh) takeZone(author SiteID, name ZoneName, e zoneEntry) {
	old, known := m.zones[name]
	if known && cmp.Or(old.At.Compare(e.At), cmp.Compare(old.by, author)) > 0 {
		return
	}
	m.zones[name] = zone{e, author}
}

// zone is what counts of a zone, and who has said it.
type zone struct {
	zoneEntry
	by SiteID
}

// Zones lists the zones by name.
func (s *Site) Zones() []Zone {
	s.mesh.mu.RLock()
	defer s.mesh.mu.RUnlock()
	list := []Zone{}
	for name, z := range s.mesh.zones {
		if !z.Deleted {
			list = append(list, Zone{Name: name, Sites: slices.Clone(z.Sites), By: z.by, At: z.At})
		}
	}
	slices.SortFunc(list, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// SetZone makes a zone, or gives it other sites. What was created in a scope that names it stays where it is.
func (s *Site) SetZone(ctx context.Context, name ZoneName, sites []SiteID) error {
	sites = slices.Compact(slices.Sorted(slices.Values(sites)))
	switch {
	case len(sites) == 0 || len(sites) > maxZone || len(name) > maxZoneName:
		return &Refusal{Status: http.StatusUnprocessableEntity, Type: "zone", Detail: fmt.Sprintf(
			"a zone has a name of at most %d bytes and 1 to %d sites", maxZoneName, maxZone)}
	case slices.ContainsFunc(sites, func(id SiteID) bool { return !s.IsMember(id) || s.Removed(id) }):
		return &Refusal{Status: http.StatusUnprocessableEntity, Type: "unknown-site", Detail: "a site of the zone is no member of the mesh"}
	case slices.ContainsFunc(s.Members(), func(m Member) bool { return string(m.Name) == string(name) }):
		return &Refusal{Status: http.StatusConflict, Type: "exists", Detail: fmt.Sprintf("%s is a site; choose another name for the zone", name)}
	}
	return s.writeZone(ctx, name, zoneEntry{Sites: sites})
}

// DeleteZone takes a zone away. ErrNotFound: there is none of that name.
func (s *Site) DeleteZone(ctx context.Context, name ZoneName) error {
	s.mesh.mu.RLock()
	z, known := s.mesh.zones[name]
	s.mesh.mu.RUnlock()
	if !known || z.Deleted {
		return fmt.Errorf("delete zone %s: %w", name, ErrNotFound)
	}
	return s.writeZone(ctx, name, zoneEntry{Deleted: true})
}

func (s *Site) writeZone(ctx context.Context, name ZoneName, e zoneEntry) error {
	s.mesh.change.Lock()
	defer s.mesh.change.Unlock()
	s.mesh.mu.RLock()
	before := s.mesh.zones[name].At
	s.mesh.mu.RUnlock()
	if e.At = s.cfg.Now(); !e.At.After(before) {
		e.At = before.Add(time.Microsecond)
	}
	err := s.writeMesh(ctx, Entry{Map: MapZones, Key: string(s.cfg.Self) + "/" + string(name), Value: compactStruct(e)})
	if err != nil {
		return fmt.Errorf("write zone %s: %w", name, err)
	}
	return nil
}
