package scope

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// World is what a scope is compared with: what the checking site knows to exist, by the names people use.
type World struct {
	// Self is the site that checks.
	Self string
	// Sites are all known sites, Self among them.
	Sites []string
	// Zones are named sets of sites. A site of the same name takes precedence.
	Zones map[string][]string
	// RTT tells how long a round trip between two sites takes today, false when that is not known. Nil: nothing is.
	RTT func(a, b string) (time.Duration, bool)
	// Services are the services of the application.
	Services    []string
	Application string
	// Addressed is the service that the request addresses; empty when there is no request.
	Addressed string
}

// Check returns all that keeps the scope from being run in w, in the order of the text. Nothing means that Resolve
// succeeds for every binding.
func (s *Scope) Check(w World) []Problem {
	c := newChecker(w)
	for i, b := range s.Bindings {
		c.service(s, b)
		c.duplicate(s, i)
		c.alternatives(b.Location)
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Position - b.Position })
	return c.problems
}

// maxSuggestions bounds the names of one scope that a suggestion is looked for: each costs a walk over all sites.
const maxSuggestions = 16

type checker struct {
	world    World
	sites    map[string]bool
	nearest  map[string]string // suggestions so far
	problems []Problem
}

func newChecker(w World) *checker {
	c := &checker{world: w, sites: make(map[string]bool, len(w.Sites)), nearest: map[string]string{}}
	for _, site := range w.Sites {
		c.sites[site] = true
	}
	return c
}

func (c *checker) add(kind, source string, from, to int, format string, args ...any) {
	c.problems = append(c.problems, problem(kind, source, from, to, fmt.Sprintf(format, args...)))
}

func (c *checker) service(s *Scope, b Binding) {
	if b.Service == "" || slices.Contains(c.world.Services, b.Service) {
		return
	}
	in := ""
	if c.world.Application != "" {
		in = " in application " + c.world.Application
	}
	c.add(UnknownService, s.source, b.Position, b.End,
		"no service %s%s%s", quote(b.Service), in, c.suggest(b.Service, c.world.Services, "services"))
}

// duplicate looks for a binding before the i-th that binds the same service.
func (c *checker) duplicate(s *Scope, i int) {
	b := s.Bindings[i]
	from, to := b.Position, b.End
	if b.Service == "" {
		from, to = b.Location.from, b.Location.to
	}
	for _, before := range s.Bindings[:i] {
		switch {
		case b.Service == before.Service:
			c.add(TypeError, s.source, from, to,
				"service %s is bound twice; bind it once, with & between sites for all of them", quote(b.Service))
			return
		case b.Service == "" && before.Service == c.world.Addressed,
			before.Service == "" && b.Service == c.world.Addressed:
			c.add(TypeError, s.source, from, to,
				"service %s is bound twice: by its name, and without it because the request addresses it",
				quote(c.world.Addressed))
			return
		}
	}
}

// site reports a name that is no site's, at an extent of the text.
func (c *checker) site(l Location, from, to int) bool {
	if !c.sites[l.Site] {
		c.add(UnknownSite, l.source, from, to,
			"no site %s in the mesh%s", quote(l.Site), c.suggest(l.Site, c.world.Sites, "sites"))
	}
	return c.sites[l.Site]
}

// suggest ends the sentence about an unknown name: with the nearest known one, or with some that there are.
func (c *checker) suggest(name string, known []string, what string) string {
	key := what + " " + name
	near, done := c.nearest[key]
	if !done && len(c.nearest) < maxSuggestions {
		near = nearest(name, known)
		c.nearest[key] = near
	}
	const most = 8
	switch {
	case near != "":
		return "; " + didYouMean(near)
	case len(known) == 0 || len(known) > most:
		return ""
	}
	return "; known " + what + ": " + strings.Join(distinct(known), ", ")
}

// distinct returns the names sorted, each once.
func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
