package scope

import "slices"

// The modes of an alternative.
const (
	One       = "one"       // a single site
	Replicate = "replicate" // a replica at each site
)

// Alternative is one set of sites that a location may stand for, and how they collaborate. The sites are distinct.
// Where only names were written they stand in that order, else ("*", "!") in the alphabet's.
type Alternative struct {
	Mode  string   `json:"mode"`
	Sites []string `json:"sites"`
}

// Resolve returns the alternatives of a location in w, the first to be tried first; in this version there is one.
// A site counts once however often it is named, and a location with one site left is that site alone, whatever
// operators led to it. The error is a *Problem: the first of those that Check tells for this location.
func Resolve(l Location, w World) ([]Alternative, error) {
	c := newChecker(w)
	c.binding(l)
	if len(c.problems) > 0 {
		first := slices.MinFunc(c.problems, func(a, b Problem) int { return a.Position - b.Position })
		return nil, &first
	}
	sites := l.set().among(w.Sites)
	if len(sites) == 1 {
		return []Alternative{{One, sites}}, nil
	}
	return []Alternative{{Replicate, sites}}, nil
}

// set is a set of sites: those of names, or every site but those. Kept like this, a scope costs by its own
// length and not by the number of sites that each of its "*" and "!" stands for.
type set struct {
	names []string // distinct
	every bool     // every site but names
}

// set evaluates a location that the checker has found nothing wrong with: sites, "*", "!" and "&".
func (l Location) set() set {
	switch l.Op {
	case OpSite:
		return set{names: []string{l.Site}}
	case OpEvery:
		return set{every: true}
	case OpNot:
		s := l.Args[0].set()
		s.every = !s.every
		return s
	}
	var union set
	for _, arg := range l.Args {
		union = union.union(arg.set())
	}
	return union
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
