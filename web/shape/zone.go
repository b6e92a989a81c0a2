package shape

import (
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
)

// Zone is a named set of sites, which scopes may name.
type Zone struct {
	Name  string    `json:"name"`
	Sites []string  `json:"sites"` // sorted
	By    string    `json:"by"`    // the site that has set it
	At    time.Time `json:"at"`
}

// Zone tells of a zone.
func (n Names) Zone(z engine.Zone) Zone {
	v := Zone{Name: string(z.Name), Sites: []string{}, By: n.Of(z.By), At: z.At}
	for _, id := range z.Sites {
		v.Sites = append(v.Sites, n.Of(id))
	}
	slices.Sort(v.Sites)
	return v
}
