package api

import (
	"cmp"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/vivaldi"
	"github.com/skerry/skerry/web/shape"
)

// Sites lists the members, this site first, then by name.
func (a *API) Sites() []shape.Site {
	self, status, now := a.Mesh.Self(), a.Network.Status(), a.Now()
	sites, members := []shape.Site{}, a.Mesh.Members()
	var here *vivaldi.Coordinate
	if i := slices.IndexFunc(members, func(m engine.Member) bool { return m.ID == self }); i >= 0 {
		here = members[i].Coordinate
	}
	names := shape.NamesOf(members)
	for _, m := range members {
		s := shape.SiteOf(m, a.queues(m))
		s.CertifiedName = names.Of(m.Certified)
		if m.ID == self {
			s.MarkSelf(now, -a.Network.Correction())
		} else {
			s.Met(status[m.ID], here, m.Coordinate)
		}
		sites = append(sites, s)
	}
	slices.SortFunc(sites, func(x, y shape.Site) int {
		if x.Self != y.Self {
			if x.Self {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.Name, y.Name)
	})
	return sites
}

func (a *API) names() shape.Names { return shape.NamesOf(a.Mesh.Members()) }
