package history

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
)

// resourceAt is a resource at a site.
type resourceAt struct {
	resource *resource
	site     *site
}

// findPlacement asks the sites where a resource has come to live. Those that have it agree. Operators who have dropped each other's
// resource of one name have two, at different sites.
func (c *checker) findPlacement(res *resource) {
	res.placement = nil
	rows := map[*site]engine.ResourceRow{}
	for _, s := range c.w.sites {
		row, err := s.Disk.ResourceByID(c.w.Ctx, res.kind.Service, res.kind.Name, engine.ResourceID(res.id))
		if err != nil || row.State.Past() {
			continue
		}
		rows[s] = row
		c.lives[resourceAt{res, s}] = row.Document
		for id := range row.Sites {
			if other := c.w.siteOf(id); !slices.Contains(res.placement, other) {
				res.placement = append(res.placement, other)
			}
		}
	}
	slices.SortFunc(res.placement, func(a, b *site) int { return a.N - b.N })
	for i, s := range c.w.sites {
		for _, other := range c.w.sites[i+1:] {
			mine, here := rows[s]
			theirs, there := rows[other]
			at, as := slices.Sorted(maps.Keys(mine.Sites)), slices.Sorted(maps.Keys(theirs.Sites))
			switch {
			case !here || !there:
			case mine.Document == theirs.Document && !slices.Equal(at, as):
				c.say("%s: %s lives at %v, as %s sees it at %v", s.Name, res.tag, at, other.Name, as)
			case mine.Document != theirs.Document && !c.w.knobs.drops:
				c.say("%s: %s is another resource than at %s", s.Name, res.tag, other.Name)
			case mine.Document != theirs.Document && (slices.Contains(at, other.ID) && !c.leaves(mine, other) || slices.Contains(as, s.ID) && !c.leaves(theirs, s)):
				c.say("%s: %s lives at %v, and is another resource at %s, which lives at %v", s.Name, res.tag, at, other.Name, as)
			}
		}
	}
}

// livesApart reports whether a site has another resource of the name than the one that was asked for: an operator has dropped that.
func (c *checker) livesApart(s *site, q *request) bool {
	here, lives := c.lives[resourceAt{q.resource, s}]
	return lives && slices.ContainsFunc(c.w.sites, func(other *site) bool {
		row, err := other.Disk.Recalled(q.operation)
		return err == nil && row.Document != "" && row.Document != here
	})
}

// leaves reports whether a resource leaves its name to another one at a site.
func (c *checker) leaves(row engine.ResourceRow, s *site) bool {
	at := place{row.Document, s}
	return c.yields[at] || c.dropped[at]
}
