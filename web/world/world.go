// Package world tells what the names in a scope stand for: the sites, zones and services that this site knows now. Interception
// and the REST API compare scopes with the same world.
package world

import (
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
)

// Mesh is what the world is made from. It is safe for concurrent use.
type Mesh interface {
	Self() engine.SiteID
	Members() []engine.Member
	Zones() []engine.Zone
	// Distances tells how long a round trip between two sites takes now, measured or estimated; false when that is not known.
	Distances() func(a, b engine.SiteID) (time.Duration, bool)
}

// Of returns the world, and the sites that the names in it belong to. Addressed is the service that a request addresses, empty
// without one.
func Of(m Mesh, application string, services []engine.ServiceName, addressed string) (scope.World, map[string]engine.SiteID) {
	w := scope.World{Application: application, Addressed: addressed, Zones: map[string][]string{}}
	for _, s := range services {
		w.Services = append(w.Services, string(s))
	}
	self, ids, names := m.Self(), map[string]engine.SiteID{}, map[engine.SiteID]string{}
	for _, member := range m.Members() {
		name := string(member.Name)
		if name == "" || !member.Removed.IsZero() && member.ID != self {
			continue
		}
		if member.ID == self {
			w.Self = name
		}
		w.Sites = append(w.Sites, name)
		ids[name], names[member.ID] = member.ID, name
	}
	for _, z := range m.Zones() {
		sites := []string{}
		for _, id := range z.Sites {
			if name := names[id]; name != "" {
				sites = append(sites, name)
			}
		}
		w.Zones[string(z.Name)] = sites
	}
	var distance func(a, b engine.SiteID) (time.Duration, bool)
	w.RTT = func(a, b string) (time.Duration, bool) {
		if distance == nil { // most scopes do not ask
			distance = m.Distances()
		}
		return distance(ids[a], ids[b])
	}
	return w, ids
}

// Name returns what people call a site; its identifier when no member has it, or has told a name.
func Name(m interface{ Members() []engine.Member }, id engine.SiteID) string {
	for _, member := range m.Members() {
		if member.ID == id && member.Name != "" {
			return string(member.Name)
		}
	}
	return string(id)
}

// Unnamed says that a scope does not name the service of its request, which so means this site alone.
func Unnamed(service, site string) string {
	return "the scope does not name the service " + service + ": the request is for " + site + " alone"
}
