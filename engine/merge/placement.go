package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// Placement is where a resource lives: the fold of the place operations that a site knows. It is not changed once made.
type Placement struct {
	Sites []engine.SiteID // sorted
	// Parts are those sites part by part, for a cross resource; nil for others.
	Parts engine.Parts
	// Divided says that an operation has stated the parts, or that there are none any more: they are not those that it began with.
	Divided bool
	// Added and Removed name, for each site that an operation has put in or taken out, the one that did it last.
	Added, Removed map[engine.SiteID]*engine.Operation
	// Void are the operations that count for nothing, because they would have left no site.
	Void map[engine.OperationID]bool
}

// Collaboration is how the sites hold a resource together that began as another one may say.
func (p Placement) Collaboration(began engine.Collaboration) engine.Collaboration {
	switch {
	case p.Parts != nil:
		return engine.Cross
	case began == engine.Cross:
		return engine.Replication
	}
	return began
}

// Has reports whether a site belongs to the placement.
func (p Placement) Has(id engine.SiteID) bool { return slices.Contains(p.Sites, id) }

// Placement folds all place operations: of an addition and a removal of one site the later wins, and a removal that would
// leave no site is void. Of those that state the parts the last counts.
func (h *History) Placement() Placement {
	if h.placed.Sites == nil || h.placed.of != h.placing {
		h.placed = placed{h.placementOf(Any), h.placing}
	}
	return h.placed.Placement
}

// placed is the placement that so many operations have led to.
type placed struct {
	Placement
	of int
}

// placementOf folds what the checkpoint says of the placement and those later operations for which in is true.
func (h *History) placementOf(in func(*engine.Operation) bool) Placement {
	p := Placement{Sites: h.placement, Parts: h.parts}
	if h.base != nil && h.base.Placed != nil {
		p = h.base.Placed.placement(h)
	}
	for _, o := range h.ordered {
		if o.Place != nil && !o.Copy && !h.base.Has(o) && in(o) {
			p.place(o)
		}
	}
	return p
}

// place adds what one operation does. The lists that p has are left as they are.
func (p *Placement) place(o *engine.Operation) {
	sites := slices.DeleteFunc(slices.Clone(p.Sites), func(id engine.SiteID) bool { return slices.Contains(o.Place.Remove, id) })
	if sites = append(sites, o.Place.Add...); len(sites) == 0 {
		put(&p.Void, o.ID, true)
		return
	}
	slices.Sort(sites)
	sites = slices.Compact(sites)
	for _, id := range sites {
		if !slices.Contains(p.Sites, id) {
			put(&p.Added, id, o)
		}
	}
	for _, id := range p.Sites {
		if !slices.Contains(sites, id) {
			put(&p.Removed, id, o)
		}
	}
	p.Sites = sites
	if o.Place.Parts != nil {
		p.Parts, p.Divided = restated(o.Place.Parts, sites), true
	} else if p.Parts != nil {
		p.Parts = placeParts(p.Parts, o.Place)
	}
}

func put[K comparable, V any](m *map[K]V, key K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = v
}

// Placed is what a checkpoint keeps of a placement: beside the sites, the operations that have added and removed sites last,
// by site. It keeps those operations, too.
type Placed struct {
	Sites   []engine.SiteID                      `cbor:"1,keyasint"`
	Parts   engine.Parts                         `cbor:"2,keyasint,omitempty"`
	Added   map[engine.SiteID]engine.OperationID `cbor:"3,keyasint,omitempty"`
	Removed map[engine.SiteID]engine.OperationID `cbor:"4,keyasint,omitempty"`
	Divided bool                                 `cbor:"-"` // the checkpoint says so
}

// placement is what later operations go on from.
func (c *Placed) placement(h *History) Placement {
	p := Placement{Sites: c.Sites, Parts: c.Parts, Divided: c.Divided}
	for site, id := range c.Added {
		put(&p.Added, site, h.Get(id))
	}
	for site, id := range c.Removed {
		put(&p.Removed, site, h.Get(id))
	}
	return p
}

// keep is what a checkpoint keeps of p, and the operations that go with it.
func (p Placement) keep() (*Placed, []*engine.Operation) {
	kept := &Placed{Sites: p.Sites, Parts: p.Parts, Divided: p.Divided}
	var ops []*engine.Operation
	keep := func(in *map[engine.SiteID]engine.OperationID, site engine.SiteID, o *engine.Operation) {
		if !slices.Contains(ops, o) {
			ops = append(ops, o)
		}
		put(in, site, o.ID)
	}
	for site, o := range p.Added {
		if p.Has(site) {
			keep(&kept.Added, site, o)
		}
	}
	for site, o := range p.Removed {
		if !p.Has(site) {
			keep(&kept.Removed, site, o)
		}
	}
	return kept, ops
}

// PartOf returns the number of the part that a site holds; negative when it holds none.
func PartOf(parts engine.Parts, site engine.SiteID) int {
	return slices.IndexFunc(parts, func(part []engine.SiteID) bool { return slices.Contains(part, site) })
}

// restated returns the parts after an operation that states them. A site of which its origin did not know is a part of its own, the last. What has
// one part is replicated.
func restated(parts engine.Parts, sites []engine.SiteID) engine.Parts {
	if len(parts) == 1 {
		return nil
	}
	return placeParts(parts, &engine.PlacementChange{Add: sites})
}

// placeParts returns the parts after a placement operation. A site that is added takes the place of a part that the same
// operation leaves without a site, so that a part can move; otherwise it becomes a part of its own, the last.
func placeParts(parts engine.Parts, c *engine.PlacementChange) engine.Parts {
	add := slices.DeleteFunc(slices.Clone(c.Add), func(s engine.SiteID) bool { return PartOf(parts, s) >= 0 })
	var next engine.Parts
	for _, part := range parts {
		part = slices.DeleteFunc(slices.Clone(part), func(s engine.SiteID) bool { return slices.Contains(c.Remove, s) })
		if len(part) == 0 && len(add) > 0 {
			part, add = add[:1:1], add[1:]
		}
		if len(part) > 0 {
			next = append(next, part)
		}
	}
	for _, s := range add {
		next = append(next, []engine.SiteID{s})
	}
	return next
}
