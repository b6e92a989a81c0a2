package mesh

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
)

// Zones lists the zones by name.
func (s *State) Zones() []engine.Zone {
	list := []engine.Zone{}
	for key, r := range s.shared {
		if z, ok := r.said.(engine.ZoneRecord); ok && !z.Deleted {
			list = append(list, engine.Zone{Name: engine.ZoneName(key.About), Sites: z.Sites, By: r.raw.Author, At: engine.Time(z.At)})
		}
	}
	slices.SortFunc(list, func(a, b engine.Zone) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// SetZone returns the record that makes a zone, or gives it other sites. What was created in a scope that names it stays
// where it is. The error is a *engine.Refusal.
func (a Author) SetZone(name engine.ZoneName, sites []engine.SiteID, now time.Time) (engine.MeshRecord, error) {
	sites = slices.Compact(slices.Sorted(slices.Values(sites)))
	refuse := func(status int, kind, format string, args ...any) (engine.MeshRecord, error) {
		return engine.MeshRecord{}, &engine.Refusal{Status: status, Type: kind, Detail: fmt.Sprintf(format, args...)}
	}
	if err := a.mayOrder(); err != nil {
		return engine.MeshRecord{}, err
	}
	switch {
	case len(sites) == 0 || len(sites) > MaxZone || checkName(string(name)) != nil:
		return refuse(http.StatusUnprocessableEntity, "zone", "a zone has a name of at most %d bytes and 1 to %d sites", maxName, MaxZone)
	case !scope.Name(string(name)):
		return refuse(http.StatusUnprocessableEntity, "zone", "%q cannot be the name of a zone: a scope would read it as something else", name)
	case slices.ContainsFunc(sites, func(id engine.SiteID) bool { _, removed := a.removed[id]; return removed || !a.IsMember(id) }):
		return refuse(http.StatusUnprocessableEntity, "unknown-site", "a site of the zone is no member of the mesh")
	case slices.ContainsFunc(a.Members(), func(m engine.Member) bool { return string(m.Name) == string(name) }):
		return refuse(http.StatusConflict, "exists", "%s is a site; choose another name for the zone", name)
	}
	if a.shared[zoneKey(name)] == nil && count(a.shared, func(r *record) bool { return r.Key.Kind == engine.RecordZone }) >= MaxZones {
		return refuse(http.StatusConflict, "zone", "the mesh has %d zones, deleted ones included: give one of them other sites", MaxZones)
	}
	return a.Next(zoneKey(name), engine.ZoneRecord{Sites: sites, At: now.UnixMicro()}), nil
}

func zoneKey(name engine.ZoneName) engine.RecordKey {
	return engine.RecordKey{Kind: engine.RecordZone, About: string(name)}
}

// isZone reports whether there is a zone of this name.
func (s *State) isZone(name engine.ZoneName) bool {
	r := s.shared[zoneKey(name)]
	return r != nil && !r.said.(engine.ZoneRecord).Deleted
}

// DeleteZone returns the record that takes a zone away. ErrNotFound: there is none of that name. The error may be a *engine.Refusal.
func (a Author) DeleteZone(name engine.ZoneName, now time.Time) (engine.MeshRecord, error) {
	if !a.isZone(name) {
		return engine.MeshRecord{}, fmt.Errorf("delete zone %s: %w", name, engine.ErrNotFound)
	}
	if err := a.mayOrder(); err != nil {
		return engine.MeshRecord{}, err
	}
	return a.Next(zoneKey(name), engine.ZoneRecord{Deleted: true, At: now.UnixMicro()}), nil
}
