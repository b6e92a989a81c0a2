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
	for name, r := range s.zones {
		if z := r.said.(engine.ZoneRecord); !z.Deleted {
			list = append(list, engine.Zone{Name: name, Sites: z.Sites, By: r.raw.Author, At: engine.Time(z.At)})
		}
	}
	slices.SortFunc(list, func(a, b engine.Zone) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// SetZone returns the record that makes a zone, or gives it other sites. What was created in a scope that names it stays
// where it is. The error is a *engine.Refusal.
func (s *State) SetZone(name engine.ZoneName, sites []engine.SiteID, now time.Time) (engine.MeshRecord, error) {
	sites = slices.Compact(slices.Sorted(slices.Values(sites)))
	refuse := func(status int, kind, format string, args ...any) (engine.MeshRecord, error) {
		return engine.MeshRecord{}, &engine.Refusal{Status: status, Type: kind, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(sites) == 0 || len(sites) > MaxZone || checkName(string(name)) != nil:
		return refuse(http.StatusUnprocessableEntity, "zone", "a zone has a name of at most %d bytes and 1 to %d sites", maxName, MaxZone)
	case !scope.Name(string(name)):
		return refuse(http.StatusUnprocessableEntity, "zone", "%q cannot be the name of a zone: a scope would read it as something else", name)
	case slices.ContainsFunc(sites, func(id engine.SiteID) bool { _, removed := s.removed[id]; return removed || !s.IsMember(id) }):
		return refuse(http.StatusUnprocessableEntity, "unknown-site", "a site of the zone is no member of the mesh")
	case slices.ContainsFunc(s.Members(), func(m engine.Member) bool { return string(m.Name) == string(name) }):
		return refuse(http.StatusConflict, "exists", "%s is a site; choose another name for the zone", name)
	}
	own := func(r *record) bool { return r.Key.Kind == engine.RecordZone && r.Key.About != string(name) }
	if count(s.records[s.self], own) >= MaxZones {
		return refuse(http.StatusConflict, "zone", "this site has set %d zones, deleted ones included; set this one at another site", MaxZones)
	}
	return s.nextZone(name, engine.ZoneRecord{Sites: sites}, now), nil
}

// DeleteZone returns the record that takes a zone away. ErrNotFound: there is none of that name.
func (s *State) DeleteZone(name engine.ZoneName, now time.Time) (engine.MeshRecord, error) {
	if r := s.zones[name]; r == nil || r.said.(engine.ZoneRecord).Deleted {
		return engine.MeshRecord{}, fmt.Errorf("delete zone %s: %w", name, engine.ErrNotFound)
	}
	return s.nextZone(name, engine.ZoneRecord{Deleted: true}, now), nil
}

func (s *State) nextZone(name engine.ZoneName, z engine.ZoneRecord, now time.Time) engine.MeshRecord {
	z.At = now.UnixMicro()
	if r := s.zones[name]; r != nil {
		z.At = min(max(z.At, r.said.(engine.ZoneRecord).At+1), maxTime)
	}
	return s.Next(engine.RecordKey{Kind: engine.RecordZone, About: string(name)}, z)
}
