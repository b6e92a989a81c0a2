package engine

import (
	"fmt"
	"slices"
)

// PlacementChange is what an operation of TypePlace does to where its resource lives. It is no request to the application.
type PlacementChange struct {
	// Add and Remove are sorted, have no site twice and none in common; at least one is not empty.
	Add    []SiteID `json:"add,omitempty"`
	Remove []SiteID `json:"remove,omitempty"`
	// Forced says that the added sites make the object from what is known, though actions have run on it whose effect
	// nothing tells.
	Forced bool `json:"forced,omitempty"`
}

const (
	// maxPlaced is the most sites that one operation adds or removes.
	maxPlaced = 1024
	// maxSiteID is the most bytes that the identifier of a site may have.
	maxSiteID = 128
)

// Validate checks what a PlacementChange from another site must fulfil.
func (c *PlacementChange) Validate() error {
	if n := len(c.Add) + len(c.Remove); n == 0 || n > maxPlaced {
		return fmt.Errorf("a placement change of %d sites", n)
	}
	for _, list := range [][]SiteID{c.Add, c.Remove} {
		for i, id := range list {
			if id == "" || len(id) > maxSiteID || i > 0 && list[i-1] >= id {
				return fmt.Errorf("a placement change whose sites are not sorted, or are none")
			}
		}
	}
	if slices.ContainsFunc(c.Add, func(id SiteID) bool { return slices.Contains(c.Remove, id) }) {
		return fmt.Errorf("a placement change that adds and removes one site")
	}
	return nil
}

// Placement is where a resource lives: the fold of the place operations that a site knows.
type Placement struct {
	Sites []SiteID // sorted
	// Parts are those sites part by part, for a cross resource; nil for others.
	Parts Parts
	// Added and Removed name, for each site that an operation has put in or taken out, the one that did it last.
	Added, Removed map[SiteID]*Operation
	// Void are the operations that count for nothing, because they would have left no site.
	Void map[OperationID]bool
}

// PlacementOf folds the place operations among ops, which come in the order that counts. Of an addition and a removal of one
// site the later wins. A removal that would leave no site is void.
func PlacementOf(initial []SiteID, ops []*Operation) Placement {
	p := Placement{Sites: slices.Clone(initial), Added: map[SiteID]*Operation{}, Removed: map[SiteID]*Operation{}, Void: map[OperationID]bool{}}
	p.fold(ops)
	return p
}

// Placed is what a checkpoint keeps of a placement: beside the sites, the operations that have added and removed sites last,
// by site. It keeps those operations, too.
type Placed struct {
	Sites   []SiteID               `json:"sites"`
	Parts   Parts                  `json:"parts,omitempty"`
	Added   map[SiteID]OperationID `json:"added,omitempty"`
	Removed map[SiteID]OperationID `json:"removed,omitempty"`
}

// Placement folds all place operations.
func (h *History) Placement() Placement {
	return h.placementOf(func(*Operation) bool { return true })
}

// placementOf folds what the checkpoint says of the placement and those later operations for which in is true.
func (h *History) placementOf(in func(*Operation) bool) Placement {
	p := PlacementOf(h.placement, nil)
	if h.spread != nil {
		p.Parts = h.spread.parts
	}
	if h.base != nil && h.base.Placed != nil {
		p.Sites, p.Parts = slices.Clone(h.base.Placed.Sites), h.base.Placed.Parts
		for site, id := range h.base.Placed.Added {
			p.Added[site] = h.Get(id)
		}
		for site, id := range h.base.Placed.Removed {
			p.Removed[site] = h.Get(id)
		}
	}
	p.fold(h.all(func(o *Operation) bool { return !h.base.has(o) && in(o) }))
	return p
}

// placed is what a checkpoint keeps of p, and the operations that go with it.
func (p Placement) placed() (*Placed, []*Operation) {
	kept := &Placed{Sites: p.Sites, Parts: p.Parts, Added: map[SiteID]OperationID{}, Removed: map[SiteID]OperationID{}}
	var ops []*Operation
	keep := func(o *Operation) OperationID {
		if !slices.Contains(ops, o) {
			ops = append(ops, o)
		}
		return o.ID
	}
	for site, o := range p.Added {
		if p.Has(site) {
			kept.Added[site] = keep(o)
		}
	}
	for site, o := range p.Removed {
		if !p.Has(site) {
			kept.Removed[site] = keep(o)
		}
	}
	return kept, ops
}

func (p *Placement) fold(ops []*Operation) {
	for _, o := range ops {
		if o.Place == nil {
			continue
		}
		sites := slices.DeleteFunc(slices.Clone(p.Sites), func(id SiteID) bool { return slices.Contains(o.Place.Remove, id) })
		if sites = slices.Concat(sites, o.Place.Add); len(sites) == 0 {
			p.Void[o.ID] = true
			continue
		}
		slices.Sort(sites)
		sites = slices.Compact(sites)
		for _, id := range sites {
			if !slices.Contains(p.Sites, id) {
				p.Added[id] = o
			}
		}
		for _, id := range p.Sites {
			if !slices.Contains(sites, id) {
				p.Removed[id] = o
			}
		}
		p.Sites = sites
		if p.Parts != nil {
			p.Parts = p.Parts.place(o.Place)
		}
	}
}

// Has reports whether a site belongs to the placement.
func (p Placement) Has(id SiteID) bool { return slices.Contains(p.Sites, id) }
