package scope

import (
	"slices"
	"time"
)

// The modes of an alternative.
const (
	One        = "one"         // a single site
	Replicate  = "replicate"   // a replica at each site
	ExactlyOne = "exactly-one" // at one of the sites, the same for everybody
	Cross      = "cross"       // one resource whose parts are spread over the sites
)

// Alternative is one set of sites that a location may stand for, and how they collaborate. The sites are distinct.
// Where only names were written they stand in that order, else ("*", "!", zones) in the alphabet's.
type Alternative struct {
	Mode  string   `json:"mode"`
	Sites []string `json:"sites"`
	// Parts are the sites of each part, in the order of the text; nil unless the mode is Cross.
	Parts [][]string `json:"parts,omitempty"`
	// Wait says how many of the sites must agree before there is an answer: OpQuorum for a majority, OpSync for all of
	// them; empty for one.
	Wait Op `json:"wait,omitempty"`
	// Either says that this alternative and the one before are equals ("|"): what can be reached first counts, not what
	// was written first.
	Either bool `json:"either,omitempty"`
}

// Resolve returns the alternatives of a location in w, the first to be tried first. A site counts once however often it
// is named in an alternative, and a set with one site left is that site alone, whatever operators led to it. The error is
// a *Problem: the first of those that Check tells for this location.
func Resolve(l Location, w World) ([]Alternative, error) {
	c := newChecker(w)
	found := c.alternatives(l)
	if len(c.problems) > 0 {
		first := slices.MinFunc(c.problems, func(a, b Problem) int { return a.Position - b.Position })
		return nil, &first
	}
	return found, nil
}

// longestRoundTrip is the most that "around" takes: no two sites are further from each other.
const longestRoundTrip = time.Minute

// alternatives evaluates a location, or a part of it that is an alternative by itself. It returns none when it has
// reported a problem.
func (c *checker) alternatives(l Location) []Alternative {
	switch l.Op {
	case OpOtherwise:
		return c.otherwise(l)
	case OpEither:
		return c.either(l)
	case OpExactlyOne:
		return c.exactlyOne(l)
	case OpCross:
		return c.cross(l)
	case OpAround:
		return c.around(l)
	case OpQuorum, OpSync:
		found := c.plain(l.Args[0], l)
		for i := range found {
			found[i].Wait = l.Op
		}
		return found
	}
	return c.plain(l, Location{})
}

// plain evaluates a set of sites as one alternative.
func (c *checker) plain(l, parent Location) []Alternative {
	s, ok := c.set(l, parent)
	if !ok {
		return nil
	}
	sites := s.among(c.world.Sites)
	switch len(sites) {
	case 0:
		c.add(TypeError, l.source, l.from, l.to, "no site is left: every known site is excluded")
		return nil
	case 1:
		return []Alternative{{Mode: One, Sites: sites}}
	}
	return []Alternative{{Mode: Replicate, Sites: sites}}
}

// otherwise evaluates "A ; B": the alternatives of each argument, one after the other.
func (c *checker) otherwise(l Location) []Alternative {
	var all []Alternative
	for _, arg := range l.Args {
		all = c.join(all, c.alternatives(arg), arg, l.Args)
	}
	return all
}

// either evaluates "A | B". Its alternatives are equals, so that none of them can be a list in which order counts.
func (c *checker) either(l Location) []Alternative {
	var all []Alternative
	for _, arg := range l.Args {
		if arg.Op == OpOtherwise || arg.Op == OpAround {
			c.misplaced(arg, l)
			c.names(arg)
			continue
		}
		found := c.alternatives(arg)
		for i := range found {
			found[i].Either = i > 0 || len(all) > 0
		}
		all = c.join(all, found, arg, l.Args)
	}
	return all
}

// join adds the alternatives of an argument to those of the arguments before. What "around" finds may be named beside it
// as well; anything else that stands there twice is a mistake.
func (c *checker) join(all, found []Alternative, arg Location, args []Location) []Alternative {
	for _, a := range found {
		i := slices.IndexFunc(all, a.same)
		switch {
		case i < 0:
			all = append(all, a)
		case !slices.ContainsFunc(args, func(l Location) bool { return l.Op == OpAround }):
			c.add(TypeError, arg.source, arg.from, arg.to, "%s is named as its own alternative; name each once", quote(arg.String()))
			return all
		}
	}
	return all
}

// same reports whether two alternatives are one.
func (a Alternative) same(b Alternative) bool {
	return a.Mode == b.Mode && a.Wait == b.Wait && slices.EqualFunc(a.Parts, b.Parts, slices.Equal) &&
		slices.Equal(slices.Sorted(slices.Values(a.Sites)), slices.Sorted(slices.Values(b.Sites)))
}

// exactlyOne evaluates "A ^ B": one of several sites.
func (c *checker) exactlyOne(l Location) []Alternative {
	all := Alternative{Mode: ExactlyOne}
	good := true
	for _, arg := range l.Args {
		found := c.plain(arg, l)
		switch {
		case len(found) == 0:
			good = false
		case len(found[0].Sites) > 1:
			c.add(TypeError, arg.source, arg.from, arg.to, `"^" chooses one site, and %s stands for %d; name the sites with ^ between them`,
				quote(arg.String()), len(found[0].Sites))
			good = false
		case slices.Contains(all.Sites, found[0].Sites[0]):
			c.add(TypeError, arg.source, arg.from, arg.to, "site %s is named twice; name each once", quote(found[0].Sites[0]))
			good = false
		default:
			all.Sites = append(all.Sites, found[0].Sites[0])
		}
	}
	if !good {
		return nil
	}
	return []Alternative{all}
}

// around evaluates "around(A, 10ms)": A, then the sites within that round trip of it, the nearest first.
func (c *checker) around(l Location) []Alternative {
	known := c.site(l, l.siteAt, l.siteEnd)
	if l.Within > longestRoundTrip {
		c.add(TypeError, l.source, l.Position, l.End, "no round trip is as long as %s: give %s or less, or * for every site",
			printDuration(l.Within), printDuration(longestRoundTrip))
		known = false
	}
	if !known {
		return nil
	}
	type near struct {
		site string
		rtt  time.Duration
	}
	var found []near
	for _, site := range distinct(c.world.Sites) {
		if site == l.Site || c.world.RTT == nil {
			continue
		}
		if rtt, ok := c.world.RTT(l.Site, site); ok && rtt <= l.Within {
			found = append(found, near{site, rtt})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return int(a.rtt - b.rtt) })
	all := []Alternative{{Mode: One, Sites: []string{l.Site}}}
	for _, n := range found {
		all = append(all, Alternative{Mode: One, Sites: []string{n.site}})
	}
	return all
}
