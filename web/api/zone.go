package api

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

func (n names) zone(z engine.Zone) Zone {
	v := Zone{Name: string(z.Name), Sites: []string{}, By: n.of(z.By), At: z.At}
	for _, id := range z.Sites {
		v.Sites = append(v.Sites, n.of(id))
	}
	slices.Sort(v.Sites)
	return v
}
