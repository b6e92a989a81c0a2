package scope

import (
	"maps"
	"slices"
)

// set is a set of sites: those of names, or every site but those. Kept like this, a scope costs by its own
// length and not by the number of sites that each of its "*" and "!" stands for.
type set struct {
	names []string // distinct
	every bool     // every site but names
}

// set evaluates a location where only a set of sites makes sense: sites, zones, "*", "!" and "&". What stands elsewhere
// in the location of parent is reported. False: something was.
func (c *checker) set(l, parent Location) (set, bool) {
	switch l.Op {
	case OpSite:
		return c.named(l)
	case OpEvery:
		return set{every: true}, true
	case OpNot:
		s, ok := c.set(l.Args[0], l)
		s.every = !s.every
		return s, ok
	case OpTogether:
		var union set
		good := true
		for _, arg := range l.Args {
			s, ok := c.set(arg, within(l, parent))
			union, good = union.union(s), good && ok
		}
		return union, good
	}
	c.misplaced(l, parent)
	c.names(l)
	return set{}, false
}

// within returns the operator that an argument of l is to be told about: what "!" takes away stays its, also in "&".
func within(l, parent Location) Location {
	if parent.Op == OpNot {
		return parent
	}
	return l
}

// named evaluates the name of a site or of a zone.
func (c *checker) named(l Location) (set, bool) {
	zone, known := c.world.Zones[l.Site]
	switch {
	case c.sites[l.Site]:
		return set{names: []string{l.Site}}, true
	case !known && len(c.world.Zones) == 0:
		return set{}, c.site(l, l.Position, l.End)
	case !known:
		names := slices.Concat(c.world.Sites, slices.Collect(maps.Keys(c.world.Zones)))
		c.add(UnknownSite, l.source, l.Position, l.End,
			"no site and no zone %s in the mesh%s", quote(l.Site), c.suggest(l.Site, names, "sites and zones"))
		return set{}, false
	}
	sites := keep(distinct(zone), func(n string) bool { return c.sites[n] })
	if len(sites) == 0 {
		c.add(TypeError, l.source, l.Position, l.End, "no site of zone %s is in the mesh any more", quote(l.Site))
	}
	return set{names: sites}, len(sites) > 0
}

// names reports the unknown names in a location that is wrong for another reason.
func (c *checker) names(l Location) {
	switch l.Op {
	case OpSite:
		c.named(l)
	case OpAround:
		c.site(l, l.siteAt, l.siteEnd)
	}
	for _, arg := range l.Args {
		c.names(arg)
	}
}

func (s set) union(t set) set {
	switch {
	case s.every && t.every:
		return set{keep(s.names, func(n string) bool { return slices.Contains(t.names, n) }), true}
	case s.every:
		return set{keep(s.names, func(n string) bool { return !slices.Contains(t.names, n) }), true}
	case t.every:
		return t.union(s)
	}
	return set{append(slices.Clone(s.names), keep(t.names, func(n string) bool {
		return !slices.Contains(s.names, n)
	})...), false}
}

// among returns the members of s, all being every site there is.
func (s set) among(all []string) []string {
	if !s.every {
		return s.names
	}
	return keep(distinct(all), func(n string) bool { return !slices.Contains(s.names, n) })
}

func keep(names []string, wanted func(string) bool) []string {
	var kept []string
	for _, n := range names {
		if wanted(n) {
			kept = append(kept, n)
		}
	}
	return kept
}
